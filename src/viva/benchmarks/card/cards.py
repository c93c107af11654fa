"""Exam cards: a short YAML file that says how a table is an exam (docs/data.md).

viva init DATA                          # writes the card with its guesses
viva check CARD.yaml
viva run CARD.yaml --shots 5 --cot --model openai/NAME
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from viva.benchmarks.basics import fingerprint, spread
from viva.benchmarks.card.cardexam import CardExam
from viva.benchmarks.card.cardmodel import TODO, Card, Format, read_card
from viva.benchmarks.card.cardtable import CardData, QuestionTable, typed
from viva.benchmarks.card.cells import FILE
from viva.benchmarks.card.instructions import needs_langdetect
from viva.benchmarks.card.lm_eval_exam import LmEvalExam
from viva.benchmarks.card.lm_eval_file import LmEvalTask
from viva.benchmarks.card.questions import points_of
from viva.benchmarks.custom.questionfiles import HERE as OWN
from viva.benchmarks.custom.questionfiles import tag_layouts
from viva.benchmarks.rubric_exam import Item, RubricExam
from viva.errors import DataError, MissingExtraError, option
from viva.fields import choices
from viva.io.tables import fingerprint_of
from viva.prompting import Templates, read_templates
from viva.types import BenchmarkInfo, Defect, ExamSpec, Question, Response

HERE = Path(__file__).parent
DATA = "data"
"""The key of a card's templates that holds the data which the user named in place of the card's."""
LANGUAGES = ("en", "zh")
"""Languages with prompts; others are asked in English, which is noted."""


_CARDS = (*Path(__file__).parts[-4:-1], "cards")
_LAST: dict[bytes, QuestionTable] = {}
"""The table that was read last: a command opens its exam more than once."""


class ExamCard:
    """Entry point of the benchmark of exam cards."""

    about = BenchmarkInfo(
        name="card",
        title="Exam card",
        paper="docs/data.md",
        licence="that of its data",
        languages=("en",),
        formats=tuple(choices(Format)),
        size="as many as the table has rows",
        version="20",
        source="a table, and a YAML file that says how it is an exam",
        shots=20,
        supports=("cot", "base", "next-token", "likelihood", "extraction", "as-published"),
        reasons={"comprehension": "it has one format"},
        rationale="possible",
    )

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CardExam | RubricExam:
        """Return the exam of the card at `data`. Raises DataError for a card or a table that cannot be used."""
        if data is None:
            raise DataError(f"name the card: viva run CARD.yaml {option('model', 'MODEL')}")
        data = _installed(data)
        card = read_card(data)
        if TODO in (card.question, card.gold.column):
            raise DataError(f"{data} has a {TODO}: complete it where it says so")
        if spec.as_published and card.format not in ("facts", "instructions"):
            raise DataError(f"{card.title or data} cannot be graded as published: it has no authors' script to follow")
        own = dict(templates or {})
        named = str(own.pop(DATA, ""))
        source = CardData(card, data, Path(named) if named else None)
        try:
            table = _table(card, source.files(), spec.seed)
            if card.lm_eval is not None:
                return _by_task(spec, card.lm_eval, table, source, own)
            shots, shot_files, defects = _exemplars(spec, table, source)
        except DataError as problem:
            raise DataError(
                f"{f'the card {data.stem}' if data.parent == HERE / 'cards' else data}: {problem}"
            ) from None
        spec = msgspec.structs.replace(spec, language=card.language)
        content = fingerprint([_meaning(card), table.fingerprint(), *shot_files])
        defects = [*table.defects, *defects]
        if card.format == "rubric":
            return _by_rubric(spec, table, templates or {}, named, content, defects)
        if card.language not in LANGUAGES:
            note = f"no prompts in {card.language!r}: the task is put in English (or as `prompt` of the card says it)"
            defects.append(Defect("test", "English prompts", note, "noted"))
        prompts = Templates(_prompts(card, named), templates)
        if card.format == "instructions":
            _refuse_without_langdetect(table)
        before, read = _preambles(spec, table, source)
        return CardExam(
            spec,
            card,
            table,
            prompts,
            fingerprint=fingerprint([content.encode(), *read]) if read else content,
            exemplars=shots,
            defects=defects,
            preambles=before,
            points=_points(table),
        )


def _installed(data: Path) -> Path:
    """Return the present path of a card that comes with Viva: Viva may have moved since the run recorded it."""
    here = HERE / "cards" / data.name
    shipped = data.parts[-len(_CARDS) - 1 : -1] == _CARDS
    return here if shipped and not data.exists() and here.is_file() else data


def _table(card: Card, files: Sequence[Path], seed: int) -> QuestionTable:
    """Return the table of a card; the last one again if nothing of it has changed."""
    stats = [(str(path), (status := path.stat()).st_mtime_ns, status.st_size, status.st_ino) for path in files]
    key = msgspec.json.encode((card, stats, seed))
    if key not in _LAST:
        _LAST.clear()
        _LAST[key] = QuestionTable(card, files, seed)
    return _LAST[key]


def _meaning(card: Card) -> bytes:
    """Return the content of a card that decides questions and grading; the prompt has a separate hash."""
    named = msgspec.to_builtins(card)
    for field in ("title", "data", "split", "exemplars", "prompt", "cluster", "encoding"):
        del named[field]
    if card.metric == "squad":
        del named["metric"]
    if isinstance(named["answer"], dict):
        for field in ("arguments", "points"):
            if not named["answer"][field]:
                del named["answer"][field]
    if not card.where:
        del named["where"]
    if isinstance(named["options"], dict) and not card.layout.in_question:
        del named["options"]["in_question"]  # cards older than these fields keep their fingerprint
    return msgspec.json.encode(named)


TASK = "lm_eval"
"""The key of an exam's templates that holds the task whose prompts it has."""


