"""A methods paragraph ready to paste, from run.json: what was asked of whom, how it was graded, how sure it is.

Citations are the keys of the BibTeX entries beside it, as `[@key]` (Pandoc) would have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined
from msgspec import Struct

from viva.benchmarks import find_benchmark
from viva.engine.folder import RunRecord
from viva.errors import VivaError
from viva.languages import language_name
from viva.published import about, bibtex, catalogue
from viva.render.result import Result
from viva.shipped import shipped_table, shipped_text
from viva.visible import one_line

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Reference(Struct, frozen=True):
    """A paper to cite."""

    key: str
    title: str
    bibtex: str


def references(benchmarks: Sequence[str]) -> list[Reference]:
    """Return the papers of the benchmarks that have one, each once."""
    found: dict[str, Reference] = {}
    for name in dict.fromkeys(benchmarks):
        if name in catalogue():
            paper = about(name)
            found[paper.key] = Reference(paper.key, paper.title, bibtex(name).strip() + "\n")
    return list(found.values())


def methods(records: Sequence[RunRecord], results: Sequence[Result]) -> str:
    """Return one paragraph for all runs: the sentences of `methods.txt`, each once."""
    words = shipped_table(__file__, "methods.toml", dict[str, dict[str, str]])
    made = Environment(undefined=StrictUndefined)  # noqa: S701 - text; the page that shows it escapes it
    made.filters["names"] = lambda models: [one_line(model.shown or model.name, 80) for model in models]
    made.filters["judged"] = lambda name: words["judged"].get(name, "answers that no rule can grade")
    text = made.from_string(shipped_text(__file__, "methods.txt")).render(
        records=records, words=words, numbers=NUMBERS, one_line=one_line, language_name=language_name,
        title_of=_title, total=sum(result.overall.n for result in results),
        lacking=sum(result.overall.unanswered for result in results),
    )  # fmt: skip
    return " ".join(dict.fromkeys(line for line in text.splitlines() if line.strip()))


def _title(benchmark: str) -> str:
    """Return what a benchmark is called, with its citation where it has a paper."""
    if benchmark in catalogue():
        return f"{about(benchmark).title} [@{about(benchmark).key}]"
    try:
        return find_benchmark(benchmark).about.title
    except VivaError:
        return benchmark
