"""A run's session: plan, checks before anything is asked, then begin, resume or judge again, carry out, grade.

Everything that asks models for a run goes through a `Session`, and so do answers collected elsewhere; an experiment
that asks in another way defines a `Way`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.contracts import Exam, Model
from viva.engine.folder import ExamRecord, ModelRecord, RunFolder, RunRecord, new_run_path
from viva.errors import MissingEncoderError, VivaError, option
from viva.fields import changed
from viva.models.replay import Replay
from viva.plugins import load, registered
from viva.providers import DTYPES, RequestOptions, provider_of, traits_of
from viva.render.result import Report
from viva.runs.ask import refuse_unbatched
from viva.runs.checks import check_supported, refuse_unopened
from viva.runs.collected import (
    Collected,
    check_gaps,
    collect,
    draws_order,
    language_of,
    look_for_golds,
    refuse_strangers,
    samples_and_repeats,
)
from viva.runs.config import (
    BUNDLED,
    NOT_IN_RUNS,
    GradePlan,
    JudgeOptions,
    LimitOptions,
    ModelOptions,
    OutputOptions,
    RejudgeOptions,
    ResumePlan,
    RunPlan,
    ServerOptions,
    WeightsOptions,
    refuse_unjudged,
)
from viva.runs.exams import drawn, languages_of, open_exams, refuse_unused, remember, reopen, sampling, with_rubric
from viva.runs.execute import execute_run
from viva.runs.model_names import (
    HF,
    Named,
    existing,
    named_models,
    placed,
    read_checkpoints,
    resolve_path,
    separate_benchmarks_and_models,
    split_revision,
)
from viva.runs.open import (
    OpenRun,
    confirm_endpoints,
    keep_approval,
    open_encoder_of,
    prepare,
    read_environment,
)
from viva.runs.progress import notify
from viva.runs.request_fields import judge_request_options, request_options
from viva.runs.scorefile import open_run_folder
from viva.runs.scoring import grade_run, refuse_unknown, settings_of
from viva.types import ExamSpec, Question, VerdictFormat
from viva.version import __version__

Own = Mapping[str, Model]
"""Open models, by their names in run.json."""


def plan_run(plan: RunPlan, own: Mapping[str, Model], way: Way, *, asking: bool) -> tuple[OpenRun, list[RunFolder]]:
    """Return the planned run, and the runs to reuse answers from. Nothing is asked or written yet.

    `own`: open models by their names in run.json, asked in addition to those that the plan names. Keys are needed only
    if `asking`. Raises VivaError for an impossible plan.
    """
    choice, draw, limits, judging = plan.task, plan.draw, plan.limits, plan.judging
    read_environment(limits.env_file)
    opening, reach = plan.usual.weights, plan.usual.reach
    benchmarks, typed = separate_benchmarks_and_models(plan.benchmarks, plan.models)
    checkpoints = read_checkpoints(reach.checkpoints) if reach.checkpoints else None
    named = [] if own and not typed else named_models(typed, opening.revision, checkpoints, plan.own)
    models = (*(each_model.name for each_model in named), *own)
    if any(each_model.name.startswith("replay/") for each_model in named) and (
        drawing := [*filter(draws_order, benchmarks)]
    ):
        notify(
            f"{drawing[0]} puts options in an order of Viva's own, and letters in a file are read by that: of answers "
            f"collected elsewhere `viva grade {drawing[0]} FILE` asks for the order"
        )
    refuse_unjudged(choice, judging)
    refuse_unopened(opening, choice.form, models)
    exams_with_data = open_exams(tuple(benchmarks), choice, asking=True, change=way.exam)
    exams = [exam for exam, _ in exams_with_data]
    _check_addresses(models, judging, reach)
    refuse_unknown(plan.rows.published_rows, [(exam.spec, data is None) for exam, data in exams_with_data])
    system = request_options(plan.usual.server, limit_kept=False).system if own else ""
    limit_kept = draw.max_tokens is not None or choice.as_published
    _refuse_unasked(plan.usual.server, models, own)
    record = _new_record(
        plan,
        plan=plan.kept(NOT_IN_RUNS),
        exams=[drawn(remember(exam, data), draw, choice.seed) for exam, data in exams_with_data],
        models=[
            *(_record(each_model, plan, limit_kept=limit_kept) for each_model in named),
            *(
                ModelRecord(name=name, shown=model.name, request=RequestOptions(system=system) if system else None)
                for name, model in own.items()
            ),
        ],
        judges=judge_records(judging, reach.base_url, reach.api_key_env, models),
        samples=draw.samples or 1,
        repeats=draw.repeats,
        seed_rule="per question",
        sampling=sampling(draw, choice.seed),
    )
    record, kept = way.plan(way.judging(record, exams), exams, limits)
    names = [Path(name).stem for name in dict.fromkeys(benchmarks)]
    names += [f"shard-{choice.shard.replace('/', '-of-')}"] if choice.shard else []
    path = plan.folder.run or new_run_path(Path("runs"), "-".join(names))
    # Everything that can be refused is refused before a folder is made or a question is asked.
    # An estimate sends nothing, so it needs no key.
    opened = prepare(RunFolder(path, record), limits, exams, own, asking=asking)
    opened.kept |= kept
    _remember_all(opened)
    refuse_unbatched(opened)
    return opened, [open_run_folder(path) for path in plan.folder.reuse]


def _new_record(settled: RunPlan | GradePlan, **more: Any) -> RunRecord:
    """Return run.json of a new run: what the plan says, and `more` fields."""
    return RunRecord(
        viva=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=[*settled.command],
        judge_samples=settled.judging.judge_samples,
        verdicts=settled.judging.verdicts,
        seed=settled.task.seed or 0,
        limits=settled.limits.of_run(),
        **more,
    )


def _remember_all(opened: OpenRun) -> None:
    """Store in run.json what is known of the open models and judges."""
    record = opened.folder.record
    record.models = [remembered(model, known) for known, model in zip(record.models, opened.models, strict=True)]
    remember_judges(record, opened)


def begin(opened: OpenRun, plan: RunPlan) -> OpenRun:
    """Make the last checks, then the run folder; return the opened run.

    Baselines are not worth a download: where a benchmark's default encoder is missing, they are graded without it.
    Raises VivaError for questions that cannot be asked or graded.
    """
    samples = self_test(opened.exams)
    check_supported(opened, samples)
    try:
        open_encoder_of(opened, new=True)
    except MissingEncoderError as problem:
        if plan.task.encoder is not None or any(
            model.identity.get("provider") != "baseline" for model in opened.models
        ):
            raise
        notify(f"similarity to the gold rationale is left out, and a judge alone could grade those: {problem}")
        opened = _without_encoder(opened)
    create_folder(opened)
    return opened


def _without_encoder(opened: OpenRun) -> OpenRun:
    """Return the same run with exams without an encoder; models and judges stay open."""
    folder = opened.folder
    folder.record, exams = rejudge(folder.record, RejudgeOptions(encoder="none"), folder.record.judges)
    own = {model.name: opened_model for model, opened_model in zip(folder.record.models, opened.models, strict=True)}
    again = prepare(folder, opened.limits, exams, own, asking=True)
    again.kept = opened.kept
    return again


def create_folder(opened: OpenRun) -> None:
    """Create the folder of a new run, with the user's approval of its addresses. Raises StorageError.

    Kept files are written before run.json, so that a run killed in between can be resumed, or begun again.
    """
    folder = opened.folder
    if not (folder.path / "run.json").exists():
        folder.keep(opened.kept)
    opened.folder = RunFolder.create(folder.path, folder.record)
    keep_approval(opened.folder)


def rejudge_records(record: RunRecord, rejudging: RejudgeOptions) -> list[ModelRecord]:
    """Return the judges named, or the run's. A judge of the run keeps its address and key, unless one is given."""
    known = {judge.name: judge for judge in record.judges}
    names = rejudging.judge or tuple(known)
    if not names and (rejudging.judge_base_url or rejudging.judge_key_env):
        raise VivaError(
            f"this run has no judge: {option('judge_base_url')} and {option('judge_key_env')} need "
            f"{option('judge', 'MODEL')}"
        )
    judging = JudgeOptions(judge=names, judge_base_url=rejudging.judge_base_url, judge_key_env=rejudging.judge_key_env)
    # A new judge has the address of the old ones, else that of the models, and only that address's key.
    reached = [judge for judge in record.judges if judge.base_url] or [
        model for model in record.models if model.base_url
    ]
    places = {(model.base_url, model.key_variable) for model in reached}
    strangers = [name for name in names if name not in known and traits_of(name).served and "@http" not in name]
    if strangers and len(places) > 1 and not rejudging.judge_base_url:
        raise VivaError(
            f"which server is {strangers[0]} on? {option('judge_base_url', 'URL')}, or {option('judge')} "
            f"{strangers[0]}@URL"
        )
    address, key = places.pop() if len(places) == 1 else (None, None)
    records = judge_records(judging, address, key, tuple(model.name for model in reached))
    if rejudging.judge_base_url or rejudging.judge_key_env:
        return records
    return [known.get(judge.name, judge) for judge in records]


