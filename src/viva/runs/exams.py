"""Opening exams, from options for a new run or from run.json; the settings that options stand for, lists of questions,
and sets to download."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import UNSET

from viva.analysis.items.itemscores import read_levels
from viva.benchmarks import (
    BENCHMARKS,
    CARD,
    CUSTOM,
    file_benchmark,
    find_benchmark,
    is_set,
    open_exam,
    parts_of,
    question_file,
)
from viva.benchmarks.card.cardmodel import read_card
from viva.benchmarks.rationale import RATIONALE_EXAM
from viva.benchmarks.wrapper import read_shard, unsharded
from viva.contracts import Exam
from viva.engine.folder import ExamRecord
from viva.errors import DataError, VivaError, flag, option
from viva.io.tables import unpacked, utf8
from viva.languages import LANGUAGES
from viva.prompting import merged, read_templates
from viva.runs.config import BUNDLED, SamplingOptions, TaskOptions
from viva.runs.progress import caller, notify
from viva.runs.score_table import QUESTION, rows_of
from viva.sources.fetching import ask_on_terminal, ensure, terminal
from viva.sources.sourcelist import data_folder, fetched_folder, find_source, set_folder
from viva.types import BenchmarkInfo, ExamSpec, Language, Response, Sampling, is_language_tag, outcome_name
from viva.visible import FORMULA

Change = Callable[[ExamSpec, Path | None, dict[str, object] | None], tuple[ExamSpec, dict[str, object] | None]]
"""Settings, question file or card, templates → settings and templates."""


def open_exams(
    benchmarks: tuple[str, ...],
    choice: TaskOptions,
    *,
    asking: bool = False,
    change: Change | None = None,
) -> list[tuple[Exam, Path | None]]:
    """Return every exam that the options ask for, with its data folder (None for the bundled sample).

    `asking`: whether models are to be asked, so that a card's settings apply where the options have none. `change`: a
    way of asking's function of the settings and templates of each exam.
    """
    names = list(dict.fromkeys(part for name in benchmarks for part in parts_of(name)))
    if choice.shard is not None:
        read_shard(choice.shard)  # before any file is read
    templates = _templates(choice.prompts, names)
    opened: list[tuple[Exam, Path | None]] = []
    for name in names:
        own = question_file(name)
        benchmark = find_benchmark(file_benchmark(own) if own else name)
        data = own or data_folder(choice.data, name)
        if benchmark.about.name == CARD and (table := _table(choice.data, name, own)) is not None:
            templates[name] = {**templates.get(name, {}), "data": str(table.resolve())}
        supported = benchmark.about.languages
        wrong = sorted({*_named(choice)} - {*supported, "all"})
        if len(names) == 1 and not benchmark.about.more_languages and wrong:
            raise VivaError(f"{name} has no language {wrong[0]!r}; it has: {', '.join(supported)}")
        own_choice = _as_its_card_says(choice, own, asking=asking) if own and benchmark.about.name == CARD else choice
        for spec in specs(own_choice, benchmark.about):
            called = (name if is_set(name) else own.stem) if own else ""
            own_spec = msgspec.structs.replace(spec, name=called, shuffle=choice.shuffle or UNSET)
            asked = templates.get(name)
            if change is not None:
                own_spec, asked = change(own_spec, own, asked)
            exam = open_exam(own_spec, data, asked)
            if choice.rubric:
                exam = with_rubric(exam, data, choice.rubric)
            if choice.strict:
                _refuse_invalid_gold(exam, name)
            if len(exam) == 0:
                raise DataError(f"{name} ({spec.language}) has no question left to ask with these options")
            opened.append((exam, data.resolve() if data else None))
    if choice.rubric:
        refuse_unused(choice.rubric, [exam.templates for exam, _ in opened])
    if choice.encoder not in (None, "none") and not any(exam.spec.encoder for exam, _ in opened):
        raise VivaError(
            f"{choice.encoder!r} compares rationales: it goes with clrbench, or with {option('rationale')}",
            field="encoder",
        )
    return opened


def _table(given: Path | None, name: str, card: Path | None) -> Path | None:
    """Return the files that a card reads in place of its own: of a set named in place of a card its folder in `given`,
    if it is there and `given` is not that folder itself ("bbh" has a folder "bbh"), or the fetched one.
    """
    if card is None or not is_set(name):
        return given
    if given:
        source, inner = find_source(name), set_folder(name, given)
        itself = any((given / source.local(file)).exists() for file in source.files)
        return inner if inner.is_dir() and not itself else given
    return ensure(name, notify, ask_on_terminal if terminal() and caller() is None else None)


def _as_its_card_says(choice: TaskOptions, path: Path, *, asking: bool) -> TaskOptions:
    """Return the options, with a card's settings where they are unset: its lm-eval task, its published exemplars."""
    card = read_card(path)
    task = card.lm_eval
    if task is None and card.shown.text and choice.shots is None:
        return msgspec.structs.replace(choice, shots=3, cot=True)  # as the card's text shows them
    if task is None:
        return choice
    shots = (task.num_fewshot or 0) if choice.shots is None else choice.shots
    by = "likelihood" if asking and task.output_type == "multiple_choice" else choice.answer_by
    return msgspec.structs.replace(choice, shots=shots, answer_by=choice.answer_by or by)


