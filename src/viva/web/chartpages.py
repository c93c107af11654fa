"""Charts in a page: the drawing library as text, and the colours that pages and pictures share.

The library is Vega, Vega-Lite and Vega-Embed as vl-convert brings them along (about 0.9 MB), so that a page needs no
network. Expressions are interpreted, never compiled, so that a page needs no `unsafe-eval`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from viva.files import cache_folder, write_whole
from viva.shipped import shipped_text
from viva.types import outcome_name

Scheme = Literal["light", "dark"]
FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif'


@functools.cache
def tokens() -> dict[str, Any]:
    """Return the colours of `static/theme.json`: by scheme as in viva.css, and one colour an outcome for both
    schemes.
    """
    content = shipped_text(__file__, "static/theme.json")
    return cast("dict[str, Any]", json.loads(content))


def config(scheme: Scheme = "light") -> dict[str, Any]:
    """Return the Vega-Lite `config` of a scheme. A chart that sets no colours of its own looks right in both."""
    colour = tokens()[scheme]
    axis = {
        "labelColor": colour["quiet"],
        "titleColor": colour["ink"],
        "domainColor": colour["edge"],
        "tickColor": colour["edge"],
        "gridColor": colour["line"],
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 550,
        "labelLimit": 380,
        "labelFlush": False,
        "titlePadding": 8,
    }
    words = {"labelColor": colour["quiet"], "titleColor": colour["ink"], "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": None,
        "font": FONT,
        "axis": axis,
        "legend": {
            **words,
            "labelLimit": 300,
            "symbolSize": 90,
            "symbolBaseFillColor": colour["quiet"],  # of shapes, which have no colour of their own
            "symbolBaseStrokeColor": colour["quiet"],
            "orient": "bottom",
            "columns": 2,
        },
        "header": words,
        "title": {
            "color": colour["ink"],
            "subtitleColor": colour["quiet"],
            "anchor": "start",
            "fontSize": 14,
            "fontWeight": 650,
            "subtitleFontSize": 12,
            "offset": 12,
        },
        "view": {"stroke": None},
        "text": {"color": colour["ink"]},
        "rule": {"color": colour["edge"]},
        "point": {"color": colour["accent"], "filled": True, "size": 70},
        "circle": {"color": colour["accent"]},
        "line": {"color": colour["accent"], "strokeWidth": 2},
        "bar": {"color": colour["accent"]},
        "area": {"color": colour["accent"]},
        "rect": {"color": colour["accent"]},
        "range": {
            "category": colour["category"],
            "heatmap": colour["heat"],
            "ramp": colour["heat"],
            "ordinal": colour["heat"],
            "diverging": colour["diverging"],
        },
    }


def outcome_style() -> str:
    """Style rules: the colour of each outcome (class `is-` and what people read for it), the same as in charts.

    `--dot` is the colour, `--tint` one to write on.
    """
    return "\n".join(
        f".is-{outcome_name(outcome).replace(' ', '-')} {{ --dot: {colour}; --tint: {colour}55; }}"
        for outcome, colour in tokens()["outcomes"].items()
    )


@functools.cache
def library() -> str:
    """Vega-Embed with all that it needs, as one classic script that sets `vivaEmbed` and no other global name."""
    bundled = _bundle("window.vivaEmbed=vegaEmbed;", cache_folder())
    # Its own console is deaf to warnings: Vega-Lite tells of every small thing that it settles by itself.
    deaf = (
        "{error:(...said)=>console.error(...said),warn(){},info(){},log(){},debug(){},groupCollapsed(){},groupEnd(){}}"
    )
    return f"((console)=>{{{bundled}}})({deaf});\n"


def _bundle(snippet: str, folder: Path) -> str:
    """vl-convert's library around `snippet`: two seconds' work, hence kept in `folder` with a hash, if that can be.

    A file that is not what was written (half of it, another version's, changed) is made anew.
    """
    wanted = hashlib.sha256(snippet.encode()).hexdigest()[:12]
    path = folder / f"charts-{version('vl-convert-python')}-{wanted}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        digest, _, kept = path.read_bytes().decode().partition("\n")
        if digest == _digest(kept):
            return kept
    import vl_convert

    bundled: str = vl_convert.javascript_bundle(snippet)
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{_digest(bundled)}\n{bundled}".encode())
    return bundled


def _digest(text: str) -> str:
    return f"// sha256 {hashlib.sha256(text.encode()).hexdigest()}"


@functools.cache
def script() -> str:
    """Return all that draws the charts of a page: library, colours, then `static/charts.js`."""
    from viva.web.pagetemplates import asset

    known = {"light": config("light"), "dark": config("dark")}
    said = json.dumps(known).replace("<", "\\u003c")
    return f"{library()}window.vivaChartConfig={said};\n{asset('charts.js')}"