def _by_task(
    spec: ExamSpec, task: LmEvalTask, table: QuestionTable, source: CardData, own: Mapping[str, object]
) -> LmEvalExam:
    """Return the exam of a card with a task of lm-eval. Raises DataError for unsupported ways of asking."""
    card = table.card
    asked = msgspec.json.encode(task).decode()
    for wrong, called in (
        (spec.chain_of_thought, option("cot")),
        (spec.rationale, option("rationale")),
        (own.get(TASK, asked) != asked or own.keys() - {TASK}, option("prompts")),
    ):
        if wrong:
            raise DataError(
                f"its prompts are those of the task under `lm_eval`: leave {called} out, or change them there"
            )
    if task.gen_prefix and spec.form == "chat":
        raise DataError(f"its `gen_prefix` begins the reply, which chat messages cannot: add {option('form', 'base')}")
    if spec.choose == "next-token":
        raise DataError(
            f"the options of a task of lm-eval compete by their whole texts: {option('answer_by', 'likelihood')}"
        )
    if task.num_fewshot == 0 and spec.shots:
        raise DataError(
            f"the task says `num_fewshot: 0`, for which lm-eval shows none either: leave {option('shots')} out"
        )
    pool: list[dict[str, Any]] = list(task.fewshot_config.samples)
    read: list[bytes] = []
    if spec.shots and not pool:
        files = source.shown_files()
        pool = [row for _, _, row in typed(files, card.columns)]
        read = [fingerprint_of(files)]
    return LmEvalExam(
        msgspec.structs.replace(spec, language=card.language),
        card,
        task,
        table,
        fingerprint=fingerprint([_meaning(card), table.fingerprint(), *read]),
        pool=pool,
        defects=table.defects,
        templates={TASK: asked, **({DATA: str(source.given)} if source.given else {})},
    )


class _ContinuedCode(RubricExam):
    """Questions that are the beginning of a program: an answer is a whole program, or continues its last block."""

    def _visible(self, response: Response) -> str:
        """Return the answer; if it continues with indented lines, those lines alone, without further definitions."""
        text = super()._visible(response)
        lines = text.rstrip().split("\n")
        first = next((line for line in lines if line.strip()), "")
        if not first.startswith((" ", "\t")) or "```" in text:
            return text
        end = next(
            (index for index, line in enumerate(lines) if line.strip() and not line.startswith((" ", "\t"))), None
        )
        return "```\n" + "\n".join(lines[:end]) + "\n```"


def _by_rubric(
    spec: ExamSpec,
    table: QuestionTable,
    own: Mapping[str, object],
    data: str,
    content: str,
    defects: Sequence[Defect],
) -> RubricExam:
    """Return the exam of a card whose answers are graded by tests or keywords. Raises DataError for
    unsupported ways of asking.
    """
    for asked, called in ((spec.chain_of_thought, option("cot")), (spec.rationale, option("rationale"))):
        if asked:
            raise DataError(f"the format rubric has no {called}: its questions are asked as they are")
    system, tests = table.card.system, table.card.tests
    if not system and tests is not None and spec.form == "chat":
        system = f"Write {tests.language} code that does what is asked. Reply with one code block."
    places = set(spread(len(table), spec.limit))
    items = [
        Item(question=read.question, rubric=read.rubric, system=system, language=tests.language if tests else "")
        for index, read in enumerate(table.reads())
        if index in places
    ]
    bundled: dict[str, object] = {**read_templates(OWN / "prompts.toml"), **({DATA: data} if data else {})}
    return (_ContinuedCode if tests is not None and tests.before else RubricExam)(
        spec,
        items,
        fingerprint=content,
        templates=Templates(bundled, own),
        defects=defects,
        layouts=tag_layouts,
    )