def _refuse_invalid_gold(exam: Exam, name: str) -> None:
    """Raise DataError for a set of which some questions cannot be graded."""
    kinds = Counter(defect.kind for defect in exam.defects if defect.action == "unsound")
    if kinds:
        listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common(5))
        raise DataError(
            f"{option('strict')}: {kinds.total():,} questions of {name} cannot be graded: {listed}; `viva check "
            f"{name}` lists "
            f"them, and without {option('strict')} they are asked and left unscored"
        )


def languages_of(benchmark: str) -> tuple[Language, ...]:
    """Return the languages of a benchmark or question file, by its name on the command line."""
    own = question_file(benchmark)
    return find_benchmark(file_benchmark(own) if own else benchmark).about.languages


def refuse_unused(file: Path, asked: Iterable[Mapping[str, object]]) -> None:
    """Refuse a rubric of which a part would have no effect on exams with these templates."""
    unused = read_rubric(file).keys() - {key for templates in asked for key in templates}
    if RATIONALE_EXAM in unused:
        raise DataError(
            f"the rubric file has a table [rationale], and no rationale is asked for: give {option('rationale')} too"
        )
    if unused:
        raise DataError("the rubric file has a table [answer], and a rule grades all these answers: leave it out")


def with_rubric(exam: Exam, data: Path | None, file: Path, *, again: bool = False) -> Exam:
    """Return an exam as the rubric in `file` has it judged, if it has such a judge. `again`: what is missing there is
    bundled, not as an earlier rubric had it.

    Raises DataError for a rubric that does not fit, with its keys as the file has them.
    """
    rubric = {} if str(file) == BUNDLED else read_rubric(file)
    below = (open_exam(exam.spec, data) if again else exam).templates
    own = {key: below[key] for key in rubric or ("judge", RATIONALE_EXAM) if key in below}
    if RATIONALE_EXAM in own:
        own[RATIONALE_EXAM] = {"rubric": cast("dict[str, object]", own[RATIONALE_EXAM])["rubric"]}
    over = {key: table for key, table in rubric.items() if key in own}
    try:
        return open_exam(exam.spec, data, merged(merged(dict(exam.templates), own), over))
    except DataError as problem:
        told = str(problem).replace("'judge", "'answer").replace("'rationale.rubric", "'rationale")
        raise DataError(f"{file}, for {exam.spec.benchmark}: {told}") from None


