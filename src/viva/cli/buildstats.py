"""`viva build stats`: a set's questions by every dimension, how long they are, and how little they surprise a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from viva.cli.analysisoptions import chart_option
from viva.cli.options import tables_options, weights_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import DataError, VivaError
from viva.runs.config import Choice, pick

if TYPE_CHECKING:
    from viva.analysis.textlengths import Entry
    from viva.benchmarks.csbench.build.files import Raw
    from viva.reports.setstatistics import SetStatistics

FIELDS = ("question", "asked", "options", "answer", "explanation")
_MOST = 80
"""Values of a dimension that is shown; one with more tells questions apart, and groups none."""


class Opened(msgspec.Struct, kw_only=True):
    """A set to be counted: what `viva perplexity` calls it, and where its files are."""

    name: str
    language: str
    entries: list[Any]
    fingerprint: str
    perplexity: str
    data: Path | None


@click.command(name="stats", short_help="Counts by every dimension, lengths, perplexity.")
@click.argument("given", metavar="SET")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the published files of benchmarks.")
@click.option("--language", multiple=True, metavar="LANG", help="en, zh, de, fr (CS-Bench); several: en,zh or repeat.")
@click.option("--by", default="", metavar="NAME,...", help="Dimensions to count by.  [default: all there are]")
@click.option("--cross", multiple=True, metavar="A,B", help="Cross table of two.  [default: with the format, or all]")
@click.option(
    "--field",
    type=click.Choice(FIELDS),
    default="question",
    show_default=True,
    help="Whose length is told; asked: with the options.",
)
@click.option("--group", default="", metavar="NAME", help="Lengths for each of its values.  [default: format]")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="hf/FOLDER|PROVIDER/NAME",
    help="Also the questions' perplexity under these models, as `viva perplexity` tells it.",
)
@click.option("--beside", multiple=True, metavar="SET", help="With --model: other sets to put beside it.")
@click.option("--base-url", metavar="URL", help="OpenAI-compatible server of the openai/ models, ending in /v1.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: the provider's own]")
@click.option(
    "--items", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="With --model: keeps every figure."
)
@weights_options
@chart_option("Draw the lengths")
@tables_options
def stats_command(given: str, **options: Any) -> int:
    """The statistics of SET: a benchmark, a folder or file of CS-Bench's format (both halves), or a question file.

    \b
    viva build stats csbench --data DIR --language en,zh
    viva build stats myset --language de --chart lengths.svg
    viva build stats csbench --data DIR --model hf/FOLDER --beside cmmlu     a low perplexity suggests leakage

    Exit codes: 0 told; 2 wrong use or unreadable files; with --model also those of `viva perplexity`.
    """
    out, form = options["out"], options["format"]
    check_writable(out)
    models, beside = options["models"], options["beside"]
    if beside and not models:
        raise VivaError("--beside goes with --model: whose perplexity?")
    if models and (out or form in ("json", "csv")):
        raise VivaError(f"--model prints tables: leave out {'--out' if out else f'--format {form}'}, or measure with "
                        "`viva perplexity`, which writes files")  # fmt: skip
    sets = _opened(given, pick(Choice, options))
    crosses = [_pair(one) for one in options["cross"]]
    by = tuple(part.strip() for part in options["by"].split(",") if part.strip())
    found = [_statistics(one, by, crosses, options["field"], options["group"]) for one in sets]
    _print(found, options)
    if options["chart"]:
        from viva.reports import charts
        from viva.reports.charts.lengths import lengths_chart

        charts.save(lengths_chart(found), options["chart"])
    return _perplexity(sets, options) if models else 0


def _pair(text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma or not first.strip() or not second.strip() or first.strip() == second.strip():
        raise VivaError(f"--cross {text!r}: write two dimensions, such as domain,format")
    return first.strip(), second.strip()


def _opened(given: str, choice: Choice) -> list[Opened]:
    from viva.benchmarks import BENCHMARKS, question_file
    from viva.benchmarks.csbench.build.files import is_csbench
    from viva.runs.settings import data_folder

    folder = Path(given)
    if given == "csbench":
        from viva.benchmarks.csbench.benchmark import HERE

        root = data_folder(choice, "csbench") or HERE / "sample"
        inner = root / "csbench"
        folder = inner if inner.is_dir() else root
    if given not in BENCHMARKS or given == "csbench":
        if is_csbench(folder):
            found = _csbench(folder, choice)
            if given == "csbench":  # other sets beside it have their own folders
                for one in found:
                    one.data = None
            return found
        if given != "csbench" and not question_file(given):
            raise DataError(f"there is no set {given!r}: name a benchmark, CS-Bench files, or a question file (.yaml)")
    return _exams(given, choice)


def _csbench(folder: Path, choice: Choice) -> list[Opened]:
    """Both halves of one or several languages."""
    from viva.benchmarks.csbench.benchmark import BENCHMARK
    from viva.benchmarks.csbench.build.files import TEST, read_set
    from viva.benchmarks.csbench.loading import FOLDERS
    from viva.runs.settings import languages

    several = folder.is_dir() and not (folder / TEST).is_file()
    there = tuple(code for code in BENCHMARK.about.languages if (folder / FOLDERS[code] / TEST).is_file())
    wanted = languages(choice, there) if several else [None]
    found = []
    for language in wanted:
        one = read_set(folder, language)
        records = [("test", record) for record in one.test] + [("valid", record) for record in one.valid or []]
        found.append(
            Opened(
                name=f"csbench-{one.language}",
                language=one.language,
                entries=[_entry(half, record) for half, record in records],
                fingerprint=one.fingerprint,
                perplexity="csbench",
                data=folder if several else folder.resolve().parent,
            )
        )
    return found


def _entry(half: str, record: Raw) -> Entry:
    from viva.analysis.textlengths import Entry
    from viva.benchmarks.csbench.build.files import LETTERS, asked, text
    from viva.benchmarks.csbench.loading import DOMAINS

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


def _exams(given: str, choice: Choice) -> list[Opened]:
    from viva.analysis.textlengths import Entry
    from viva.runs.exams import label, open_exams

    found = []
    for exam, data in open_exams((given,), choice):
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
        found.append(
            Opened(
                name=label(exam),
                language=exam.spec.language,
                entries=entries,
                fingerprint=exam.fingerprint,
                perplexity=given,
                data=data if given == exam.spec.benchmark else None,
            )
        )
    return found


def _statistics(
    one: Opened, by: tuple[str, ...], crosses: Sequence[tuple[str, str]], field: str, group: str
) -> SetStatistics:
    from viva.analysis.textlengths import counts, crossed, lengths, measure_of
    from viva.reports.setstatistics import Counts, SetStatistics

    values: dict[str, set[str]] = {name: set() for entry in one.entries for name in entry.tags}
    for entry in one.entries:
        for name, known in values.items():
            known.add(entry.tags.get(name, ""))
    for name in dict.fromkeys((*by, *(part for pair in crosses for part in pair), *((group,) if group else ()))):
        if name not in values:
            raise DataError(f"{one.name} has no dimension {name!r}; it has: {', '.join(values) or 'none'}")
    dimensions = by or tuple(name for name in values if 1 < len(values[name]) <= _MOST)
    if crosses:
        pairs = list(crosses)
    elif "format" in dimensions:
        pairs = [(name, "format") for name in dimensions if name != "format"]
    else:
        pairs = [pair for pair in combinations(dimensions, 2) if len(values[pair[1]]) <= 12][:6]
    measure = measure_of(one.language)
    by_group = group or ("format" if "format" in values else "")
    found = [lengths(one.entries, field, measure)]
    for value in sorted(values[by_group]) if by_group and len(values[by_group]) > 1 else ():
        some = [entry for entry in one.entries if entry.tags.get(by_group, "") == value]
        found.append(lengths(some, field, measure, value or "(none)"))
    return SetStatistics(
        set=one.name,
        language=one.language,
        questions=len(one.entries),
        fingerprint=one.fingerprint,
        field=field,
        measure=measure,
        counts=tuple(Counts(name, tuple(counts(one.entries, name))) for name in dimensions),
        crosses=tuple(crossed(one.entries, *pair) for pair in pairs),
        lengths=tuple(each for each in found if each is not None),
    )


def _print(found: Sequence[SetStatistics], options: dict[str, Any]) -> None:
    from viva.reports import setstatistics as report

    if options["format"] != "terminal":
        emit(report.FORMATS[options["format"]](found), options["out"])
        return
    width, colour = screen(options["out"])
    emit(report.as_terminal(found, width=width, colour=colour), options["out"])


def _perplexity(sets: Sequence[Opened], options: dict[str, Any]) -> int:
    """What `viva perplexity` says of the questions, beside those of other sets."""
    from viva.cli.perplexity import perplexity_command

    wanted = {
        **{parameter.name: parameter.default for parameter in perplexity_command.params if parameter.name},
        **{name: value for name, value in options.items() if name not in ("by", "field")},
        **{"field": "question", "data": sets[0].data or options["data"], "by": None, "progress": "auto"},
        **{"limit": None, "concurrency": None, "timeout": 300.0, "k": 20.0},
        "language": tuple(one.language for one in sets),
    }
    names = tuple(parameter.name for parameter in perplexity_command.params)
    call = {name: wanted[name] for name in names if name and name not in ("sets", "models")}
    assert perplexity_command.callback is not None
    code: int = perplexity_command.callback(
        sets=(*dict.fromkeys(one.perplexity for one in sets), *options["beside"]), models=options["models"], **call
    )
    return code
