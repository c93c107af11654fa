"""The benchmarks, and their wrappers (log-probabilities, rationales, shards).

Viva's own `BENCHMARKS` are written by hand, so that grep finds every one; a package is loaded when it is used.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec
from msgspec import UNSET

from viva.benchmarks.rationale import RATIONALE_EXAM
from viva.contracts import Benchmark, Exam
from viva.designs import Design
from viva.errors import DataError, MissingDataError, VivaError, option
from viva.io.bounded import unpacked_head
from viva.io.tables import DOCUMENTS, SUFFIXES, suffix_of
from viva.plugins import Names
from viva.prompting import merged
from viva.sources.sourcelist import nearest, sources
from viva.types import BenchmarkInfo, ExamSpec, Way
from viva.visible import one_line

BENCHMARKS = Names(
    "viva.benchmarks",
    {
        "csbench": "viva.benchmarks.csbench.csbench",
        "clrbench": "viva.benchmarks.clrbench.clrbench",
        "cmmlu": "viva.benchmarks.cmmlu.cmmlu",
        "infibench": "viva.benchmarks.infibench.infibench",
        "syneval": "viva.benchmarks.syneval.syneval",
    },
)
"""Name → module that holds a `BENCHMARK`: Viva's, and those that installed packages register."""
CUSTOM = "questions"
"""Name of the benchmark of custom question files."""
CARD = "card"
"""Name of the benchmark of exam cards."""
_OF_FILES = {CUSTOM: "viva.benchmarks.custom.questionfiles", CARD: "viva.benchmarks.card.cards"}
CARDS = Path(__file__).parent / "card" / "cards"
"""The cards that come with Viva: NAME.yaml."""
_TABLES = frozenset({*SUFFIXES, ".txt", ".gz", *DOCUMENTS})
"""Suffixes of question tables, which need a card; JSON and YAML only where no question says how it is graded."""
_LOOKED_AT = 1 << 20
"""Bytes of a document in which a question file grades its first question."""
_GRADED = re.compile(rb"\b(?:grading|examples)[\"']?[ \t]*:")
_ROW = re.compile(rb"(?:\A|[\s{,])[\"']?(?:options|choices|answers?|a|correct_answer|label|target)[\"']?[ \t]*:")
"""Keys of YAML rows that are a table, such as {question, options, answer}."""
_CARD_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


