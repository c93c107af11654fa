"""The card of a data set: README.md with the YAML head that the Hugging Face Hub and `datasets` read."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from viva.errors import flag
from viva.files import shipped_table
from viva.interop.writing.runrecords import EvaluationResult
from viva.interop.writing.safetext import clean
from viva.interop.writing.tables import Column
from viva.types import BenchmarkInfo, Language
from viva.version import __version__
from viva.visible import capitalised, one_line

_SIZES = (
    *((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")),
    (10_000_000, "1M<n<10M"),
)


class Licence(Struct, frozen=True):
    """The terms under which questions may be redistributed."""

    id: str
    name: str
    url: str
    asks: str = ""
    """What it requires for redistribution."""


class Set(Struct, frozen=True, kw_only=True):
    """A question set that the data contains, or whose answers it contains."""

    label: str
    about: BenchmarkInfo
    language: Language
    questions: int
    fingerprint: str
    bundled: bool
    licence: Licence


class Subset(Struct, frozen=True, kw_only=True):
    """A configuration: one table, in shards `NAME/test-*.parquet`."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    size: int
    """Bytes on the disk."""


class Card(Struct, frozen=True, kw_only=True):
    """The content of a data set's card."""

    evaluations: list[EvaluationResult]
    sets: list[Set]
    subsets: list[Subset]
    gold: bool

    @property
    def title(self) -> str:
        """Title of the data set."""
        exams = ", ".join(dict.fromkeys(one_line(each_set.label, 60) for each_set in self.sets))
        whole = f"Answers and scores: {exams}" if self.evaluations else f"Questions: {exams}"
        return whole if len(whole) <= 200 else f"{whole[:199]}…"

    @property
    def licences(self) -> list[Licence]:
        """Licences of the sets, each once."""
        return list(dict.fromkeys(each_set.licence for each_set in self.sets))

    @property
    def rows(self) -> int:
        """Number of rows of all tables."""
        return sum(subset.rows for subset in self.subsets)

    def warnings(self) -> Iterator[str]:
        """Yield warnings that concern publishing the data."""
        for licence in self.licences:
            whose = ", ".join(
                dict.fromkeys(one_line(each_set.label, 60) for each_set in self.sets if each_set.licence == licence)
            )
            if licence.asks:
                yield f"before you publish: the questions of {whose} are under {licence.name}: {licence.asks}."
        if self.gold:
            yield (
                "before you publish: gold answers are in it, and what is published gets into training data; "
                f"{flag('gold', False)} "
                "leaves them out."
            )
        elif self.evaluations:
            yield "before you publish: gold answers are left out, but an answer marked right still tells one."


@cache
def _licences() -> dict[str, Licence]:
    return shipped_table(__file__, "licences.toml", dict[str, Licence])


def licence_of(benchmark: str, *, bundled: bool) -> Licence:
    """Return the licence of a benchmark's questions, or of Viva's own sample."""
    return _licences()["bundled" if bundled else benchmark]


def card_text(card: Card) -> str:
    """Return the whole README.md. Names from untrusted files appear as code, invisible characters spelled out."""
    lines = ["---", _head(card), "---", "", f"# {_plain(card.title)}", ""]
    what = (
        "Answers of language models to questions, and what each earned"
        if card.evaluations
        else "Questions of an examination"
    )
    lines += [f"{what}; written by [Viva](https://pypi.org/project/viva/) {__version__}.", ""]
    lines += ["## Before you publish this", ""]
    warnings = list(card.warnings())
    lines += [f"- {_plain(capitalised(warning.removeprefix('before you publish: ')))}" for warning in warnings]
    if not warnings:
        lines.append("- The questions are Viva's own, under Apache-2.0.")
    lines += ["", *_questions(card), *_results(card.evaluations), *_tables(card)]
    return clean("\n".join(lines)) + "\n"


def _head(card: Card) -> str:
    import yaml

    licences = card.licences
    head: dict[str, object] = {
        "pretty_name": card.title,
        "language": list(dict.fromkeys(s.language for s in card.sets)),
    }
    if len(licences) == 1:
        head["license"] = licences[0].id
    else:
        head["license"] = "other"
    if head["license"] == "other":
        head["license_name"] = "see-below" if len(licences) > 1 else licences[0].name.replace(" ", "-").replace("'", "")
        head["license_link"] = "README.md" if len(licences) > 1 else licences[0].url
    head |= {
        "size_categories": [next((name for most, name in _SIZES if card.rows < most), "n>10M")],
        "task_categories": ["question-answering"],
        "tags": ["viva", "evaluation", "croissant"],
        "configs": [
            {
                "config_name": subset.name,
                "data_files": [{"split": "test", "path": f"{subset.name}/test-*.parquet"}],
                **({"default": True} if number == 0 else {}),
            }
            for number, subset in enumerate(card.subsets)
        ],
    }
    return str(yaml.safe_dump(head, sort_keys=False, allow_unicode=False, width=1000)).rstrip()


def _questions(card: Card) -> Iterator[str]:
    yield "## The questions"
    yield ""
    yield from _grid(
        ("exam", "set", "questions", "licence", "paper", "fingerprint"),
        [
            (
                _code(each_set.label),
                _plain(each_set.about.title) + (", Viva's bundled sample" if each_set.bundled else ""),
                f"{each_set.questions:,}",
                f"[{_plain(each_set.licence.name)}]({each_set.licence.url})",
                _plain(each_set.about.paper),
                _code(each_set.fingerprint),
            )
            for each_set in card.sets
        ],
    )
    yield ""


def _results(evaluations: Sequence[EvaluationResult]) -> Iterator[str]:
    if not evaluations:
        return
    yield "## The results"
    yield ""
    yield "Shares of 1 with 95 % intervals. What was not answered or not graded is left out of a mean."
    yield ""
    rows = []
    for evaluation in evaluations:
        cell = evaluation.overall
        mean = "–" if cell.mean is None else f"{cell.mean:.4f}"
        interval = "" if cell.low is None or cell.high is None else f"[{cell.low:.4f}, {cell.high:.4f}]"
        rows.append(
            (
                _code(evaluation.run),
                _code(evaluation.label),
                _code(evaluation.model),
                mean,
                interval,
                f"{evaluation.scored:,} of {cell.n:,}",
            )
        )
    yield from _grid(("run", "exam", "model", "score", "interval", "answers in it"), rows)
    yield ""
    yield "What produced each number:"
    yield ""
    for evaluation in evaluations:
        yield f"- {_code(evaluation.signature, '|')}"
    yield ""


def _tables(card: Card) -> Iterator[str]:
    yield "## The tables"
    for subset in card.subsets:
        yield ""
        yield f"`{subset.name}`: {subset.rows:,} rows, {subset.size:,} bytes."
        yield ""
        yield from _grid(
            ("column", "type", "what it is"),
            [(_code(column.name), column.kind, _plain(column.about)) for column in subset.columns],
        )
    yield ""
    yield "```python"
    yield "import datasets"
    yield f'datasets.load_dataset(".", "{card.subsets[0].name}", split="test")  # this folder'
    yield "```"


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(row)} |"


def _code(text: str, bar: str = "¦") -> str:
    """Return an untrusted text as inline code: no markup, no link, no end of a table's cell."""
    plain = one_line(clean(text), 1000).replace("`", "'").replace("|", bar)
    return f"`{plain or ' '}`"


def _plain(text: str) -> str:
    """Escape a text for Markdown and HTML."""
    return "".join(
        f"\\{character}" if character in "\\`*_[]|#" else character
        for character in html.escape(one_line(clean(text), 1000), quote=False)
    )
