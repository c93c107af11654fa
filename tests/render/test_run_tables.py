"""Every output format: complete, parseable, and safe for any names of models and data sets."""

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.explaining import opened
from cli.collected import dangerous
from render.samples import NOTHING, RIGHT, SHORT, UNGRADED, printed, report, result, table, texts
from rows import each_row, tabled
from rows import table as rows_of
from viva.analysis.estimate import bounds_text, cell_text
from viva.render.markuptext import latex
from viva.render.result import footnotes, side_by_side
from viva.render.table import outcomes_text
from viva.render.terminal import tables_terminal
from viva.types import OUTCOMES
from viva.visible import escape_invisible

DRAWN = ("chart.py", "text.py")
"""Pictures for a terminal and SVG, which no LaTeX sees; and the signs themselves."""
HOSTILE = (
    "a|b",
    "a\\b",
    "a\\|b",
    "`code` *bold* _it_ [x](http://127.0.0.1) <script>alert(1)</script>",
    "# no heading",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "evil\u202etxt\u2066",
    "zero\u200bwidth\ufeff",
    "line\nbreak\r\n\n\nand more",
    "tab\there",
    "=cmd()",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=cmd()",
    "\r=cmd()",
    "%d {0} $x$ & # ~ ^ _ }",
    "\\input{/etc/passwd}",
    "[bold red]markup[/bold red]",
    "🎓题目",
)


# Numbers


LEFT_OUT = SHORT.__class__(n=4, mean=0.75, floor=0.5625, ceiling=0.8125, outcomes={"right": 3, "ungraded": 1})


@each_row(
    (RIGHT, "62.50 [47.00, 75.78]", "", "right 25, wrong 15"),
    (SHORT, "50.00† (40.00–60.00) ± 2.10 [36.60, 63.40]", "40.00–60.00", "right 20, wrong 20, error 7, not judged 3"),
    (NOTHING, "–", "", "–"),
    (UNGRADED, "–†", "", "not judged 8"),
    (LEFT_OUT, "75.00† (56.25–81.25)", "56.25–81.25", "right 3, not judged 1"),
)
def test_a_mean_that_leaves_something_out_is_marked_and_bounded(cell: Any, text: str, bounds: str, counts: str) -> None:
    assert (cell_text(cell), bounds_text(cell), outcomes_text(cell)) == (text, bounds, counts)


def test_the_bounds_stand_in_every_form() -> None:
    shown = report(result(table(((LEFT_OUT,),), rows=("OS",), columns=("Score",)), overall=LEFT_OUT))
    for form in ("screen", "terminal", "markdown", "latex"):
        assert re.search("56.25(–|--)81.25", printed(form, shown))
        assert "its bounds are the least and the most" in printed(form, shown)
    (line,) = csv.DictReader(io.StringIO(printed("csv", shown)))
    assert (line["mean"], line["floor"], line["ceiling"]) == ("0.75", "0.5625", "0.8125")


LOST = SHORT.__class__(n=4, mean=1.0, floor=0.5, ceiling=1.0, outcomes={"right": 2, "unsound": 2})


