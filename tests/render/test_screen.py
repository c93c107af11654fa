"""One screen, as a terminal of 60, 80, 120 and 200 columns shows it: golden files in tests/golden/screen.

`python tests/render/test_screen.py` rewrites them; read them before you commit them.
"""

import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from cli.collected import dangerous
from render.samples import printed, report, result, texts
from rows import each_row, tabled
from viva.analysis.comparing import Anytime, Difference, decided
from viva.analysis.estimate import Estimate
from viva.analysis.posterior import Posterior
from viva.engine.budget import Consumed
from viva.published import catalogue, neighbours
from viva.published import tables as published_tables
from viva.render.findings import Findings
from viva.render.result import Report
from viva.render.table import Table
from viva.render.terminal import LINES, folded, screen_terminal, tables_terminal
from viva.studies.compare.choices import CompareConfig
from viva.studies.compare.tables import Comparison, Row, Side, findings
from viva.studies.published_tables.study import PublishedConfig, study
from viva.types import ExamSpec

GOLDEN = Path(__file__).parents[1] / "golden" / "screen"
WIDTHS = (60, 80, 120, 200)
CONFIG = CompareConfig(sources=("scores.csv",))


def cell(mean: float, n: int, **outcomes: int) -> Estimate:
    left = sum(outcomes.get(name, 0) for name in ("ungraded", "error"))
    right = round(mean * (n - left))
    counts = {"right": right, "wrong": n - left - right - sum(outcomes.values()) + left, **outcomes}
    half = 1.96 * (mean * (1 - mean) / n) ** 0.5
    return Estimate(
        n=n, mean=mean, low=max(0.0, mean - half), high=min(1.0, mean + half), floor=mean * (1 - left / n),
        ceiling=mean + (1 - mean) * left / n, outcomes=counts,
    )  # fmt: skip


def run() -> Report:
    """Three models on two exams, with everything that a summary can have."""
    models = ("openai/gpt-4o-mini-2024-07-18", "openai/meta-llama/Llama-3.1-8B-Instruct", "hf/checkpoints/step-12000")
    published = tuple(one for one in neighbours(ExamSpec(benchmark="csbench")) if one.model in ("GPT-4", "Llama3-8B"))
    took = Consumed(
        replies=2183, counted=2183, input=418_211, output=96_004, priced=True, cost=0.1203, right=1500, timed=2183,
        latency={50: 1.24, 90: 3.1, 99: 9.0},
    )  # fmt: skip
    spread = [0.68, 0.527, 0.31]
    others = [{"unparsed": 24, "refused": 3}, {"truncated": 12, "ungraded": 280}, {"error": 41}]
    return report(
        *(
            result(overall=cell(mean, 2183, **other), model=model, consumed=took, beside=published)
            for model, mean, other in zip(models, spread, others, strict=True)
        ),
        *(
            result(overall=cell(mean - 0.1, 11_582), model=model, language="zh", consumed=took)
            for model, mean in zip(models, spread, strict=True)
        ),
        notes=(
            "csbench-en: 3 questions have no usable gold and are left unscored.",
            "csbench-zh: the option D of 12 questions was empty in the published file and is left out.",
            *(f"openai/gpt-4o-mini-2024-07-18: note {number} on how it was asked." for number in range(9)),
        ),
    )


def comparisons() -> Findings[Sequence[Comparison]]:
    """Eleven models by fourteen categories: 1,700 lines in all."""
    names = [f"openai/model-{number:02}-instruct" for number in range(11)]
    parts = ["maths", "physics", "law", "health", "economics", "history", "philosophy", "biology", "engineering",
             "psychology", "business", "chemistry", "computer science", "other", "mean"]  # fmt: skip
    rows = []
    for at, first in enumerate(names):
        for other, second in enumerate(names[at + 1 :], at + 1):
            for number, part in enumerate(parts):
                gap = 0.025 * (other - at) + (0.01 * ((number * 7 + at) % 9) - 0.04) * (part != "mean")
                p = 0.001 if gap > 0.2 or (part == "mean" and gap > 0.06) else 0.4
                found = Difference(
                    n=840 if part == "mean" else 60, first=0.3 + 0.025 * at, second=0.3 + 0.025 * at + gap,
                    difference=gap, low=gap - 0.05, high=gap + 0.05, p=p, adjusted=p, test="McNemar, exact",
                    wins=20, ties=30, losses=10,
                )  # fmt: skip
                rows.append(Row(first=first, second=second, part=part, found=found, questions={"1": 3}))
    sides = [
        Side(name=name, source="scores.csv", settings={}, estimate=cell(0.3 + 0.025 * at, 840, error=at == 3))
        for at, name in enumerate(names)
    ]
    one = Comparison(title="item scores", by="category", contestants=sides, rows=rows)
    return findings((one,), CONFIG)