def _check_addresses(models: tuple[str, ...], judging: JudgeOptions, reach: ModelOptions) -> None:
    """Refuse an unused address or key, and one that would go to several vendors."""
    asked = [*models, *judging.judge]
    vendors = [name for name in dict.fromkeys(map(provider_of, models)) if traits_of(name).paid]
    if judging.judge_base_url is not None and not judging.judge_base_url.strip():
        raise VivaError("is empty: give the judge's server, or leave it out", field="judge_base_url")
    if reach.base_url and not any(traits_of(name).served for name in asked):
        raise VivaError(
            f"is for openai/ models (any OpenAI-compatible server); here is only {models[0]}", field="base_url"
        )
    if reach.api_key_env and len(vendors) > 1:
        raise VivaError(
            f"would send one key to {' and '.join(vendors)}; put each key in its own variable", field="api_key_env"
        )


def judge_records(
    judging: JudgeOptions, base_url: str | None, key_variable: str | None, models: tuple[str, ...] = ()
) -> list[ModelRecord]:
    """Return the judges for run.json."""
    return [_judge_record(name, judging, base_url, key_variable, models) for name in dict.fromkeys(judging.judge)]


def _judge_record(
    name: str, judging: JudgeOptions, base_url: str | None, key_variable: str | None, models: tuple[str, ...]
) -> ModelRecord:
    # A key goes only to its own address, not to a judge at another one.
    vendors = {examinee.partition("/")[0] for examinee in models}
    elsewhere = judging.judge_base_url or "@http" in name or name.partition("/")[0] not in vendors
    inherited = None if elsewhere else key_variable
    request = judge_request_options(judging)
    record = model_record(
        name,
        judging.judge_base_url or base_url,
        judging.judge_key_env or inherited,
        request=request if traits_of(name).takes_options else None,
    )
    if judging.judge_base_url and len(judging.judge) == 1 and record.base_url is None:
        raise VivaError(f"is for openai/ judges; {name} has an address of its own", field="judge_base_url")
    return record