@each_row(
    (result(overall=SHORT), ("† openai/m on csbench-en", "7 error", "3 not judged", "--judge", "over all 50",
                             "40.00 and 60.00"), ("whole",)),
    (result(overall=LOST), ("2 invalid gold",), ("judge",)),
    (result(overall=RIGHT, programs=26, shared=3),
     ("of 26 answers with programs, 3 shared a process with their test",), ()),
    (result(judged=True), ("3 not judged", "no majority, which stands",
                           "missing or unreadable: `viva resume` asks for it"), ("--judge",)),
)  # fmt: skip
def test_a_footnote_says_what_a_mean_leaves_out_and_between_what_it_lies(
    one: Any, parts: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    (note,) = footnotes([one, result(overall=RIGHT, model="openai/whole")])
    assert all(part in note for part in parts)
    assert not any(part in note for part in absent)
    for form in ("terminal", "markdown", "latex"):
        assert parts[0].split()[-1] in printed(form, report(one))


def test_the_legend_and_the_notes_stand_below_the_tables() -> None:
    text = printed("terminal", report(notes=("csbench-en: the bundled sample",)))
    places = [text.index(part) for part in ("By domain", "95 % intervals", "the bundled sample", "signature")]
    assert places == sorted(places)


def test_json_holds_everything_as_plain_data() -> None:
    (found,) = json.loads(printed("json", report(result(overall=SHORT), notes=("a note",))))["results"]
    assert found["signature"] == "benchmark:csbench.1|lang:en|model:openai/m"
    known = {"n": 50, "mean": 0.5, "low": 0.366, "high": 0.634, "floor": 0.4, "ceiling": 0.6}
    assert known.items() <= found["overall"].items()
    assert found["overall"]["outcomes"] == {"right": 20, "wrong": 20, "error": 7, "ungraded": 3}
    assert found["tables"][0]["rows"] == ["OS", "CN"]
    assert found["tables"][0]["cells"][0][0]["mean"] == 0.625
    assert found["tables"][0]["cells"][1][0]["mean"] is None


def test_csv_has_a_row_a_cell_with_all_that_belongs_to_it() -> None:
    rows = list(csv.DictReader(io.StringIO(printed("csv", report()))))
    assert [(row["row"], row["column"]) for row in rows] == [*itertools.product(("OS", "CN"), ("Knowledge", "Average"))]
    known = {"exam": "csbench-en", "model": "openai/m", "n": "50", "mean": "0.5", "sd": "0.021", "error": "7"}
    assert known.items() <= rows[1].items()
    assert (set(OUTCOMES) < set(rows[0]), rows[2]["mean"]) == (True, "")
    assert all(row["signature"].startswith("benchmark:csbench") for row in rows)


def test_languages_stand_side_by_side_for_each_model_that_sat_several() -> None:
    def of(*cells: Any, rows: tuple[str, ...] = ("OS", "CN"), **more: str) -> Any:
        return result(table(tuple((cell,) for cell in cells), columns=("Average",), rows=rows), **more)

    results = [
        of(RIGHT, SHORT, language="en"),
        of(SHORT, UNGRADED, language="zh"),
        of(RIGHT, RIGHT, model="openai/other"),
    ]
    (grid,) = side_by_side(results)
    assert grid.header == ("", "en", "zh")
    assert tuple(grid.texts()) == (("OS", cell_text(RIGHT), cell_text(SHORT)), ("CN", cell_text(SHORT), "–†"))
    assert "openai/m" in grid.title
    assert "languages side by side" in (text := printed("markdown", report(*results)))
    assert ("### Summary" in text, "Summary" in printed("markdown", report())) == (True, False)
    assert side_by_side([result(), result(model="openai/other")]) == []
    fewer = [results[0], of(RIGHT, rows=("OS",), language="zh")]
    for order in (fewer, fewer[::-1]):
        assert {row[0]: "–" in row for row in side_by_side(order)[0].texts()} == {"OS": False, "CN": True}


# Hostile names


def test_no_name_drives_a_terminal() -> None:
    for (name, form), row in tabled(*itertools.product(HOSTILE, ("terminal", "markdown", "latex", "csv"))):
        with row:
            hostile = report(result(table(model=name, title=name, rows=(name, "CN")), model=name), notes=(name,))
            assert not dangerous(printed(form, hostile))


def test_no_name_breaks_a_table_is_a_formula_or_is_changed_in_json() -> None:
    checks = (_whole_in_markdown, _whole_in_latex, _no_formula_in_csv, _unchanged_in_json)
    for (name, check), row in tabled(*itertools.product(HOSTILE, checks)):
        with row:
            check(name)


def _whole_in_markdown(name: str) -> None:
    text = printed("markdown", report(result(table(model=name, rows=(name, "CN")), model=name)))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    pipes = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}
    assert len(lines) == 4
    assert len(pipes) == 1, "every row has as many cells"
    assert not re.search(r"(?<!\\)<script", text)
    assert not re.search(r"(?<!\\)\]\(", text)


def _whole_in_latex(name: str) -> None:
    text = printed("latex", report(result(table(model=name, rows=(name, "CN")), model=name)))
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert len(body) == 2, "a row a line"
    assert all(line.endswith(r" \\") for line in body)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 4 for line in body)
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert set(re.findall(r"\\([a-zA-Z]+)", code)) <= {
        *("begin", "end", "caption", "toprule", "midrule", "bottomrule"),
        *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar"),
        *("ensuremath", "pm", "cdot", "dag"),
    }
    assert "\n\n" not in code[: code.index(r"\begin{tabular}")], "an empty line ends a caption"


def _no_formula_in_csv(name: str) -> None:
    evil = table(model=name, rows=(name, "CN"), columns=(name, "x"))
    text = printed("csv", report(result(evil, model=name, signature=name)))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 5
    assert {len(row) for row in rows} == {len(rows[0])}
    for row in rows[1:]:
        for value in (*row[:5], row[-1]):
            assert not value.lstrip("\t\r\n ").startswith(("=", "+", "-", "@"))