def breakdown() -> list[Table]:
    """Tables that are too wide and too long."""
    models = [f"openai/model-{number}" for number in range(7)]
    rows = [(f"subject {number}", *(f"{30 + number + at:.2f}† [2{at}.00, 7{at}.00]" for at in range(7)), "40",
             f"right {number}, wrong {40 - number}, not judged 20, unparsed 3") for number in range(60)]  # fmt: skip
    rows.append(("Overall", *rows[0][1:]))
    first = texts("By subject, models side by side · cmmlu-zh", ("", *models, "questions", "outcomes"), tuple(rows))
    return [first, *(texts(f"By subject · cmmlu-zh · {name}", first.header[:2], rows) for name in models)]


NOTES = ["Per cent with 95 % intervals. " * 6, *(f"note {number} " * 9 for number in range(12))]
SCREENS: dict[str, Callable[[int], str]] = {
    "run": lambda width: printed("screen", run(), width=width),
    "compare": lambda width: comparisons().to_screen(width),
    "breakdown": lambda width: screen_terminal(breakdown(), NOTES, width=width),
}


def rendered() -> Iterator[tuple[Path, str]]:
    """Every golden file, and what it has to hold."""
    for name, screen in SCREENS.items():
        for width in WIDTHS:
            yield GOLDEN / f"{name}-{width}.txt", screen(width)


def test_terminals_of_four_widths_show_what_they_should() -> None:
    for (path, text), row in tabled(*rendered()):
        with row:
            assert path.read_text(encoding="utf-8") == text, "python tests/render/test_screen.py, and read it"


def test_what_a_screen_leaves_out_is_where_it_says() -> None:
    for one, row in tabled(*[*itertools.chain.from_iterable(map(published_tables, catalogue()))][::4]):
        with row:
            printed = study(PublishedConfig(benchmark=one.benchmark, name=one.name))
            left_out = " ".join(printed.to_screen(60).split()).partition("not shown in 60 columns (--all): ")[2]
            hidden = [column for column in printed.tables()[0].header if column in left_out]
            assert hidden or not left_out
            everything = printed.to_terminal()
            assert [column for column in hidden if column not in everything] == []


def asked_for(models: int) -> Findings[Sequence[Comparison]]:
    """Comparisons with everything that options add."""
    names = {f"openai/model-{number:02}-instruct" for number in range(models)}
    posterior = Posterior(better=0.9, low=-0.03, high=0.2, no_worse=0.98, equivalent=0.32)
    anytime = Anytime(n=60, e=1.5, p=0.66, low=-0.1, high=0.3)
    (one,) = comparisons().found
    rows = [row for row in one.rows if row.part == "mean" and {row.first, row.second} <= names]
    told = tuple(
        replace(
            row, part="", posterior=posterior, anytime=anytime, at_worst=(row.found.low, row.found.high),
            decision=decided((row.found.low, row.found.high), 0.05),
        )
        for row in rows
        if row.found.low is not None and row.found.high is not None
    )  # fmt: skip
    return findings((replace(one, rows=told),), replace(CONFIG, margin=5, bayesian=True, anytime=True))


