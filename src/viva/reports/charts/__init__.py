"""Charts: a module a command, each a function from plain structs to an Altair chart; here is how they are shown.

    from viva.reports import charts
    charts.save(chart, Path("scores.svg"))      # .svg .png .html .json
    charts.spec(chart)                          # for <figure data-chart><script type="application/json">…

A chart has a title, axis titles with units, and tooltips. It sets no background, no font, and no colour that a scheme
gives (`config` in `viva.web.charts`): a page draws it in light or dark, a file is light. `width="container"` fits it to
the page.
"""

from viva.reports.charts.saving import as_json, check_chart, save, spec

__all__ = ["as_json", "check_chart", "save", "spec"]
