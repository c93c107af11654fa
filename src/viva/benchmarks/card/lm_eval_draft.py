"""`viva init --from-lm-eval`: from a task file of lm-evaluation-harness to a card that asks and scores the same.

Fields without a counterpart are reported in one sentence with what to do; nothing is dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks import CARD, open_exam
from viva.benchmarks.card.cardmodel import parse_card
from viva.benchmarks.card.draft import pointed
from viva.benchmarks.card.lm_eval_file import (
    TEXTS,
    Filter,
    GenerationFields,
    Metric,
    TaskFields,
    TextFields,
    read_task,
)
from viva.benchmarks.custom.positions import quoted
from viva.errors import DataError, VivaError, flag, option
from viva.files import write_whole
from viva.io.tables import SPLITS, plain_stem
from viva.types import ExamSpec
from viva.visible import one_line

_BUILDERS = ("json", "csv", "parquet", "arrow")
"""Values of `dataset_path` that name a form of local files."""
_OUTPUTS = {
    "loglikelihood_rolling": "`viva perplexity` computes the perplexity of texts",
    "loglikelihood": "where the text that follows is one of several, write the others as `doc_to_choice` with "
    "`output_type: multiple_choice`",
}
_METRICS = {"generate_until": ("exact_match",), "multiple_choice": ("acc", "acc_norm", "acc_bytes")}
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+)?")


class Place(Struct, frozen=True):
    """Where the rows and the exemplars are: paths as in the card, or splits of a folder."""

    data: str | list[str] = ""
    split: str = ""
    shown: Mapping[str, Any] = {}


class Converted(Struct):
    """A task's fields for a card, the options for a run, and notes on what was left out."""

    task: dict[str, Any]
    options: list[str]
    notes: list[str]


def init_from_lm_eval(path: Path, data: Path | None, out: Path | None = None) -> str:
    """Write the card of a task; return a message.

    Raises DataError for what a card cannot express, VivaError where a file exists already.
    """
    fields = read_task(path)
    converted = convert(fields, path)
    card = out or Path(re.sub(r"[^A-Za-z0-9._-]+", "-", fields.task).strip("-.")[:100] + ".yaml")
    if card.exists():
        raise VivaError(f"{card} is there already: name another file with {option('out')}, or remove it")
    place = _place(fields, path, data, card)
    content = _text(path, fields, converted.task, place)
    parsed = parse_card(content.encode(), str(card))
    write_whole(card, content.encode())
    command = f"as lm-eval asks: {' '.join(['viva run', str(card), *converted.options, '--model MODEL'])}"
    if not place.data:
        return "\n".join([f"{card}: {parsed.format}; {_without_data(fields)}", *converted.notes, command])
    try:
        exam = open_exam(ExamSpec(benchmark=CARD, name=fields.task, form="base"), card)
    except DataError:
        card.unlink()
        raise
    if shots := fields.num_fewshot:
        try:
            open_exam(ExamSpec(benchmark=CARD, name=fields.task, shots=shots, form="base"), card)
        except DataError as problem:
            converted.notes.append(
                f"its {shots} exemplars are not there yet ({problem}); {flag('shots', '0')} asks without them"
            )
    sound = sum(question.answer is not None for question in exam.questions())
    summary = f"{card}: {parsed.format}, {sound:,} of {len(exam):,} questions are sound; `viva check {card}` says more"
    return "\n".join([summary, *converted.notes, command])


def convert(fields: TaskFields, path: Path) -> Converted:
    """Return the fields of a task that decide prompts and score. Raises DataError for what a card cannot express."""
    if fields.output_type not in _METRICS:
        hint = _OUTPUTS.get(fields.output_type, "there are generate_until and multiple_choice")
        raise DataError(f"{path}: Viva has no `output_type: {one_line(fields.output_type, 40)}`; {hint}")
    if fields.use_prompt or fields.doc_to_image or fields.doc_to_audio:
        raise DataError(
            f"{path}: a card has texts alone: write the prompt in `doc_to_text`, without prompts of others, "
            "images and sound"
        )
    if isinstance(fields.doc_to_text, int):
        raise DataError(
            f"{path}: `doc_to_text` is a number, so that every option makes a prompt of its own, which Viva does not "
            "ask; put what they have in common into `doc_to_text`, and the rest into `doc_to_choice`"
        )
    if fields.doc_to_text is None or fields.doc_to_target is None:
        raise DataError(f"{path}: `doc_to_text` or `doc_to_target` is missing: what prompt and answer are made of")
    notes: list[str] = []
    task: dict[str, Any] = {"output_type": fields.output_type, **_texts(fields)}
    task |= {"description": fields.description} if fields.description else {}
    task |= {"num_fewshot": fields.num_fewshot} if fields.num_fewshot is not None else {}
    if shown := _fewshot(fields, path, notes):
        task["fewshot_config"] = shown
    options = ["--form base"]
    if fields.output_type == "generate_until":
        task["generation_kwargs"], drawn = _generation(fields, notes)
        options += drawn
        if pipelines := _pipelines(fields, path, notes):
            task["filter_list"] = pipelines
    task["metric_list"] = _metrics(fields, path, notes)
    return Converted(task, options, notes)