def read_rubric(path: Path) -> dict[str, object]:
    """Return a rubric file as templates of an exam: `[answer]` for the answer's judge, `[rationale]` for the
    rationale's.

    Raises DataError for a file without `name` and `version`, or otherwise invalid.
    """
    content = read_templates(path)
    for name, table in content.items():
        if name not in ("answer", "rationale") or not isinstance(table, dict):
            raise DataError(f"{path}: {name!r} belongs into a table [answer] or [rationale]: which judge is it for?")
        rubric = cast("dict[str, object]", table).get("rubric")
        if not isinstance(rubric, dict) or not {"name", "version"} <= rubric.keys():
            raise DataError(
                f"{path}: [{name}.rubric] must give a name and a version: they tell your numbers from those of others"
            )
    if not content:
        raise DataError(f"{path} holds no rubric: it needs a table [answer] or [rationale]")
    rubrics = {"judge": content["answer"]} if "answer" in content else {}
    if "rationale" in content:
        rubrics[RATIONALE_EXAM] = {"rubric": content["rationale"]}
    return rubrics


def _templates(path: Path | None, names: list[str]) -> dict[str, dict[str, object]]:
    """Return a prompt file's templates for each benchmark: a table of its name, or the whole file when there is only
    one.
    """
    if path is None:
        return {}
    content = read_templates(path)
    named = {key: cast("dict[str, object]", value) for key, value in content.items() if key in BENCHMARKS}
    if named:
        if len(named) < len(content) or not all(isinstance(value, dict) for value in named.values()):
            raise DataError(f"{path}: with a table [{next(iter(named))}], everything must stand in such tables")
        return named
    if len(names) > 1:
        raise DataError(f"{path} must say which templates are whose: put them in tables [{names[0]}], [{names[1]}]")
    return {names[0]: content}


_PASSAGE = 100
"""Characters from which a line shared by questions counts as a passage."""
_LOOKED_AT = 20_000
_FEW = 0.05
"""Share of all questions that is too small to change an interval."""


def reopen(record: ExamRecord) -> Exam:
    """Open an exam as run.json describes it. Raises DataError when its data has changed."""
    data = Path(record.data) if record.data else None
    templates: dict[str, Any] = record.templates
    if "data" in templates and not Path(templates["data"]).exists() and (here := fetched_folder(record.spec.name)):
        templates = {**templates, "data": str(here)}  # the run was made on a machine where the set has another path
    exam = open_exam(record.spec, data, templates)
    if exam.fingerprint != record.fingerprint:
        raise DataError(
            f"the data of this run has changed: {record.data or 'the bundled sample'} now has the fingerprint "
            f"{exam.fingerprint}, the run was made with {record.fingerprint}; put the old files back, or start a new "
            f"run ({option('reuse')} takes over what still fits)"
        )
    return exam


def remember(exam: Exam, data: Path | None) -> ExamRecord:
    """Return an exam's record for run.json."""
    record = ExamRecord(
        spec=exam.spec,
        data=str(data) if data else None,
        fingerprint=exam.fingerprint,
        questions=len(exam),
        version=find_benchmark(exam.spec.benchmark).about.version,
        templates=dict(exam.templates),
        exemplar_golds={group: dict(golds) for group, golds in exam.exemplar_golds.items()},
    )
    note_judged(record, exam)
    return record


def note_judged(record: ExamRecord, exam: Exam) -> None:
    """Complete a record: tell whether a question of the exam asks judges, of a shard also one of the others."""
    if record.judged is None:
        record.judged = bool(not record.asks_judges or exam.spec.rationale) or any(
            exam.judgements(each, Response(text=each.answer or "?"), 1, {}) for each in unsharded(exam).questions()
        )


def sample_note(exams: Sequence[tuple[str, int]]) -> str:
    """Return one sentence: that these exams (label, number of questions) ask the bundled samples."""
    if len(exams) == 1:
        ((name, count),) = exams
        return f"{name}: Viva's own bundled sample of {count} questions, not the published set ({flag('data', 'DIR')})."
    named = ", ".join(f"{name} ({count:,})" for name, count in exams)
    return f"{named}: Viva's own bundled samples, not the published sets ({flag('data', 'DIR')})."


