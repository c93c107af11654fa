"""Charts as files or Vega-Lite specifications. Invisible characters in their untrusted texts are escaped.

    from viva.render import charts
    charts.save(chart, Path("scores.svg"))      # .svg .png .html .json
    charts.spec(chart)                          # for <figure data-chart><script type="application/json">…

A chart has a title, axis titles with units, and tooltips. It sets no background, no font, and no colour of a scheme
(`config` in `viva.web.chartpages`): a page draws it in light or dark, a file is light. `width="container"` fits it to
the page.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from viva.errors import StorageError, VivaError
from viva.render.plots import FILE_WIDTH
from viva.visible import escape_invisible
from viva.web.chartpages import config

if TYPE_CHECKING:
    import altair

    Chart = altair.TopLevelMixin

SUFFIXES = (".svg", ".png", ".html", ".json")
PIXELS = 2.0
"""Pixels of a PNG for each unit of the chart."""
_LINE = 80
"""Characters in a line of the title in a file."""
_LONGEST = 300
"""The most characters of one text in a chart."""


def check_chart(path: Path | None) -> None:
    """Raise VivaError for a --chart that cannot be written, to be called before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise VivaError(f"{path}: a chart is written as {', '.join(SUFFIXES)}; end the file's name so", field="chart")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise VivaError(f"{path}: write the name of a file, in a folder that exists", field="chart")


def spec(chart: Chart) -> dict[str, Any]:
    """Return the chart as Vega-Lite, its data included, without colours and fonts: a page adds those of its scheme."""
    import altair

    # Altair's own default theme would set a size and a config; ours come later, by scheme.
    with altair.data_transformers.enable("default", max_rows=None), altair.theme.enable("none"):
        content: dict[str, Any] = chart.to_dict(validate=False)  # validation would take four fifths of the time
    if content.get("width") == "container":
        content.setdefault("autosize", {"type": "fit-x", "contains": "padding"})
    return {name: _harmless(value) for name, value in content.items() if name != "config" or value}


def as_json(content: dict[str, Any]) -> str:
    """Return a specification for a page's <script type="application/json">, escaped so that it cannot end the
    script.
    """
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def save(chart: Chart, path: Path) -> None:
    """Write .svg or .png (light), a self-contained .html (light or dark by the reader's setting), or the .json.

    Raises VivaError for another suffix, StorageError for a file that cannot be written.
    """
    check_chart(path)
    content = _rendered(spec(chart), path.suffix.lower())
    try:
        path.write_bytes(content)
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror}") from None


def _rendered(content: dict[str, Any], suffix: str) -> bytes:
    if suffix == ".json":
        return (json.dumps(content, indent=2) + "\n").encode()
    if suffix == ".html":
        return _page(content).encode()
    import vl_convert

    light = {**config("light"), "background": "#ffffff", "font": "sans-serif"}
    wide: dict[str, Any] = (
        {"width": FILE_WIDTH} if content.get("width") == "container" else {}
    )  # a file is no container
    title = content.get("title")
    if isinstance(title, dict) and isinstance(title["text"], str):  # in a page a script wraps the title
        wide["title"] = {**title, "text": wrap(title["text"], _LINE)}
    whole = {**content, **wide, "config": {**light, **content.get("config", {})}}
    if suffix == ".svg":
        drawn = str(vl_convert.vegalite_to_svg(whole))
        return drawn.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1).encode()  # also in a narrow page
    return bytes(vl_convert.vegalite_to_png(whole, scale=PIXELS))


def _page(content: dict[str, Any]) -> str:
    from viva.web.chartpages import script
    from viva.web.pagetemplates import asset, environment, policy

    title = content.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    code, style = script(), asset("chart.css")
    page = environment("viva.render").get_template("chart.html")
    text = " ".join(text) if isinstance(text, list) else str(text)
    return page.render(title=text, spec=as_json(content), script=code, style=style, policy=policy([code], [style]))


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return escape_invisible(value[:_LONGEST] + "…" if len(value) > _LONGEST else value)
    if isinstance(value, dict):
        return {escape_invisible(str(name)): _harmless(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_harmless(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such number
        return None
    return value