def _texts(fields: TextFields) -> dict[str, Any]:
    """Return the non-empty fields that make texts, in a card's form."""
    texts: dict[str, Any] = {}
    for name in TEXTS:
        value = getattr(fields, name)
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, int) or (isinstance(value, list) and name == "doc_to_target"):
            value = str(value)  # a text that spells a number or list counts as one
        if value is not None:
            texts[name] = value
    return texts


def _fewshot(fields: TaskFields, path: Path, notes: list[str]) -> dict[str, Any]:
    given = fields.shown
    fewshot = _texts(given)
    if given.sampler not in ("default", "first_n"):
        named = one_line(repr(given.sampler), 40)
        raise DataError(f"{path}: Viva has no sampler {named}; there are `default` and `first_n`")
    if given.sampler != "default":
        fewshot["sampler"] = given.sampler
    if given.fewshot_indices:
        notes.append("`fewshot_indices` is left out, as lm-eval 0.4.13 does")
    if fields.shown_split == fields.test_split:
        fewshot["without_question"] = True
    if given.samples and fields.shown_split is None:
        fewshot["samples"] = given.samples
    return fewshot


def _generation(fields: TaskFields, notes: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the ends of a reply, and options of `viva run` for the other sampling settings."""
    given = fields.generation_kwargs or GenerationFields()
    delimiter = "\n\n" if fields.fewshot_delimiter is None else fields.fewshot_delimiter
    until = delimiter if given.until is None else given.until
    options = [f"{flag('max_tokens')} {given.max_new_tokens or given.max_gen_toks}"]
    if given.do_sample and given.temperature:
        options.append(f"{flag('temperature')} {given.temperature:g}")
        options += [f"{flag('top_p')} {given.top_p:g}"] if given.top_p else []
    if given.num_beams != 1:
        notes.append(f"`num_beams: {given.num_beams}` is left out: replies are drawn without beam search")
    return {"until": [until] if isinstance(until, str) else until}, options


def _pipelines(fields: TaskFields, path: Path, notes: list[str]) -> list[dict[str, Any]]:
    pipelines: list[dict[str, Any]] = []
    left = ""
    for pipeline in fields.filter_list or ():
        names = ", ".join(str(step.get("function")) for step in pipeline.filter)
        try:
            read = msgspec.convert(pipeline.filter, list[Filter])
            why = "" if read and read[-1].function == "take_first" else "it does not end in take_first"
        except msgspec.ValidationError as problem:
            why = str(problem)
        if why:
            left = f"{one_line(pipeline.name, 40)!r} ({one_line(names, 80)}): {one_line(why, 200)}"
            notes.append(f"left out is the filter {left}")
        else:
            pipelines.append({"name": pipeline.name, "filter": pipeline.filter})
    if left and not pipelines:
        raise DataError(
            f"{path}: Viva has not the filter {left}; there are regex, remove_whitespace, lowercase, uppercase"
        )
    if pipelines and fields.repeats not in (1, None):
        notes.append(f"`repeats: {fields.repeats}` is left out: take_first looks at the first reply alone")
    return pipelines


def _metrics(fields: TaskFields, path: Path, notes: list[str]) -> list[dict[str, Any]]:
    """Return the metrics that Viva supports. Raises DataError where there is none."""
    wanted = _METRICS[fields.output_type]
    given = fields.metric_list or [{"metric": name} for name in wanted[:2]]
    names = [str(metric.get("metric")) for metric in given]
    kept = [
        metric for metric in given if metric.get("metric") in wanted and metric.get("aggregation", "mean") == "mean"
    ]
    if not kept:
        raise DataError(
            f"{path}: Viva has none of its metrics ({one_line(', '.join(names), 80)}); for {fields.output_type} it has "
            f"{', '.join(wanted)}: name one of these in `metric_list`"
        )
    if left := [name for name in names if name not in [metric["metric"] for metric in kept]]:
        notes.append(f"left out are the metrics {one_line(', '.join(left), 80)}")
    known = {field.name for field in msgspec.structs.fields(Metric)}
    return [
        {key: metric[key] for key in metric if key in known and metric[key] not in (None, False)} for metric in kept
    ]


def _place(fields: TaskFields, path: Path, data: Path | None, card: Path) -> Place:
    """Return where the rows are: the user's data, else the task's own if it is local."""
    asked = fields.test_split or fields.validation_split
    if not asked:
        raise DataError(f"{path}: it has neither `test_split` nor `validation_split`: say which rows are asked")
    split = fields.shown_split or fields.training_split or fields.validation_split or asked
    shown = "" if fields.shown.samples and fields.shown_split is None else split
    if data is None and fields.dataset_path in _BUILDERS:
        files = _local_files(fields, path)
        if asked not in files:
            raise DataError(f"{path}: `data_files` has {', '.join(files)}, and the split that is asked is {asked!r}")
        exemplars = _listed(files[shown], card) if shown in files else ""
        if isinstance(exemplars, list):
            raise DataError(
                f"{path}: the split {shown!r} is several files: put them together, or into a folder `{shown}`"
            )
        return Place(_listed(files[asked], card), "", {"data": exemplars} if exemplars else {})
    if data is None and fields.dataset_path:
        places = (Path(fields.dataset_path), path.parent / fields.dataset_path)
        data = next((place for place in places if place.is_dir()), None)
    by_split = {"split": shown} if shown else {}
    if data is None:
        return Place("", asked, by_split)
    if data.is_dir():
        below = data / (fields.dataset_name or "")
        folder = below if below.is_dir() and below.resolve().is_relative_to(data.resolve()) else data
        if asked in SPLITS and (not shown or shown in SPLITS):
            return Place(pointed(folder, card), asked, by_split)
        return Place(_of_split(folder, asked, card), "", {"data": _of_split(folder, shown, card)} if shown else {})
    if not data.exists():
        raise DataError(f"there is no file or folder {data}")
    beside = [data] if shown == asked else [file for file in data.parent.iterdir() if plain_stem(file) == shown]
    return Place(pointed(data, card), "", {"data": pointed(beside[0], card)} if len(beside) == 1 else {})


def _of_split(folder: Path, split: str, card: Path) -> str:
    """Return the files of a split whose name says more than which split it is ("test_r1"), as a pattern."""
    return pointed(folder / "**" / (re.sub(r"[^\w-]", "?", split) + "[-.]*"), card)


def _local_files(fields: TaskFields, path: Path) -> dict[str, list[Path]]:
    """Return split → local files. Raises DataError for missing ones."""
    given = fields.dataset_kwargs.data_files if fields.dataset_kwargs else None
    if not given:
        raise DataError(
            f"{path}: `dataset_kwargs.data_files` is missing: name the rows before {option('from_lm_eval')}"
        )
    by_split: dict[str, list[Path]] = {}
    for split, names in (given if isinstance(given, dict) else {"train": given}).items():
        for name in [names] if isinstance(names, str) else names:
            there = next((candidate for candidate in (Path(name), path.parent / name) if candidate.exists()), None)
            if there is None:
                raise DataError(
                    f"{path}: there is no file {one_line(name, 100)}, which `data_files` names: put it there, or name "
                    f"the rows before {option('from_lm_eval')}"
                )
            by_split.setdefault(split, []).append(there)
    return by_split


def _listed(files: Sequence[Path], card: Path) -> str | list[str]:
    names = [pointed(file, card) for file in files]
    return names[0] if len(names) == 1 else names


def _without_data(fields: TaskFields) -> str:
    """Return advice for a task whose rows are not local."""
    name = fields.dataset_path or ""
    if not _REPOSITORY.fullmatch(name):
        return f"its rows are {one_line(name, 80)!r}: name them as `data` in the card, or with {flag('data')}"
    part = f" (in it {one_line(fields.dataset_name, 40)})" if fields.dataset_name else ""
    return (
        f"its rows are a data set of Hugging Face: `hf download {name} --repo-type dataset --local-dir DIR`, then name "
        f"DIR{part} as `data` in the card, or with {flag('data')}"
    )


def _text(path: Path, fields: TaskFields, task: Mapping[str, Any], place: Place) -> str:
    """Return the card as YAML."""
    version = fields.metadata.get("version") if isinstance(fields.metadata, dict) else None
    which = f", version {one_line(str(version), 20)}" if version is not None else ""
    data = f"data: {quoted(place.data)}" if place.data else ""
    split = f"split: {quoted(place.split)}" if place.split else ""
    lines = [
        f"# The task {one_line(fields.task, 80)} of lm-evaluation-harness{which} ({one_line(path.name, 80)}). `viva "
        "docs data` says what is what.",
        f"title: {quoted(fields.task)}",
        *filter(None, (data, split)),
        f"format: {'choice' if task['output_type'] == 'multiple_choice' else 'exact'}",
        *([f"exemplars: {quoted(place.shown)}"] if place.shown else []),
        "lm_eval:",
        *(f"  {key}: {quoted(value)}" for key, value in task.items()),
    ]
    return "\n".join(lines) + "\n"