def data_notes(exam: Exam, data: Path | None) -> list[str]:
    """Return notes on an exam's data that matter for trusting its scores."""
    return [*([sample_note([(exam.spec.label, len(exam))])] if data is None else []), *set_notes(exam)]


def set_notes(exam: Exam) -> list[str]:
    """Return the notes that do not depend on the folder: the part of the set that is asked, and its defects."""
    notes: list[str] = []
    spec = exam.spec
    name = spec.label
    if spec.shard:
        notes.append(
            f"{name}: shard {spec.shard} alone, {len(exam):,} of {len(unsharded(exam)):,} questions: these tables "
            "are of that part; `viva merge` makes the whole run of all its shards."
        )
    if spec.vary is not UNSET:
        notes.append(
            f"{name}: every question is asked in {spec.vary.words} (cells); the score is the mean of all; "
            "`viva variance RUN` says what each of these moves."
        )
    if spec.questions:
        notes.append(
            f"{name}: only the {len(exam)} questions listed with {flag('questions')}; their mean is no estimate "
            "of the whole "
            f"exam's score (of anchors, `viva item-analysis {flag('predict')}` makes one)."
        )
    if shared := _shared_texts(exam):
        notes.append(f"{name}: {shared}")
    if counted := Counter((defect.kind, defect.action) for defect in exam.defects):
        defects = ", ".join(f"{kind} {count} ({outcome_name(action)})" for (kind, action), count in counted.items())
        listed = spec.benchmark if spec.benchmark in BENCHMARKS else name if is_set(name) else f"{name}.yaml"
        notes.append(f"{name}: defects in the data: {defects}; `viva check {listed}` lists them.")
        if spec.benchmark in (CARD, CUSTOM) and any(action == "unsound" for _, action in counted):
            sound = sum(question.answer is not None for question in exam.questions())
            notes.append(f"{name}: scored are {sound:,} sound questions of {len(exam):,}.")
    return notes


@functools.lru_cache(maxsize=4)
def _shared_texts(exam: Exam) -> str:
    """Return a note where questions belong together: by clusters, or by a paragraph that more than a few share.

    A paragraph that most questions have is taken for an instruction.
    """
    from viva.analysis.estimate import clusters_text

    owners = Counter[int]()
    of_each: list[set[int]] = []
    clusters: set[str] = set()
    for question in itertools.islice(exam.questions(), _LOOKED_AT):
        of_each.append({hash(text) for text in question.text.splitlines() if len(text) >= _PASSAGE})
        clusters.add(question.cluster or question.id)
        owners.update(of_each[-1])
    if len(clusters) < len(of_each):
        return clusters_text(len(clusters))
    most = max(2.0, len(of_each) / 2)
    shared = sum(any(1 < owners[text] <= most for text in own) for own in of_each)
    if shared < _FEW * len(of_each):
        return ""
    return (
        f"{shared:,} questions share a text with others, and no `cluster` says so: intervals and tests take each for "
        "an observation, and are too narrow (`viva docs data`)."
    )


def _named(choice: TaskOptions) -> list[Language]:
    return list(dict.fromkeys(part.strip() for given in choice.language for part in given.split(",") if part.strip()))


def languages(choice: TaskOptions, supported: tuple[Language, ...], *, more: bool = False) -> list[Language]:
    """Return the languages asked for, of those `supported`; the first by default. With `more`, any language is allowed.

    Raises VivaError for an unknown one.
    """
    named = _named(choice)
    for name in named:
        if name not in ("all", *LANGUAGES) and not (more and is_language_tag(name)):
            raise VivaError(
                f"{name!r} is unknown; there are {', '.join(LANGUAGES)}, all (Chinese is zh)", field="language"
            )
    return list(supported) if "all" in named else named or [supported[0]]


