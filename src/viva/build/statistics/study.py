"""A set's questions by every dimension, and their lengths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct

from viva.benchmarks import BENCHMARKS, find_benchmark, question_file
from viva.benchmarks.csbench.csbench import BENCHMARK, HERE
from viva.benchmarks.csbench.recordfiles import DOMAINS, FOLDERS, LETTERS, TEST, Raw, asked, is_csbench, read_set, text
from viva.build.statistics.chart import lengths_chart
from viva.build.statistics.tables import Counts, Entry, SetStatistics, counts, crossed, findings, lengths, measure_of
from viva.commands import command
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.config import TaskOptions
from viva.runs.exams import languages, open_exams
from viva.sources.sourcelist import data_folder
from viva.studies.item_scores import BenchmarkFiles, Languages

_MOST = 80
"""Most values of a dimension; one with more identifies questions rather than groups them."""


class SetStatisticsConfig(Struct, kw_only=True):
    """The statistics of SET: a benchmark, a folder or file of CS-Bench's format (both halves), or a question file. What
    its questions' perplexity is under a model, `viva perplexity SET` says.

    \b
    viva build stats csbench --data DIR --language en,zh
    viva build stats myset --language de --chart lengths.svg

    Exit codes: 0 told; 2 wrong use or unreadable files; 5 --out cannot be written; 130 interrupted.
    """

    set: Annotated[str, note("A benchmark, CS-Bench files, or a question file.", metavar="SET", argument=True)]
    data: BenchmarkFiles = None
    language: Languages = ()
    by: Annotated[str, note("Dimensions to count by.  [default: all there are]", metavar="NAME,...")] = ""
    cross: Annotated[
        tuple[str, ...], note("Cross table of two.  [default: with the format, or all]", metavar="A,B")
    ] = ()
    field: Annotated[
        Literal["question", "asked", "options", "answer", "explanation"],
        note("Whose length is told; asked: with the options."),
    ] = "question"
    group: Annotated[str, note("Lengths for each of its values.  [default: format]", metavar="NAME")] = ""


class Opened(Struct, kw_only=True):
    """A set to be counted."""

    name: str
    language: str
    entries: list[Any]
    fingerprint: str


@command(SetStatisticsConfig, chart="Draw the lengths")
def study(config: SetStatisticsConfig) -> Findings[Sequence[SetStatistics]]:
    """A set's questions by every dimension and crossed, and how long they are.

    Raises DataError for what is no set, and for an unknown dimension.
    """

    crosses = [_pair_of(pair) for pair in config.cross]
    by = tuple(part.strip() for part in config.by.split(",") if part.strip())
    sets = open_sets(config.set, TaskOptions(data=config.data, language=config.language))
    described = [_statistics(opened, by, crosses, config.field, config.group) for opened in sets]
    return findings(described, partial(lengths_chart, described))


def _pair_of(text: str) -> tuple[str, str]:
    """Parse the two dimensions of a --cross. Raises VivaError."""
    first, comma, second = text.partition(",")
    if not comma or not first.strip() or not second.strip() or first.strip() == second.strip():
        raise VivaError(f"{text!r}: write two dimensions, such as domain,format", field="cross")
    return first.strip(), second.strip()


def open_sets(given: str, choice: TaskOptions) -> list[Opened]:
    """Open the sets of a benchmark, CS-Bench files or a question file. Raises DataError if there are none."""

    folder = Path(given)
    halves = given in BENCHMARKS and find_benchmark(given).about.halves
    if halves:
        root = data_folder(choice.data, given) or HERE / "sample"
        inner = root / given
        folder = inner if inner.is_dir() else root
    if given not in BENCHMARKS or halves:
        if is_csbench(folder):
            return _csbench(folder, choice)
        if not halves and not question_file(given):
            raise DataError(f"there is no set {given!r}: name a benchmark, CS-Bench files, or a question file (.yaml)")
    return _exams(given, choice)


def _csbench(folder: Path, choice: TaskOptions) -> list[Opened]:
    """Open both halves of one or several languages."""

    several = folder.is_dir() and not (folder / TEST).is_file()
    there = tuple(code for code in BENCHMARK.about.languages if (folder / FOLDERS[code] / TEST).is_file())
    wanted = languages(choice, there) if several else [None]
    return [
        Opened(
            name=f"csbench-{read.language}",
            language=read.language,
            entries=[_entry(half, record) for half in ("test", "valid") for record in getattr(read, half) or []],
            fingerprint=read.fingerprint,
        )
        for read in (read_set(folder, language) for language in wanted)
    ]


def _entry(half: str, record: Raw) -> Entry:

    domain = text(record["Domain"])
    return Entry(
        texts={
            "question": text(record["Question"]),
            "asked": asked(record),
            "options": "\n".join(text(record[letter]) for letter in LETTERS if letter in record),
            "answer": text(record["Answer"]),
            "explanation": text(record.get("Explanation")),
        },
        tags={
            "half": half,
            "domain": domain,
            "subfield": f"{DOMAINS.get(domain, domain)}: {text(record['SubDomain'])}",
            "format": text(record["Format"]),
            "tag": text(record["Tag"]),
        },
    )


def _exams(given: str, choice: TaskOptions) -> list[Opened]:
    sets = []
    for exam, _ in open_exams((given,), choice):
        entries = [
            Entry(
                texts={
                    "question": question.text,
                    "asked": "\n".join((question.text, *question.options)),
                    "options": "\n".join(question.options),
                    "answer": question.answer or "",
                    "explanation": question.explanation,
                },
                tags=question.tags,
            )
            for question in exam.questions()
        ]
        sets.append(
            Opened(
                name=exam.spec.label,
                language=exam.spec.language,
                entries=entries,
                fingerprint=exam.fingerprint,
            )
        )
    return sets


def _statistics(
    opened: Opened, by: tuple[str, ...], crosses: Sequence[tuple[str, str]], field: str, group: str
) -> SetStatistics:
    """Count by dimension and crossed, and measure lengths. Raises DataError for an unknown dimension."""

    names = dict.fromkeys(name for entry in opened.entries for name in entry.tags)
    values = {name: {entry.tags.get(name, "") for entry in opened.entries} for name in names}
    for name in dict.fromkeys((*by, *(part for pair in crosses for part in pair), *((group,) if group else ()))):
        if name not in values:
            raise DataError(f"{opened.name} has no dimension {name!r}; it has: {', '.join(values) or 'none'}")
    dimensions = by or tuple(name for name in values if 1 < len(values[name]) <= _MOST)
    if crosses:
        pairs = list(crosses)
    elif "format" in dimensions:
        pairs = [(name, "format") for name in dimensions if name != "format"]
    else:
        pairs = [pair for pair in combinations(dimensions, 2) if len(values[pair[1]]) <= 12][:6]
    measure = measure_of(opened.language)
    by_group = group or ("format" if "format" in values else "")
    distributions = [lengths(opened.entries, field, measure)]
    for value in sorted(values[by_group]) if by_group and len(values[by_group]) > 1 else ():
        some = [entry for entry in opened.entries if entry.tags.get(by_group, "") == value]
        distributions.append(lengths(some, field, measure, value or "(none)"))
    return SetStatistics(
        set=opened.name,
        language=opened.language,
        questions=len(opened.entries),
        fingerprint=opened.fingerprint,
        field=field,
        measure=measure,
        counts=tuple(Counts(name, tuple(counts(opened.entries, name))) for name in dimensions),
        crosses=tuple(crossed(opened.entries, *pair) for pair in pairs),
        lengths=tuple(each for each in distributions if each is not None),
    )