def find_benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name. Raises VivaError naming the known ones."""
    module = _OF_FILES.get(name) or BENCHMARKS.get(name)
    if module is None:
        if Path(name).suffix.lower() in _TABLES:
            if not Path(name).exists():
                raise MissingDataError(f"the file {name} is missing: is its name right?")
            raise VivaError(
                f"{name} is no benchmark yet: `viva init {name}` writes the card that makes a table an exam, and "
                "`viva run` takes that card"
            )
        if Path(name).is_file():
            raise VivaError(
                f"{name} is of a kind that Viva does not read: save it as CSV, TSV, JSON, JSONL, YAML or Parquet"
            )
        cards = sorted({*(path.stem for path in CARDS.glob("*.yaml")), *sources()} - {*BENCHMARKS})
        if near := nearest(name, [*BENCHMARKS, *cards]):
            raise VivaError(f"there is no benchmark {name!r}; did you mean {near}? (`viva list` has all)")
        known = ", ".join(BENCHMARKS)
        raise VivaError(
            f"there is no benchmark {name!r}; there are: {known}, question files and exam cards (NAME.yaml), and the "
            f"sets and cards {', '.join(cards)} (models are no arguments: repeat {option('model')} for each)"
        )
    try:
        return cast("Benchmark", importlib.import_module(module).BENCHMARK)
    except Exception as problem:
        if module.startswith(f"{__name__}."):
            raise
        raise VivaError(
            f"the benchmark {name!r} of an installed package ({module}) cannot be used: {problem!r}"
        ) from problem


def open_exam(spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None = None) -> Exam:
    """Return a benchmark's exam with these settings, in the wrappers that they ask for (log-probabilities, shards, …).

    Raises VivaError for an unknown benchmark, DataError for settings that it does not have.
    """
    if spec.vary is not UNSET:
        return _open_varied(spec, spec.vary, data, dict(templates or {}))
    benchmark = find_benchmark(spec.benchmark)
    about = benchmark.about
    _refuse_unsupported(spec, about)
    if about.rationale == "always":
        spec = msgspec.structs.replace(spec, rationale=True)
    elif spec.rationale and about.rationale == "never":
        raise DataError(
            f"{spec.benchmark} has no {option('rationale')}: its answers are not of a kind that is defended in words"
        )
    elif spec.rationale and (spec.shots or spec.chain_of_thought or spec.as_published or spec.form == "base"):
        raise DataError(
            f"is a way of asking of its own: it goes without {option('shots')}, {option('cot')}, "
            f"{option('form', 'base')} and {option('as_published')}",
            field="rationale",
        )
    if spec.choose and (spec.chain_of_thought or spec.rationale):
        raise DataError(
            f"{spec.choose} takes what comes first as the answer: it goes without {option('cot')} and "
            f"{option('rationale')}",
            field="answer_by",
        )
    if not spec.rationale:
        spec = msgspec.structs.replace(spec, encoder="")  # there is nothing to compare
    if spec.questions and spec.limit is not None:
        raise DataError(
            f"and {option('limit')} both say which questions to ask: leave one of them out", field="questions"
        )
    own = {key: value for key, value in (templates or {}).items() if key != RATIONALE_EXAM}
    exam = benchmark.open(spec, data, own if templates is not None else None)
    if spec.questions:
        from viva.benchmarks.wrapper import Selected

        exam = Selected(exam, spec.questions)
    if spec.shuffle:
        from viva.benchmarks.varied import Shuffled

        exam = Shuffled(exam)
    if spec.choose:
        from viva.benchmarks.logprob import LogprobExam

        exam = LogprobExam(exam)
    elif spec.rationale:
        from viva.benchmarks.rationale.rationaleexam import RationaleExam

        exam = RationaleExam(exam, cast("Mapping[str, object] | None", (templates or {}).get(RATIONALE_EXAM)))
    if spec.shard:  # outermost, so that the other wrappers see the whole exam
        from viva.benchmarks.wrapper import Sharded

        exam = Sharded(exam)
    return exam


def _open_varied(spec: ExamSpec, design: Design, data: Path | None, templates: dict[str, object]) -> Exam:
    """Return the exam in all cells of a design, each prompt and draw of exemplars opened once."""
    from viva.benchmarks.varied import VARIANTS, Varied, read_texts, refuse_unfit

    texts = read_texts(templates.pop(VARIANTS, {}))
    refuse_unfit(design, texts, spec.shots)
    inner: dict[tuple[int, int], Exam] = {}
    for cell in map(design.cell, range(len(design.cells))):
        prompt, draw = cell.get("prompt", 0), cell.get("exemplars", 0)
        if (prompt, draw) not in inner:
            changes = merged(templates, texts.prompt[prompt - 1]) if prompt else templates
            own = msgspec.structs.replace(spec, vary=UNSET, shard="", draw=draw or UNSET)
            try:
                inner[prompt, draw] = open_exam(own, data, changes or None)
            except DataError as problem:
                if not prompt:
                    raise
                level = next(factor.levels[prompt] for factor in design.factors if factor.name == "prompt")
                raise DataError(f"prompt, table [{one_line(level, 60)}]: {problem}", field="vary") from None
    varied = Varied(inner, design, texts)
    if not spec.shard:
        return varied
    from viva.benchmarks.wrapper import Sharded

    varied.spec = msgspec.structs.replace(varied.spec, shard=spec.shard)
    return Sharded(varied)


def _refuse_unsupported(spec: ExamSpec, about: BenchmarkInfo) -> None:
    """Raise DataError for a setting that the benchmark does not support."""
    asked: dict[Way, str] = {}
    if spec.chain_of_thought:
        asked["cot"] = option("cot")
    if spec.form == "base":
        asked["base"] = option("form", "base")
    if spec.only:
        asked[spec.only] = f"{option('only')} {spec.only}"
    if spec.choose:
        asked[spec.choose] = f"{option('answer_by')} {spec.choose}"
    if spec.as_published:
        asked["as-published"] = option("as_published")
    if spec.extraction != "stated":
        asked["extraction"] = f"{option('extraction')} {spec.extraction}"
        other = (
            option("as_published") if spec.as_published else option("answer_by") if spec.choose else option("rationale")
        )
        if spec.as_published or spec.choose or spec.rationale:
            raise DataError(
                f"{spec.extraction} and {other} exclude each other: leave one of them out", field="extraction"
            )
    of_its_file = spec.benchmark in (CARD, CUSTOM)  # a card or a question file says its language itself
    if not (of_its_file or about.more_languages or spec.language in about.languages):
        raise DataError(f"{about.title} has no language {spec.language!r}; it has: {', '.join(about.languages)}")
    for way, called in asked.items():
        if way not in about.supports:
            why = about.reasons.get(way)
            raise DataError(f"{about.title} has no {called}" + (f": {why}" if why else "; leave it out"))
    if spec.shots > about.shots:
        most = f"shows at most {about.shots} exemplar{'s' * (about.shots > 1)}" if about.shots else "has no exemplars"
        raise DataError(f"{about.title} {most}: {option('shots')} {spec.shots} is more")


def question_file(name: str) -> Path | None:
    """Return the question file or card that a command names in place of a benchmark; None when it names none."""
    if name in BENCHMARKS:
        return None
    if _CARD_NAME.fullmatch(name):
        read_by = (sources()[name].card or name) if is_set(name) else name
        if (card := CARDS / f"{read_by}.yaml").is_file():
            return card
    return Path(name) if Path(name).suffix.lower() in DOCUMENTS and not is_table(name) else None


def is_table(name: str) -> bool:
    """Tell whether a command names a file of rows in place of a benchmark."""
    suffix = suffix_of(Path(name))
    if suffix not in _TABLES - {".gz"} or not Path(name).is_file():
        return False
    head = unpacked_head(Path(name), _LOOKED_AT) if suffix in DOCUMENTS else b""
    if suffix in DOCUMENTS[1:]:
        return bool(_ROW.search(head)) and not _GRADED.search(head) and file_benchmark(Path(name)) != CARD
    return b'"grading"' not in head and (b'"' in head or not head.lstrip().startswith(b"{"))


def is_set(name: str) -> bool:
    """Return whether a command names a published set that a card reads."""
    return name not in BENCHMARKS and name in sources()


def parts_of(name: str) -> list[str]:
    """Return the sets that a name means: a set with questions in several formats has an exam for each."""
    return [name, *(sources()[name].parts if is_set(name) else ())]


def file_benchmark(path: Path) -> str:
    """Return the name of the benchmark that reads a file: CARD for exam cards, CUSTOM for question files."""
    from viva.benchmarks.card.cardmodel import is_card

    return CARD if is_card(path) else CUSTOM