def model_record(
    name: str,
    base_url: str | None,
    key_variable: str | None,
    opening: WeightsOptions | None = None,
    request: RequestOptions | None = None,
) -> ModelRecord:
    """Return a model for run.json. --base-url is only for openai/ models; others have addresses of their own."""
    kind = traits_of(name)
    record = ModelRecord(name=placed(name), base_url=base_url if kind.served else None, key_variable=key_variable)
    record.request = None if request == RequestOptions() else request
    opening = opening or WeightsOptions()
    if name.startswith(HF):
        weights = opening.weights()
        adapter = existing(weights.adapter)
        record.weights = msgspec.structs.replace(
            weights, revision=split_revision(name)[1], adapter=resolve_path(adapter) if adapter else weights.adapter
        )
        record.key_variable = None
    elif name.startswith("openai/"):
        record.template = opening.template or ""
    return record


def _refuse_unasked(given: ServerOptions, models: tuple[str, ...], own: Mapping[str, Model]) -> None:
    """Refuse options of requests where none are sent. A function of the user's gets the system text, as part of its
    prompt."""
    if any(traits_of(name).takes_options for name in models):
        return
    changed_names = [name for name in changed(given) if not (own and name == "system")]
    if changed_names:
        raise VivaError(
            f"is for models that are sent requests; here is only {', '.join(models)}", field=changed_names[0]
        )


