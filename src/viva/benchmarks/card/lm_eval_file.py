"""A task file of lm-evaluation-harness as plain data: YAML with `include`, of which nothing is executed.

Such a file is untrusted. Its size, depth and number of values are bounded before a value is made; `!function` is
kept as a name; included files must be in the folder of the task.

A card takes these fields from a task file of lm-evaluation-harness (0.4.13), under the same names.

    lm_eval:
      output_type: multiple_choice
      doc_to_text: "Question: {{question}}\nAnswer:"
      doc_to_choice: "{{choices.text}}"
      doc_to_target: "{{choices.label.index(answerKey)}}"

Only fields that decide a prompt or a score are here; the card's own fields name the rows. `viva init --from-lm-eval`
writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.io.bounded import head, yaml_document
from viva.io.tables import DOCUMENTS
from viva.visible import one_line

SEED = 1234
"""lm-eval's default seed for the choice of exemplars."""


class Filter(Struct, frozen=True, forbid_unknown_fields=True):
    """A step that transforms a reply before it is compared."""

    function: Literal["regex", "remove_whitespace", "lowercase", "uppercase", "take_first"]
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)"
    group_select: int = 0
    """Index of the match: 0 the first, -1 the last."""
    fallback: str = "[invalid]"


class Pipeline(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters in their order; the first pipeline makes the score, all of them a table."""

    name: str
    filter: list[Filter]


class Metric(Struct, frozen=True, forbid_unknown_fields=True):
    """How a reply is compared (exact_match), or which option counts (acc, acc_norm, acc_bytes)."""

    metric: Literal["exact_match", "acc", "acc_norm", "acc_bytes"]
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False
    regexes_to_ignore: list[str] = []


class Shown(Struct, frozen=True, forbid_unknown_fields=True):
    """How exemplars are chosen and written, where that differs from the question."""

    sampler: Literal["default", "first_n"] = "default"
    """`default` draws different ones for every question, by lm-eval's random generator."""
    seed: int = SEED
    without_question: bool = False
    """Whether the question itself is excluded from its exemplars, because both are from one split."""
    samples: list[dict[str, str]] = []
    """The exemplars themselves, in place of a split."""
    doc_to_text: str = ""
    doc_to_target: str = ""
    doc_to_choice: str | list[str] = ""
    gen_prefix: str | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None


class Generation(Struct, frozen=True, forbid_unknown_fields=True):
    """The texts at which a reply ends."""

    until: list[str] = []


class LmEvalTask(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a task that decide its prompts and its score."""

    output_type: Literal["multiple_choice", "generate_until"]
    doc_to_text: str
    doc_to_target: str
    doc_to_choice: str | list[str] = ""
    description: str = ""
    gen_prefix: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    num_fewshot: int | None = None
    fewshot_config: Shown = Shown()
    generation_kwargs: Generation = Generation()
    filter_list: list[Pipeline] = []
    metric_list: list[Metric] = []


def joined(before: str, after: str, delimiter: str) -> str:
    """Return two texts joined by a delimiter, unless one of them is empty or has white space there."""
    if before and after and not (before[-1].isspace() or after[0].isspace()):
        return before + delimiter + after
    return before + after


MOST_VALUES, MOST_FILES = 50_000, 20
_LOOKED_AT = 1 << 16
"""Bytes that are searched for the kind of a task."""
_TASK = re.compile(rb"^(?:doc_to_text|output_type)[ \t]*:", re.MULTILINE)


class Function(Struct, frozen=True):
    """The name of a Python function, which is never called."""

    name: str


class TextFields(Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields that make texts: of a task, and of its exemplars if they differ."""

    doc_to_text: str | int | None = None
    doc_to_target: str | int | list[str] | None = None
    doc_to_choice: str | list[str] | dict[str, str] | None = None
    gen_prefix: str | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None


TEXTS = tuple(field.name for field in msgspec.structs.fields(TextFields))


class ShownFields(TextFields, forbid_unknown_fields=True, kw_only=True):
    """The fields of `fewshot_config`."""

    doc_to_text: str | None = None
    sampler: str = "default"
    split: str | None = None
    samples: list[dict[str, str]] | None = None
    fewshot_indices: Any = None
    process_docs: Any = None


class FilterFields(Struct):
    """A pipeline of `filter_list`."""

    name: str
    filter: list[dict[str, Any]]


class GenerationFields(Struct):
    """`generation_kwargs`, as far as a run has an option for them."""

    until: str | list[str] | None = None
    max_gen_toks: int = 256
    max_new_tokens: int | None = None
    do_sample: bool = False
    temperature: float = 0.0
    top_p: float | None = None
    num_beams: int = 1


class DatasetFields(Struct):
    """`dataset_kwargs`, as far as they say where files are."""

    data_files: str | list[str] | dict[str, str | list[str]] | None = None


class TaskFields(TextFields, forbid_unknown_fields=True, kw_only=True):
    """The fields of a task file of lm-eval 0.4.13."""

    task: str
    output_type: str = "generate_until"
    description: str | None = None
    num_fewshot: int | None = None
    fewshot_config: ShownFields | None = None
    generation_kwargs: GenerationFields | None = None
    filter_list: list[FilterFields] | None = None
    metric_list: list[dict[str, Any]] | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: DatasetFields | None = None
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    repeats: int | None = None
    metadata: Any = None
    use_prompt: Any = None
    doc_to_image: Any = None
    doc_to_audio: Any = None
    # Fields that decide neither prompt nor score:
    task_alias: Any = None
    tag: Any = None
    should_decontaminate: Any = None
    doc_to_decontamination_query: Any = None
    unsafe_code: Any = None
    # Python only; null where a file resets an included value:
    process_docs: None = None
    process_results: None = None
    custom_dataset: None = None

    @property
    def shown(self) -> ShownFields:
        """How exemplars are chosen and written."""
        return self.fewshot_config or ShownFields()

    @property
    def shown_split(self) -> str | None:
        """The split of the exemplars, if the file names one."""
        return self.shown.split if self.shown.split is not None else self.fewshot_split


_INSTEAD = {
    "process_docs": "apply it to the rows yourself, save them as JSONL, and remove the line",
    "process_results": "remove the line if exact_match or acc is what you want",
    "custom_dataset": "save the rows that it makes as JSONL",
}
"""Advice on a function, by its field."""


def is_task(path: Path) -> bool:
    """Tell whether a YAML file is a task of lm-evaluation-harness."""
    if path.suffix.lower() not in DOCUMENTS or not path.is_file():
        return False
    return _TASK.search(head(path, _LOOKED_AT)) is not None


def read_task(path: Path) -> TaskFields:
    """Return a task's fields with those of the files that it includes; its own come first.

    Raises DataError for a file that is no single task, includes one from elsewhere, or names a Python function.
    """
    fields = _read(path, path.resolve().parent, ())
    _refuse_others(fields, path)
    fields |= {field: _named(fields[field]) for field in ("metric_list", "filter_list") if field in fields}
    for field, value in fields.items():
        if field != "doc_to_decontamination_query" and (name := _function_in(value)):
            hint = _INSTEAD.get(field, "write it as a Jinja template of columns, or put what it makes into a column")
            raise DataError(
                f"{path}: `{field}` is a Python function ({one_line(name, 80)}), and a card runs no code: {hint}"
            )
    try:
        return msgspec.convert({**fields, "doc_to_decontamination_query": None}, TaskFields)
    except msgspec.ValidationError as problem:
        raise DataError(f"{path}: lm-eval 0.4.13 has no such field or value: {problem}") from None


def _refuse_others(fields: Mapping[str, Any], path: Path) -> None:
    """Raise DataError unless the fields are those of a single task."""
    members = fields.get("task")
    if "group" in fields or isinstance(members, list):
        listed = [str(member.get("task") if isinstance(member, dict) else member) for member in members or ()]
        some = f" ({', '.join(one_line(member, 40) for member in listed[:3])}, …)" if listed else ""
        raise DataError(f"{path} is a group of tasks{some}, and a card is one: name the YAML file of a single task")
    if "class" in fields:
        raise DataError(f"{path}: the task is a Python class, which is not run: ask it with lm-eval, then `viva grade`")
    if not isinstance(members, str) or not members:
        raise DataError(f"{path} has no `task`, so that it is a part of others: name the file that includes it")


def _named(value: Any) -> Any:
    """Return a list with functions replaced by their names, since its other entries may suffice."""
    if isinstance(value, Function):
        return f"!function {value.name}"
    if isinstance(value, list):
        return [_named(item) for item in value]
    return {key: _named(item) for key, item in value.items()} if isinstance(value, dict) else value


def _function_in(value: Any) -> str:
    if isinstance(value, Function):
        return value.name
    inside: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((name for item in inside if (name := _function_in(item))), "")


def _read(path: Path, root: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    whole = path.resolve()
    if whole in above or len(above) >= MOST_FILES:
        raise DataError(f"{path}: its `include` comes back to {above[-1].name}: remove that line")
    fields = _parsed(path)
    included = fields.pop("include", None)
    above_fields: dict[str, Any] = {}
    for name in included if isinstance(included, list) else [] if included is None else [included]:
        other = whole.parent / str(name)
        if not other.resolve().is_relative_to(root):
            raise DataError(
                f"{path}: it includes {one_line(str(name), 100)}, and only files in the folder of the task are read: "
                "copy that file there, and name it in `include`"
            )
        above_fields |= {key: value for key, value in _read(other, root, (*above, whole)).items() if key != "task_list"}
    return above_fields | fields


def _parsed(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise DataError(f"there is no file {path}")
    document = yaml_document(path, _loader(), most=MOST_VALUES)
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise DataError(f"{path} is no task file of lm-evaluation-harness: a mapping with `task` belongs there")
    return document


def _loader() -> Any:
    """Return a loader like lm-eval's (YAML 1.1), with functions as their names."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_constructor("!function", lambda _, node: Function(str(node.value)))
    return Loader