def specs(choice: TaskOptions, about: BenchmarkInfo) -> list[ExamSpec]:
    """Return an exam's settings for each language asked for. A benchmark of one language is asked in that one."""
    supported = about.languages
    encoder = about.encoder if choice.encoder is None else choice.encoder
    wanted = languages(choice, supported, more=about.more_languages) if len(supported) > 1 else list(supported)
    listed = read_listed(choice.questions) if choice.questions else ()
    return [
        ExamSpec(
            benchmark=about.name,
            language=language,
            shots=about.default_shots if choice.shots is None else choice.shots,
            chain_of_thought=choice.cot,
            form=choice.form,
            only=choice.only,
            limit=choice.limit,
            seed=choice.seed or 0,
            as_published=choice.as_published,
            extraction=choice.extraction,
            context=choice.context,
            rationale=choice.rationale,
            encoder="" if encoder == "none" else encoder,
            panel=choice.panel,
            choose=choice.answer_by or "",
            questions=listed,
            shard=choice.shard or "",
        )
        for language in wanted
    ]


def sampling(draw: SamplingOptions, seed: int | None, paper: Sampling | None = None) -> Sampling:
    """Return the sampling that `draw` describes, with the paper's values where unset.

    Raises VivaError for an invalid temperature.
    """
    paper = paper or Sampling()
    temperature = paper.temperature
    if draw.temperature in ("server", "none"):
        temperature = None
    elif draw.temperature is not None:
        try:
            temperature = float(draw.temperature)
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature <= 10:
            raise VivaError(f"{draw.temperature!r} is neither a number from 0 on nor `server`", field="temperature")
    # The paper's top-p belongs to its temperature: with another temperature it is sent only if asked for.
    top_p = draw.top_p if draw.top_p is not None or draw.temperature is not None else paper.top_p
    return Sampling(temperature=temperature, top_p=top_p, max_tokens=draw.max_tokens or paper.max_tokens, seed=seed)


def read_listed(path: Path) -> tuple[str, ...]:
    """Return the ids in a file, in order, each once. Raises DataError where file, column of ids or ids are missing."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    ids = _of_rows(path) if kind in ("csv", "jsonl") else _of_lines(path)
    if not ids:
        raise DataError(f"{path} lists no questions; write an id a line, or rows with a column `question`")
    return tuple(dict.fromkeys(ids))


def read_level_file(path: Path) -> dict[str, int]:
    """Return question → its published level of difficulty. Raises DataError with the line for unreadable content."""
    return read_levels(utf8(unpacked(path, "file of levels"), f"cannot read the file of levels {path}"), str(path))


def _of_rows(path: Path) -> list[str]:
    ids: list[str] = []
    for line, row in rows_of(path):
        value = next((row[name] for name in QUESTION if name in row), None)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            raise DataError(f"{path}, line {line}: no id of a question; it needs a column {QUESTION[1]!r}")
        ids.append(unguarded(str(value)))
    return ids


def unguarded(text: str) -> str:
    """Return a CSV field without the escape that `viva.visible.csv_safe` adds."""
    return text[1:] if text.startswith("'") and text.startswith(FORMULA, 1) else text


def _of_lines(path: Path) -> list[str]:
    text = utf8(unpacked(path, "list of questions"), f"cannot read the list of questions {path}")
    return [line.strip() for line in text.splitlines() if line.strip()]


def drawn(exam: ExamRecord, draw: SamplingOptions, seed: int | None) -> ExamRecord:
    """Return the exam with its paper's sampling, where that is special and the user set none."""
    about = find_benchmark(exam.spec.benchmark).about
    paper = (about.few_shot if exam.spec.shots else None) or about.draws
    own = sampling(draw, seed, paper.sampling)
    return msgspec.structs.replace(
        exam,
        samples=paper.samples if draw.samples is None and paper.samples != 1 else None,
        sampling=own if own != sampling(draw, seed) else None,
    )
