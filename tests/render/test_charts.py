"""Charts as files and in pages: the pages' palette, no executable text, errors for wrong names."""

import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from render.samples import report, result, table
from rows import each_row
from viva.analysis.estimate import Estimate
from viva.errors import VivaError
from viva.pages.shell import asset
from viva.render import charts
from viva.render.plots import category
from viva.render.result import footnotes
from viva.render.score_chart import parts_chart, scores_chart
from viva.types import OUTCOMES
from viva.web.chartpages import _bundle, config, tokens
from viva.web.pagetemplates import digest
from web.hostile import TEXTS


def chart(text: str = "a model") -> Any:
    import altair as alt

    return (
        alt.Chart(alt.InlineData(values=[{"model": text, "score": 61.2, "nothing": float("nan")}]), title=text)
        .mark_point()
        .encode(x=alt.X("score:Q", title="score, per cent"), y="model:N", tooltip=["model:N"])
        .properties(width="container")
    )


def test_charts_have_the_colours_of_the_pages() -> None:
    light, dark = asset("viva.css").split("prefers-color-scheme: dark", 1)
    for scheme, css in (("light", light), ("dark", dark)):
        assert list(category(scheme)) == re.findall(r"--series-\d: (#\w+)", css)[:8]
    assert len(set(tokens()["outcomes"].values())) == len(OUTCOMES)
    assert set(tokens()["outcomes"]) == set(OUTCOMES)


def test_shapes_in_a_legend_can_be_seen_in_both_schemes() -> None:
    import altair as alt
    import vl_convert

    drawn = chart().encode(shape="model:N", color=alt.Color("score:N", legend=None)).to_dict()
    for scheme in ("light", "dark"):
        picture = vl_convert.vegalite_to_svg(drawn, config=config(scheme))
        assert ">a model<" in picture
        assert not re.search('(fill|stroke)="(black|#000|#000000)"', picture), scheme


@each_row(*{".svg": b"<svg", ".png": b"\x89PNG", ".json": b"{", ".html": b"<!do"}.items())
def test_a_chart_is_written_by_its_suffix(suffix: Any, begins: Any, *, tmp_path: Path) -> None:
    path = tmp_path / f"chart{suffix}"
    charts.save(chart(), path)
    assert path.read_bytes().startswith(begins)


@each_row("chart.pdf", "chart", "nowhere/chart.svg", ".")
def test_a_chart_that_cannot_be_written_is_a_sentence(name: str, *, tmp_path: Path) -> None:
    with pytest.raises(VivaError, match="--chart"):
        charts.check_chart(tmp_path / name)


@each_row(TEXTS["script_end"], TEXTS["controls"], TEXTS["bidi"], "\ud800", "x" * 100_000)
def test_hostile_texts_in_a_chart_are_texts(text: Any, *, tmp_path: Path) -> None:
    said = charts.as_json(charts.spec(chart(text)))
    assert "<" not in said
    assert len(said) < 3000
    json.loads(said)
    charts.save(chart(text), tmp_path / "chart.svg")
    drawn = list(ET.parse(tmp_path / "chart.svg").iter())
    assert {each.tag.partition("}")[2] for each in drawn} <= {"svg", "g", "rect", "text", "path", "line", "defs"}
    assert not [name for each in drawn for name in each.attrib if name[:2] == "on" or "href" in name]


def test_results_are_drawn_with_models_and_scores_and_parts_in_the_headlines_average() -> None:
    results = report(result(table(), model="openai/a"), result(table(), model="openai/b")).results
    drawn = json.dumps(charts.spec(scores_chart(results)))
    assert all(said in drawn for one in results for said in (one.model, str(round(100 * (one.overall.mean or 0), 3))))
    assert parts_chart(results, 99) is None
    # As CMMLU's, whose published average is over subjects: the first of two columns, not the last.
    subjects, questions = (Estimate(n=4, mean=mean, low=0.1, high=0.9) for mean in (0.25, 0.5))
    cells = ((questions, subjects), (subjects, questions))
    two = changed(table(), rows=("STEM", "Average"), columns=("Macro", "Micro"), cells=cells)
    said = json.dumps(charts.spec(parts_chart([changed(result(two), overall=subjects)], 0)))
    assert (", Macro" in said, "Micro" in said) == (True, False)


def test_answers_alone_are_a_second_mark() -> None:
    alone, both = (Estimate(n=4, mean=mean, low=mean - 0.1, high=mean + 0.1) for mean in (0.75, 0.4))
    found = result(
        changed(table(), rows=("MC", "Overall"), columns=("Q→A", "Q→AR"), cells=((both, alone), (alone, both)))
    )
    rows = scores_chart([changed(found, overall=both)]).data.values
    assert {row["of"]: row["score"] for row in rows} == {"Q→A": 75.0, "Q→AR": 40.0}
    assert result(table()).answer is None


def test_differences_have_signs_and_a_line_at_0(tmp_path: Path) -> None:
    cells = tuple((Estimate(n=4, mean=mean, low=mean - 0.1, high=mean + 0.1),) for mean in (0.02, 0.3))
    drawn = parts_chart([result(changed(table(), rows=("MC", "TF"), columns=("gap",), cells=cells))], 0)
    charts.save(drawn, path := tmp_path / "gap.svg")
    assert {"+10", "0", "−5"} <= set(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8")))


@each_row("</script>", "<!--", "\r", "\0")
def test_no_policy_is_made_for_a_script_that_a_page_would_change(broken: str) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        digest(f"let a = '{broken}'")


def test_the_library_is_kept_and_made_anew_where_it_is_not_what_was_written(tmp_path: Path) -> None:
    made = _bundle(SNIPPET, tmp_path)
    assert SNIPPET in made
    (kept,) = tmp_path.iterdir()
    digest, _, script = kept.read_bytes().decode().partition("\n")
    assert script == made
    kept.write_bytes(f"// sha256 {hashlib.sha256(b'kept').hexdigest()}\nkept".encode())
    assert _bundle(SNIPPET, tmp_path) == "kept"
    kept.write_bytes(f"{digest}\n{made[:1000]}".encode())
    assert _bundle(SNIPPET, tmp_path) == made
    assert kept.read_bytes().decode() == f"{digest}\n{made}"


SNIPPET = "window.drawn=1;"
"""Without the drawing library it is bundled in no time."""


def test_the_pass_line_is_in_charts_and_under_tables() -> None:
    def mean(score: float) -> Estimate:
        known = {"low": score - 0.05, "high": score + 0.05, "floor": score, "ceiling": score}
        return Estimate(n=400, mean=score, outcomes={"right": 1}, **known)

    cells = tuple((mean(score),) for score in (0.7, 0.62, 0.5))
    parts = table(cells, rows=("STEM", "Other", "Humanities"), columns=("Macro",))
    plain, passed = (result(parts, overall=mean(0.62), **line) for line in ({}, {"pass_line": 0.6}))
    (note,) = footnotes([passed])
    assert "62.00 passes the pass line of 60 %" in note
    assert "above it: STEM; below it: Humanities; too near to tell: Other" in note
    (failed,) = footnotes([result(parts, overall=mean(0.5), pass_line=0.6)])
    assert "50.00 does not reach" in failed
    assert not footnotes([plain])
    for draw in (scores_chart, lambda results: parts_chart(results, 0)):
        drawn = json.dumps(draw([passed]).to_dict())
        assert '"at": 60.0' in drawn
        assert "dashed: the pass line, 60 %" in drawn
        assert "pass line" not in json.dumps(draw([plain]).to_dict())