def _prompts(card: Card, data: str) -> dict[str, object]:
    """Return the texts of the card's language and format, with the card's own in their place."""
    bundled = read_templates(HERE / "prompts.toml")
    judge = read_templates(HERE / "judge.toml")
    language = card.language if card.language in LANGUAGES else "en"
    texts = cast("dict[str, object]", bundled[language])
    common = {name: text for name, text in texts.items() if isinstance(text, str)}
    prompts: dict[str, object] = {**common, **cast("dict[str, object]", texts[card.format])}
    if card.format in ("open", "facts"):
        asked = language if card.format == "open" else "facts"
        prompts["judge"] = {**cast("dict[str, object]", judge[asked]), "rubric": judge["rubric"]}
    own_prompts = {"question": card.prompt} if isinstance(card.prompt, str) else card.prompt
    if any(own_prompts.values()):
        try:
            prompts = Templates(prompts, {name: text for name, text in own_prompts.items() if text}).data
        except DataError as problem:
            raise DataError(f"`prompt`: {problem}") from None
    return {**prompts, DATA: data} if data else prompts


def _exemplars(
    spec: ExamSpec, table: QuestionTable, source: CardData
) -> tuple[list[Question], list[bytes], list[Defect]]:
    """Return the sound exemplars, digests of their files, and notes. Raises DataError where there are none."""
    card, shown = source.card, source.card.shown
    if not spec.shots or shown.text:  # they are in the published text before the questions
        return [], [], []
    if card.format == "rubric":
        raise DataError(f"the format rubric shows no exemplars: leave {option('shots')} out")
    where = {column: wanted for column, wanted in card.where.items() if column != FILE}
    reading = msgspec.structs.replace(card, explanation=shown.reasoning or card.explanation, where=where)
    pool = QuestionTable(reading, source.shown_files(), spec.seed)
    sound = [question for question in pool if question.answer is not None]
    return sound, [pool.fingerprint()], list(_short_groups(sound, table, spec.shots))


def _preambles(spec: ExamSpec, table: QuestionTable, source: CardData) -> tuple[dict[str, str], list[bytes]]:
    """Return file → published text before its questions (with exemplars, or its first paragraph), and the bytes read.

    Raises DataError for a text that is not there.
    """
    named = table.card.shown.text
    texts_by_file: dict[str, str] = {}
    read: list[bytes] = []
    for file in table.values[FILE] if named else ():
        content = source.text(named.replace(f"{{{FILE}}}", Path(file).name))
        read.append(content)
        text = content.decode("utf-8", "replace")
        text = text.partition("\n-----\n")[2] or text  # above the line is a warning not to train on it
        shown = text if spec.shots else text.strip().partition("\n\n")[0]
        texts_by_file[file] = shown.strip()
    return texts_by_file, read


def _points(table: QuestionTable) -> dict[str, float]:
    """Return question → points of each of its letters."""
    if table.card.format != "letters":
        return {}
    rows = zip(table, table.rows(), strict=True)
    return {question.id: points_of(table.card, row) for question, row in rows}


def _refuse_without_langdetect(table: QuestionTable) -> None:
    """Raise MissingExtraError where an instruction is about a reply's language and langdetect is missing."""
    from importlib.util import find_spec

    asked = (question.answer for question in table if question.answer)
    if find_spec("langdetect") is None and any(map(needs_langdetect, asked)):
        raise MissingExtraError(
            "instructions about the language of a reply need langdetect: pip install 'viva[instructions]'"
        )


def _short_groups(shots: Sequence[Question], table: QuestionTable, wanted: int) -> list[Defect]:
    """Return notes on groups with fewer exemplars than are wanted."""
    by = table.card.shown.by
    if not by:
        few = len(shots) < wanted
        return [Defect("exemplars", "few exemplars", f"{len(shots)} of {wanted}", "noted")] if few else []
    counts = {group: sum(shot.tags[by] == group for shot in shots) for group in table.values[by]}
    return [
        Defect(group, "few exemplars", f"{count} of {wanted} of this {by}", "noted")
        for group, count in counts.items()
        if count < wanted
    ]


BENCHMARK = ExamCard()
