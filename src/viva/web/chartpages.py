"""Charts in pages: the drawing library as text, and the colours shared by pages and pictures.

The library is Vega, Vega-Lite and Vega-Embed as vl-convert brings them along (about 0.9 MB), so that a page needs no
network. Expressions are interpreted, never compiled, so that a page needs no `unsafe-eval`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from pathlib import Path
from typing import Any, Literal, cast

from viva.files import cache_folder, shipped_text, write_whole
from viva.types import outcome_name

Scheme = Literal["light", "dark"]


@functools.cache
def tokens() -> dict[str, Any]:
    """Return the content of `static/theme.json`: colours by scheme as in viva.css, one for each outcome in both
    schemes, and their use in charts.
    """
    content = shipped_text(__file__, "static/theme.json")
    return cast("dict[str, Any]", json.loads(content))


def config(scheme: Scheme = "light") -> dict[str, Any]:
    """Return the Vega-Lite `config` of a scheme. A chart without colours of its own suits both."""
    colour = tokens()[scheme]

    def filled(value: Any) -> Any:  # `$ink` is the colour of that name
        if isinstance(value, dict):
            return {name: filled(item) for name, item in value.items()}
        return colour[value[1:]] if str(value).startswith("$") else value

    return cast("dict[str, Any]", filled(tokens()["config"]))


def outcome_style() -> str:
    """Return style rules with the colour of each outcome (class `is-` and its displayed name), as in charts.

    `--dot` is the colour, `--tint` a background for text.
    """
    return "\n".join(
        f".is-{outcome_name(outcome).replace(' ', '-')} {{ --dot: {colour}; --tint: {colour}55; }}"
        for outcome, colour in tokens()["outcomes"].items()
    )


@functools.cache
def library() -> str:
    """Return Vega-Embed with its dependencies, as one classic script that sets `vivaEmbed` and no other global name."""
    bundled = _bundle("window.vivaEmbed=vegaEmbed;", cache_folder())
    # Its console ignores warnings: Vega-Lite warns of every default that it chooses.
    deaf = (
        "{error:(...said)=>console.error(...said),warn(){},info(){},log(){},debug(){},groupCollapsed(){},groupEnd(){}}"
    )
    return f"((console)=>{{{bundled}}})({deaf});\n"


def _bundle(snippet: str, folder: Path) -> str:
    """Return vl-convert's bundle of `snippet`: it takes two seconds, so it is cached in `folder` with a hash, if
    possible.

    A file that fails its hash (truncated, of another version, changed) is rebuilt.
    """
    from importlib.metadata import version

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
    settings = json.dumps(known).replace("<", "\\u003c")
    return f"{library()}window.vivaChartConfig={settings};\n{asset('charts.js')}"
