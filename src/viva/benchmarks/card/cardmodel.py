"""Exam cards as plain data, read from YAML without objects, in which every value is a text until a field needs more."""

from __future__ import annotations

import difflib
import math
import re
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from viva.benchmarks.basics import read_bytes
from viva.benchmarks.card.lm_eval_file import LmEvalTask
from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar, Unreadable, quoted, read_yaml
from viva.errors import DataError
from viva.fields import choices
from viva.types import Language

LARGEST = 256 << 10
"""Bytes of a card."""
Format = Literal[
    "choice",
    "choices",
    "truth",
    "exact",
    "number",
    "math",
    "phrase",
    "open",
    "rubric",
    "facts",
    "instructions",
    "letters",
]
GoldForm = Literal["letter", "index", "text", "label", "flags", "value", "boxed"]
TODO = "TODO"
"""Placeholder in a draft for a column that could not be guessed."""


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the options are: texts with their labels, or the right one and the wrong ones."""

    text: str = ""
    """A column with the list of options."""
    label: str = ""
    """A column with the list of their labels."""
    columns: list[str] = []
    """A column an option."""
    right: str = ""
    wrong: str | list[str] = []
    """Columns with one wrong option each, or one column with a list of them."""
    in_question: bool = False
    """Whether they are at the end of the question's text: "A. …", "(B) …"."""
    shuffle: bool = False
    """Whether to shuffle them by the seed, for sets where the right one always comes first."""


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the gold answer is, and in what form."""

    column: str
    form: GoldForm | None = field(default=None, name="as")
    start: int = field(default=0, name="from")
    """Index of the first option."""
    after: str = ""
    """Mark right before the answer in its cell (`####`); the text before the mark is the reasoning."""
    aliases: list[str] = []
    """Columns with other accepted wordings."""
    arguments: str = ""
    """A column with the arguments of each instruction (format instructions)."""
    points: str = ""
    """A column with the points of each right letter (format letters)."""


class Exemplars(Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows are shown before a question: another file, or another split of the same folder."""

    data: str = ""
    split: str = ""
    by: str = ""
    """The tag by whose values exemplars are grouped."""
    reasoning: str = ""
    """A column with the reasoning that is shown by chain of thought."""
    text: str = ""
    """A file of the set, as `cot-prompts/{$file}.txt`: the published text that comes before a question."""


class Macro(Struct, frozen=True, forbid_unknown_fields=True):
    """The mean over the means of a tag's values."""

    macro: str