def test_what_an_option_asked_for_gives_way_last() -> None:
    for (models, width), row in tabled(*itertools.product((2, 6), (60, 80))):
        with row:
            text = asked_for(models).to_screen(width)
            lines = text.splitlines()
            left_out = " ".join(line for line in lines if "not shown" in line)
            for title in ("Up to a margin of 5 points", "Probably better", "Looked at as often as you like"):
                assert any(line.startswith(title) for line in lines)
            assert all(figures in text for figures in ("no worse", "0.900", "0.980", "0.320", "0.660"))
            assert not re.search(r"the second is|P\(|at all times", left_out)
            assert len(lines) <= LINES
            assert max(map(cell_len, lines)) <= width
            assert models == 2 or not any(line.startswith("Comparison · item scores") for line in lines)
            assert "Matrix:" not in text, "which is not shown"
    assert "+2.50 [" in asked_for(2).to_screen(60), "of what was not asked for, the difference stays last"
    lines = findings(asked_for(6).found, replace(CONFIG, margin=5)).to_screen(80).splitlines()
    assert lines[0].startswith("Up to a margin of 5 points: 14 no worse, 1 better by more · item scores")
    away = [abs(abs(float(line.split()[2])) - 5) for line in lines[3:17] if "no worse" in line]
    assert (away, len(away) > 5) == (sorted(away), True), "those near the margin come first"
    assert any(line.startswith("Comparison · item scores") for line in lines), "the matrix has a place"


@each_row(
    (0, 26, 0.44, "B's missing answers (26 questions) were right."),
    (26, 0, 0.44, "A would be ahead of B if more than 56 % of A's missing answers (26 questions)"),
    (1, 26, 0.44, "if less than 44 % of B's missing answers (26 questions) and more than 56 % of A's"),
    (1, 26, -0.2, "B is ahead of A whatever became of A's missing answers (1 question) and B's"),
    (0, 26, 0.0004, "less than 0.04 % of B's"),
)
def test_what_missing_answers_would_have_to_be_comes_first_and_names_whose_they_are(
    first: int, second: int, tipping: float, said: str
) -> None:
    one = comparisons().found[0]
    row = next(row for row in one.rows if row.part == "mean")
    lost = replace(row.found, difference=0.03, unscored=26, first_unscored=first, second_unscored=second,
                   floor=-0.1, ceiling=0.1, tipping=tipping)  # fmt: skip
    pair = replace(row, first="A", second="B", part="", found=lost)
    assert said in findings((replace(one, rows=(pair,)),), replace(CONFIG, margin=5)).notes[1]


def test_a_column_gives_way_before_a_row() -> None:
    many = "unparsed 18, empty 9, truncated 4, refused 6"
    rows = tuple((f"openai/model-{at}", "csbench-en", "50.00", many, "7.94k+1.5k") for at in range(20))
    wide = texts("t", ("model", "exam", "score", "other outcomes", "tokens"), rows, drop=("tokens",))
    for width in (50, 60, 70):
        text = screen_terminal([wide], NOTES, width=width)
        assert text.count("50.00") == 20
        assert "not shown in" in text
    longer = texts("t", wide.header, rows * 10, drop=("tokens",))
    assert "not shown" not in screen_terminal([longer], [], width=80), "that would not help"


def test_two_columns_of_names_are_shortened_alike_and_stay_apart() -> None:
    names = ("openai/alpha · en", "openai/beta · zh", "baseline/random · en", "baseline/random · zh")
    rows = tuple((*pair, "+28.57 [+11.89, +43.29]", "0.014") for pair in zip(names[:2], names[2:], strict=True))
    keep = ("difference", "p")
    text = screen_terminal([texts("t", ("first", "second", *keep), rows, keep=keep)], [], width=60)
    assert [line.split("  ")[0] for line in text.splitlines() if "0.014" in line] == ["…alpha · en", "…beta · zh"]
    assert text.count("…random · ") == 2, "the model is there, though all rows have the same"
    long = [f"openai/a-very-long-organisation/model-{number:02}-instruct" for number in range(20)]
    for same, width in ((("azure/gpt-4o", "openai/gpt-4o"), 32), (long, 40), (long, 60)):
        grid = texts("t", ("model", "score"), tuple((name, "50.00 [40.00, 60.00]") for name in same), keep=("score",))
        shown = [line.split()[0] for line in screen_terminal([grid], [], width=width).splitlines() if "50.00" in line]
        assert len(set(shown)) == len(shown) == len(same)