def _record(named: Named, plan: RunPlan, *, limit_kept: bool) -> ModelRecord:
    own = named.own or plan.usual
    request = request_options(own.server, limit_kept=limit_kept) if traits_of(named.name).takes_options else None
    record = model_record(named.name, own.reach.base_url, own.reach.api_key_env, own.weights, request)
    return msgspec.structs.replace(record, shown=named.shown, trained=named.trained)


def remembered(model: Model, record: ModelRecord) -> ModelRecord:
    """Return the record with the name in tables, and the fingerprint of weights, to refuse a resume with others."""
    record = msgspec.structs.replace(record, shown=model.name)
    if record.weights is None:
        return record
    known = model.identity
    weights = msgspec.structs.replace(
        record.weights,
        fingerprint=known["weights"],
        dtype=DTYPES[known["dtype"]],
        context=int(known["context"]),
    )
    return msgspec.structs.replace(record, weights=weights)


def remember_judges(record: RunRecord, opened: OpenRun) -> None:
    """Store the same of judges whose weights are on this machine."""
    judges = zip(record.judges, opened.judges, strict=True)
    record.judges = [remembered(judge.model, known) if known.weights else known for known, judge in judges]


SELF_TESTED = 30
"""Questions in the self-test before a run, enough to show faulty grading; `viva check` tests all."""


def self_test(exams: list[Exam]) -> list[list[Question]]:
    """Test on a sample of the questions, before money is spent, that gold answers score 1 and wrong ones 0.

    Returns each exam's sample, which has a question of every kind. Raises VivaError where one fails.
    """
    from viva.runs.checks import failures, sample

    samples = [sample(exam, SELF_TESTED) for exam in exams]
    for exam, questions in zip(exams, samples, strict=True):
        problems = failures(exam, questions)
        if problems:
            raise VivaError(
                f"the self-test of {exam.spec.label} failed, nothing was asked: {problems[0]}; "
                f"`viva check {exam.spec.name or exam.spec.benchmark}` shows all"
            )
    return samples


ROUNDS = "adaptive run"
"""The command that resumes a run whose questions are drawn in rounds."""


class Way:
    """A way of asking; this one asks every question once, all together. Packages override its hooks."""

    judges_again = False
    """Whether a resumed run is judged again even without new options for judges."""

    def exam(
        self, spec: ExamSpec, own: Path | None, templates: dict[str, object] | None
    ) -> tuple[ExamSpec, dict[str, object] | None]:
        """Return an exam's changed settings and templates before it is opened; `own`: its question file or card."""
        return spec, templates

    def judging(self, record: RunRecord, exams: Sequence[Exam]) -> RunRecord:
        """Return run.json of a run whose judges are known: a new one, or one that is judged again. Raises VivaError."""
        return record

    def plan(
        self, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
    ) -> tuple[RunRecord, Mapping[str, bytes]]:
        """Return run.json of a new run, and files for its folder. Raises VivaError for unsuitable exams."""
        return record, {}

    def carry_out(self, opened: OpenRun, earlier: list[RunFolder]) -> int:
        """Ask what is missing and grade answers; at the end `opened` has all questions asked. Returns the exit code."""
        return execute_run(opened, earlier)