class Tests(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that tests the answer's code, as templates of columns."""

    language: str
    test: str
    """A template, or a column; a list in it gives one line each."""
    before: str = ""
    """Code before the answer's."""
    seconds: float | None = None


class Card(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """Description of a table as an exam (fields: docs/data.md). Columns are names, or paths such as `choices.text`."""

    title: str = ""
    data: str | list[str] = ""
    split: str = ""
    columns: list[str] = []
    """The columns of a CSV without a header."""
    encoding: str = ""
    """Encoding of a text that is not UTF-8, such as cp1252."""
    where: dict[str, str | list[str]] = {}
    """Filter of rows: a column → the value or values that it must have."""
    format: Format
    language: Language = "en"
    id: str = ""
    question: str = ""
    options: str | list[str] | Options = ""
    answer: str | Answer = ""
    explanation: str = ""
    tags: list[str] = []
    cluster: str = ""
    """A column, or a template of columns, with the same value in questions that belong together: a passage."""
    exemplars: str | Exemplars = ""
    prompt: str | dict[str, str] = ""
    system: str = ""
    headline: Literal["micro"] | Macro = "micro"
    metric: Literal["squad", "drop"] = "squad"
    """The metric that compares phrases."""
    tolerance: float = 0.0
    """Largest accepted difference between a number and the gold one."""
    keywords: str = ""
    """A column with the list of texts that an answer must contain."""
    tests: Tests | None = None
    lm_eval: LmEvalTask | None = None
    """A task of lm-evaluation-harness, in place of `question`, `options`, `answer` and `prompt`."""

    @cached_property
    def gold(self) -> Answer:
        """Where the gold answer is, with the format's form unless the card has one."""
        answer = Answer(column=self.answer) if isinstance(self.answer, str) else self.answer
        if answer.form is not None:
            return answer
        form: GoldForm = "value"
        if self.format in ("choice", "choices"):
            labelled = isinstance(self.options, Options) and self.options.label
            form = "label" if labelled else "letter"
        return msgspec.structs.replace(answer, form=form)

    @cached_property
    def layout(self) -> Options:
        """Where the options are."""
        if isinstance(self.options, str):
            return Options(text=self.options)
        return Options(columns=self.options) if isinstance(self.options, list) else self.options

    @cached_property
    def shown(self) -> Exemplars:
        """Where exemplars are."""
        return Exemplars(data=self.exemplars) if isinstance(self.exemplars, str) else self.exemplars


_KINDS: dict[str, type[Struct]] = {"options": Options, "answer": Answer, "exemplars": Exemplars, "tests": Tests}
_HEAD = re.compile(rb"^(data|format|options|answer|question)[ \t]*:", re.MULTILINE)
_QUESTIONS = re.compile(rb"^[\"']?questions[\"']?[ \t]*:", re.MULTILINE)


def is_card(path: Path) -> bool:
    """Tell whether a YAML file is a card, which says how questions are read, and not a question file."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST)
    except OSError:
        return False
    return _HEAD.search(content) is not None and _QUESTIONS.search(content) is None


def read_card(path: Path) -> Card:
    """Return a card. Raises DataError that names the file, the field and what it may be."""
    content = read_bytes(path)
    if len(content) > LARGEST:
        raise DataError(f"{path} has {len(content):,} bytes; a card has at most {LARGEST:,}")
    return parse_card(content, str(path))


def parse_card(content: bytes, name: str) -> Card:
    """Return the card in `content`. Raises DataError that names the field and what it may be."""
    try:
        plain = _plain(read_yaml(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise DataError(f"{name} is not UTF-8: save it in that encoding") from None
    except Unreadable as unreadable:
        raise DataError(f"{name}:{unreadable.problem}") from None
    if not isinstance(plain, dict):
        raise DataError(f"{name} is no card: a mapping with `data`, `format`, `question` and `answer` belongs there")
    _refuse_unknown(plain, Card, name, "")
    try:
        card = msgspec.convert(plain, Card, strict=False)
    except msgspec.ValidationError as problem:
        of = {"format": Format, "as": GoldForm, "language": Language}.get(str(problem).rpartition(".")[2].rstrip("`"))
        known = ", ".join(choices(of))
        raise DataError(f"{name}: {problem}{known and f'; there are: {known}'}") from None
    _refuse_unfit(card, name)
    return card


def _plain(node: Node) -> Any:
    if isinstance(node, Scalar):
        return None if node.null else node.value
    if isinstance(node, Listing):
        return [_plain(item) for item in node.items if not (isinstance(item, Scalar) and item.null)]
    assert isinstance(node, Mapping)
    mapping: dict[str, Any] = {}
    for key, value in node.entries:
        if key.value in mapping:
            raise Unreadable(key.line, key.column, f"`{key.value[:60]}` stands here twice")
        if not (isinstance(value, Scalar) and value.null):
            mapping[key.value] = _plain(value)
    return mapping


def _refuse_unknown(plain: dict[str, Any], kind: type[Struct], name: str, prefix: str) -> None:
    known = [each.encode_name for each in msgspec.structs.fields(kind)]
    for key, value in plain.items():
        if key not in known:
            near = difflib.get_close_matches(key.lower(), known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
            raise DataError(f"{name}: `{prefix}{key[:60]}` is unknown; {hint}")
        if isinstance(value, dict) and not prefix and key in _KINDS:
            _refuse_unknown(value, _KINDS[key], name, f"{key}.")


def _refuse_unfit(card: Card, name: str) -> None:
    """Raise DataError for fields that do not go together."""
    if card.lm_eval is not None:
        _refuse_unfit_task(card, card.lm_eval, name)
        return
    if not card.question:
        raise DataError(f"{name}: `question` is missing: the column of the question, or a template of columns")
    form, chosen, rubric = card.gold.form, card.format in ("choice", "choices"), card.format == "rubric"
    layout = card.layout
    ways = sum(map(bool, (layout.text, layout.columns, layout.right, layout.in_question)))
    problems = (
        (
            chosen and ways != 1,
            "`options` must say where the options are: a list column, [A, B, C, D], {text: choices.text, label: "
            "choices.label}, {right: COLUMN, wrong: [COLUMN, …]} or {in_question: true}",
        ),
        (bool(layout.right) and not layout.wrong, "`options.wrong` is missing: the columns of the wrong options"),
        (
            not (rubric or layout.right or card.gold.column),
            "`answer` is missing: the column of the gold answer",
        ),
        (form == "label" and not layout.label, "`answer: {as: label}` needs `options.label`: the column of the labels"),
        (
            chosen and form in ("value", "boxed"),
            f"`answer.as: {form}` is for other formats; here letter, index, text, label or flags",
        ),
        (
            not chosen and ways > 0,
            f"`options` are for the formats choice and choices, and this one is {card.format}",
        ),
        (
            not chosen and form not in ("value", "boxed"),
            f"`answer.as: {form}` is for the format choice; here value or boxed",
        ),
        (
            rubric and not (card.tests or card.keywords),
            "the format rubric needs `tests` or `keywords`: what an answer is graded by",
        ),
        (
            not rubric and bool(card.tests or card.keywords),
            f"`tests` and `keywords` are for the format rubric, and this one is {card.format}",
        ),
        (
            card.tolerance != 0 and card.format not in ("number", "math"),
            f"`tolerance` is for the formats number and math, and this one is {card.format}",
        ),
        (not 0 <= card.tolerance < math.inf, f"`tolerance` is {card.tolerance:g}; it is at least 0"),
        (
            isinstance(card.headline, Macro) and card.headline.macro not in card.tags,
            "`headline: {macro: TAG}` must name one of `tags`",
        ),
    )
    for wrong, message in problems:
        if wrong:
            raise DataError(f"{name}: {message}")


def _refuse_unfit_task(card: Card, task: LmEvalTask, name: str) -> None:
    """Raise DataError for a task of lm-eval whose fields do not go together, or beside fields that it replaces."""
    wanted = "choice" if task.output_type == "multiple_choice" else "exact"
    beside = [
        field
        for field in ("question", "options", "answer", "explanation", "prompt", "system", "keywords", "tests")
        if getattr(card, field)
    ]
    fixed = (task.description, task.gen_prefix, task.fewshot_config.gen_prefix or "")
    problems = (
        (
            bool(beside),
            f"`{(beside or [''])[0]}` stands beside `lm_eval`, which says that itself: leave one of them out",
        ),
        (card.format != wanted, f"`format` is {card.format}, and a task of {task.output_type} is `format: {wanted}`"),
        (wanted == "choice" and not task.doc_to_choice, "`lm_eval.doc_to_choice` is missing: the options"),
        (bool(card.shown.by), "`exemplars.by` has no place beside `lm_eval`: its exemplars are those of the task"),
        (
            any("{{" in text or "{%" in text for text in fixed),
            "`description` and `gen_prefix` of `lm_eval` are texts: a template in them is not filled",
        ),
        (
            any(not pipeline.filter or pipeline.filter[-1].function != "take_first" for pipeline in task.filter_list),
            "every `filter_list` of `lm_eval` ends in take_first",
        ),
    )
    for wrong, message in problems:
        if wrong:
            raise DataError(f"{name}: {message}")


_PLAIN_SCALAR = re.compile(r"[A-Za-z_/$][A-Za-z0-9_ ./$-]{0,200}")


def yaml_scalar(value: object) -> str:
    """Return a YAML scalar in flow style: quoted as JSON wherever it could be read as anything else."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    plain = _PLAIN_SCALAR.fullmatch(text) and text == text.strip() and text.lower() not in ("null", "~")
    return text if plain or isinstance(value, int | float) else quoted(text)


def yaml_flow(value: Any) -> str:
    """Return a value of a card in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_scalar(key)}: {yaml_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml_flow, value)) + "]"
    return yaml_scalar(value)