def test_alike_notes_are_one_and_a_sample_is_always_said() -> None:
    cut = [
        f"openai/{name} on x: {at} answers cut off: `viva show RUN --cut-off answer` lists them."
        for at, name in enumerate("abcdef")
    ]
    sample = "csbench-en: Viva's own bundled samples, not the published sets (--data DIR)."
    text = screen_terminal([], [*NOTES, *cut, sample], width=60)
    lines = text.splitlines()
    assert lines[0].startswith("csbench-en: Viva's own")
    assert text.count("--cut-off") == 1
    assert "5 more notes like this (--all)." in " ".join(text.split())
    assert len(lines) <= 11


@each_row(
    ("Fill-in-the-blank", 16, ["Fill-in-the-", "blank"]),
    ("openai/some-model", 12, ["openai/some-", "model"]),
    ("2026-11-23 19:41 on", 16, ["2026-11-23 19:41", "on"]),
    ("right 8, wrong 3", 9, ["right 8,", "wrong 3"]),
)
def test_a_word_without_place_breaks_after_a_hyphen(text: str, wide: int, lines: list[str]) -> None:
    assert folded(text, wide).splitlines() == lines


@given(st.text(alphabet="ab1 4-:.,[]()/ 中", max_size=60))
@example("licence of gpqa at 633f5ee8")
@example("(of which unparsed 33) and gpt 4-turbo")
def test_what_is_folded_keeps_its_words(text: str) -> None:
    assert folded(text, 14).split() == text.split() or max(map(cell_len, text.split())) > 14
    assert "".join(folded(text, 12).split()) == "".join(text.split())


def test_colour_says_something_and_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("screen", run(), width=120, colour=True)
    unanswered = next(line for line in text.splitlines() if "step-12000" in line and "error 41" in line)
    assert "\x1b[31m" in unanswered
    assert "\x1b[2mGPT-4 (published)" in text, "published rows are dimmed"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3\d", printed("screen", run(), width=120, colour=True))


@given(
    cells=st.lists(st.lists(st.text(max_size=40), min_size=3, max_size=3), min_size=1, max_size=60),
    width=st.integers(30, 220),
)
def test_no_text_breaks_a_screen(cells: list[list[str]], width: int) -> None:
    rows = tuple((one[0], one[1], one[2]) for one in cells)
    keep = ("score", "outcomes")
    grids = [texts("t", ("model", "score", "outcomes"), rows), texts(cells[-1][1], ("run", *keep), rows, keep=keep)]
    text = screen_terminal(grids, [cells[0][0]], width=width)
    assert not dangerous(text)
    assert "…" in text or len(text.splitlines()) <= LINES
    for shown in (text, tables_terminal(grids, [cells[0][0] * 9], width=width)):
        assert max(map(cell_len, shown.splitlines())) <= width


def test_what_cannot_be_left_out_is_narrower() -> None:
    """A path, a state and a signature are longer than the screen, and all of the columns have to be there."""
    rows = (("runs/2026-11-26-cmmlu-csbench/again", "41.00", "grade again: viva score " + "very-long-name" * 4),)
    grid = texts("Runs", ("run", "score", "state"), rows, keep=("score", "state"))
    note = "signature: " + "|".join(f"setting{number}:0123456789abcdef" for number in range(12))
    for shown, width in itertools.product((screen_terminal, tables_terminal), (40, 60, 80)):
        text = shown([grid], [note], width=width)
        assert max(map(cell_len, text.splitlines())) <= width
        assert all(word in text for word in ("41.00", "run", "score", "state")), "nothing is left out"
        assert "".join(text.split())[-len("".join(note.split())) :] == "".join(note.split()), "nor cut"
    assert "41" in screen_terminal([texts("t", ("", "folder", "score"), [("m", "a/" + "b-" * 30, "41")])], [], width=40)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for path, text in rendered():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"=== {path.name}\n{text}")