def way_of(record: RunRecord) -> Way:
    """Return the way in which a run was begun. Raises VivaError where its package is not installed."""
    if record.adaptive is None:
        return Way()
    known = registered().get(ROUNDS)
    if known is None:
        raise VivaError(
            f"this run draws its questions in rounds (`viva {ROUNDS}`), and no installed package has that command; "
            "`viva score`, `viva view` and `viva report` take the run as it is"
        )
    begun = load(known)
    way: Way = begun(begun.config())
    return way


def rejudge(record: RunRecord, rejudging: RejudgeOptions, judges: list[ModelRecord]) -> tuple[RunRecord, list[Exam]]:
    """Return the run's record changed by `rejudging` and with these judges, and its exams. Nothing is written.

    Raises VivaError for options without effect on this run, and for a rubric that does not fit its benchmarks.
    """
    if not judges and (rejudging.panel or rejudging.judge_samples):
        raise VivaError(
            f"this run has no judge: {option('panel')} and {option('judge_samples')} need {option('judge', 'MODEL')}"
        )
    if rejudging.rubric is not None and str(rejudging.rubric) != BUNDLED:
        refuse_unused(rejudging.rubric, [old.templates for old in record.exams])
    exams: list[Exam] = []
    records: list[ExamRecord] = []
    for old in record.exams:
        exam = reopen(_with(old, rejudging))
        if rejudging.rubric is not None:
            exam = with_rubric(exam, Path(old.data) if old.data else None, rejudging.rubric, again=True)
        exams.append(exam)
        records.append(msgspec.structs.replace(old, spec=exam.spec, templates=dict(exam.templates)))
    if rejudging.encoder not in (None, "none") and not any(exam.spec.encoder for exam in exams):
        raise VivaError(f"{rejudging.encoder!r} compares rationales, and this run asked for none", field="encoder")
    new = msgspec.structs.replace(
        record,
        exams=records,
        judges=judges,
        judge_samples=rejudging.judge_samples or record.judge_samples,
        verdicts=rejudging.verdicts or _verdicts(record, rejudging),
        encoder=None if rejudging.encoder is not None else record.encoder,
    )
    return new, exams


def _verdicts(record: RunRecord, rejudging: RejudgeOptions) -> VerdictFormat:
    """Return the verdict format for new verdicts: with a nonce, even if the run is of an earlier Viva without one."""
    asked = rejudging.judge or rejudging.rubric is not None
    return "nonce" if asked and record.verdicts == "line" else record.verdicts


def _with(old: ExamRecord, rejudging: RejudgeOptions) -> ExamRecord:
    spec = old.spec
    if rejudging.panel:
        spec = msgspec.structs.replace(spec, panel=rejudging.panel)
    if rejudging.encoder is not None:
        spec = msgspec.structs.replace(spec, encoder="" if rejudging.encoder == "none" else rejudging.encoder)
    return msgspec.structs.replace(old, spec=spec)