def _unchanged_in_json(name: str) -> None:
    text = printed("json", report(result(model=name)))
    assert json.loads(text)["results"][0]["model"] == name
    assert "\x1b" not in text


@given(text=st.text())
@example(text="a\n\nb")
@example(text="Q→A − Q→AR ½ ± † ‡ … λ ↓ §")
def test_latex_text_holds_no_command_of_its_own(text: str) -> None:
    shown = latex(text)
    known = (
        r"\\(?:text(?:backslash|asciicircum|asciitilde|less|greater|bar)\{\}|[{}$&#%_]|ensuremath\{[^}]*\}|dd?ag\{\}"
        r"|ldots\{\}|S\{\})"
    )
    assert not re.search(r"[\\$&#%_^~]", re.sub(known, "", shown))
    assert not dangerous(shown)
    assert shown.count("\n\n") == 0, "an empty line ends a caption"


def test_every_sign_of_the_reports_is_set_by_plain_latex() -> None:
    """pdflatex knows these in its first font, without a package; others stop it, or come out as another."""
    assert latex("Q→A − Q→AR") == r"Q\ensuremath{\rightarrow}A \ensuremath{-} Q\ensuremath{\rightarrow}AR"
    assert latex("P(a | b) < ½ > 0†") == (r"P(a \textbar{} b) \textless{} \ensuremath{\frac12} \textgreater{} 0\dag{}")
    layouts = opened().layouts()
    lines = [line for layout in layouts for line in (*layout.rows, *layout.columns)]
    source = Path(__file__).parents[2] / "src" / "viva"
    files = [*source.glob("render/*.py"), *source.glob("studies/*/*.py")]
    printed = [path.read_text(encoding="utf-8") for path in files if path.name not in DRAWN]
    for text in (*(line.label for line in lines), *(layout.title for layout in layouts), *printed):
        assert latex(text).isascii(), [sign for sign in latex(text) if not sign.isascii()]


@each_row(("x" * 1010, "xxxxxxxxxx … (1,000 more characters)"), ("x" * 10, "x" * 10), ("\x1b[31m", "<U+001B>[31m"))
def test_a_long_text_is_cut_and_says_by_how_much(text: str, shown: str) -> None:
    assert escape_invisible(text, limit=10) == shown


def test_a_narrow_terminal_breaks_no_figure() -> None:
    header = ("model", "n", "score", "difference", "p", "for 2 points", "outcomes")
    rows = (
        ("baseline/longest", "11,582", "38.02 [35.8, 40.3]", "−7.20 [−10.3, −4.1]", "< 0.001", "34,303", "right 676"),
        ("a/" + "very" * 20, "1,778", "30.82 [28.7, 33.0]", "+12.70 [+8.5, +14.4]", "0.067", "8,576", "wrong 1230"),
    )
    figures = {word for cells in rows for cell in cells[1:] for word in cell.split()}
    with rows_of() as row:
        for width in (40, 60, 80, 110, 200):
            with row(width):
                text = tables_terminal([texts("A title that is longer than the table", header, rows)], [], width=width)
                lines = text.splitlines()
                assert lines[0] == "A title that is longer than the table"
                assert max(map(len, lines[1:])) <= width
                assert figures <= set(re.split(r"[\s│┃]+", text))


ACROSS = msgspec.structs.replace(
    table(((RIGHT, SHORT),), title="Main", rows=("Overall",), columns=("TF", "OA")), across=True, name="main"
)


def test_several_models_of_one_exam_share_one_table() -> None:
    text = printed("markdown", report(*(result(table(), ACROSS, model=f"openai/{name}") for name in "ab")))
    assert text.count("Main · csbench-en") == 1
    assert "| model | TF | OA |" in text
    assert text.count("| openai/a | 62.50") == text.count("| openai/b | 62.50") == 1
    assert text.count("By domain") == 2
    one = report(result(table(), ACROSS))
    assert ("Main" in printed("markdown", one), ",main,Overall,TF," in printed("csv", one)) == (False, True)
    assert "Main" not in printed("markdown", report(result(ACROSS, language="en"), result(ACROSS, language="zh")))
    long = msgspec.structs.replace(ACROSS, detail=True)
    two = report(*(result(long, model=f"openai/{name}") for name in "ab"))
    shown = [printed("terminal", two), printed("terminal", two, details=True), printed("markdown", two)]
    assert ["Main" in text for text in shown] == [False, True, True], "a long one is shown on request in a terminal"