class Session(Struct, frozen=True, kw_only=True):
    """A run locked by this process, until it is graded or asking ends."""

    opened: OpenRun
    way: Way
    earlier: list[RunFolder] = []
    """Runs whose answers may be reused."""

    @classmethod
    def begun(
        cls, plan: RunPlan, way: Way | None = None, own: Own | None = None, kept: Mapping[str, bytes] | None = None
    ) -> Session:
        """Begin a new run; `kept`: more files for its folder. Raises VivaError, before asking, for an
        impossible plan.
        """
        way = way or Way()
        opened, earlier = plan_run(plan, own or {}, way, asking=True)
        opened.kept |= kept or {}
        return cls(opened=begin(opened, plan), way=way, earlier=earlier)

    @classmethod
    def estimated(cls, plan: RunPlan, way: Way | None = None) -> Iterator[str]:
        """Yield lines on a run's requests and cost, without asking. Raises VivaError as the run would."""
        from viva.runs.forecast import estimate

        return estimate(plan_run(plan, {}, way or Way(), asking=False)[0])

    @classmethod
    def resumed(
        cls,
        run: Path,
        plan: ResumePlan,
        way: Way | None = None,
        own: Callable[[RunFolder], Own] | None = None,
        confirm: Callable[[RunFolder, LimitOptions], None] = confirm_endpoints,
    ) -> Session:
        """Open an existing run: lock, then read, then check it.

        Raises VivaError, StorageError where another process writes to it.
        """
        folder = open_run_folder(run)
        refuse_unknown(plan.rows.published_rows, settings_of(folder.record.exams))
        earlier = [open_run_folder(path) for path in plan.folder.reuse]
        held = folder.lock()
        with held:
            folder.record = RunFolder.open(folder.path).record
            limits, rejudging = plan.limits_after(folder.record.limits), plan.rejudging
            way = way or way_of(folder.record)
            confirm(folder, limits)
            exams = None
            if rejudging or way.judges_again:
                record, exams = rejudge(folder.record, rejudging, rejudge_records(folder.record, rejudging))
                folder.record = way.judging(record, exams)  # run.json is written only after all checks
            opened = prepare(folder, limits, exams, own(folder) if own else None, asking=True)
            refuse_unbatched(opened)
            open_encoder_of(opened, new=rejudging.encoder is not None)
            if exams is not None:
                remember_judges(folder.record, opened)
                folder.remember(folder.record)
                keep_approval(folder)
            held.pop_all()
        return cls(opened=opened, way=way, earlier=earlier)

    @classmethod
    def graded(cls, plan: GradePlan, way: Way | None = None, collected: Collected | None = None) -> tuple[Session, str]:
        """Make a new run of answers collected elsewhere; return it and the name of their column of questions."""
        opened, replay = plan_grading(plan, collected, way)
        open_encoder_of(opened, new=True)
        create_folder(opened)
        return cls(opened=opened, way=way or Way()), replay.question_column

    def through(self, output: OutputOptions) -> tuple[int, Report]:
        """Ask what is missing and grade; return the exit code and the results. The folder is unlocked then."""
        try:
            code = self.way.carry_out(self.opened, self.earlier)
            return code, grade_run(self.opened, output)
        finally:
            self.opened.folder.unlock()


def plan_grading(plan: GradePlan, collected: Collected | None = None, way: Way | None = None) -> tuple[OpenRun, Replay]:
    """Return the run that `viva grade` would make, and the answers: checked, nothing written yet.

    `collected`: answers in memory; `plan.answers` is then only their name.
    """
    choice, judging, paths, benchmark = plan.task, plan.judging, plan.answers, plan.benchmark
    refuse_unjudged(choice, judging)
    collected = collected or collect(benchmark, paths, choice, plan.reading, quiet=plan.limits.progress == "quiet")
    for replay in collected.replays:
        check_gaps(replay, paths[0])
    if not choice.language and len(languages_of(benchmark)) > 1:
        choice = msgspec.structs.replace(choice, language=language_of(benchmark, collected.answered, choice))
    exams_with_data = open_exams((benchmark,), choice)
    exams = [exam for exam, _ in exams_with_data]
    limited = bool(choice.limit or choice.questions or choice.only)
    refuse_strangers(collected.replays, exams, paths[0], limited=limited)
    look_for_golds(collected.replays, exams, paths[0])
    samples, repeats = samples_and_repeats(collected.samples, exams)
    record = _new_record(
        plan,
        exams=[remember(exam, data) for exam, data in exams_with_data],
        models=collected.models,
        judges=judge_records(judging, judging.judge_base_url, judging.judge_key_env),
        samples=samples,
        repeats=repeats,
    )
    record = (way or Way()).judging(record, exams)
    refuse_unknown(plan.rows.published_rows, settings_of(record.exams))
    path = plan.folder.run or new_run_path(Path("runs"), f"grade-{benchmark}-{paths[0].name}")
    own = {model.name: replay for model, replay in zip(collected.models, collected.replays, strict=True)}
    opened = prepare(RunFolder(path, record), plan.limits, exams, own, asking=True)
    opened.kept = collected.kept
    refuse_unbatched(opened)
    return opened, collected.replays[0]
