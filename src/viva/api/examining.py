"""Functions for programs: what `viva run`, `viva resume` and `viva grade` do.

Nothing is printed unless `progress` says so; messages that commands print on stderr are in `Run.messages`, and a
warning is issued where something is unanswered. Errors are exceptions (`VivaError` and subclasses), Ctrl-C is
KeyboardInterrupt, and in any case the run folder holds all answers received.

Options of a run are keyword arguments with the names, defaults and bounds of the command line.

Calls run in a separate thread, so that notebook event loops keep running and signal handlers are untouched.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from viva.api.opened import ALL_TABLES, Run
from viva.contracts import Model
from viva.engine.budget import RunLimits
from viva.engine.folder import ModelRecord, RunFolder
from viva.errors import EXIT_INTERRUPTED, EXIT_REFUSED, RefusedError, VivaError, in_program
from viva.fields import Option, convert, options, pick, unknown
from viva.models.called import PROVIDER, Called, Function
from viva.models.replay import KEPT, Replay
from viva.runs.collected import Collected
from viva.runs.config import (
    GRADE,
    RESUME,
    RUN,
    GradePlan,
    OutputOptions,
    PublishedRows,
    RejudgeOptions,
    ResumePlan,
    RunPlan,
)
from viva.runs.configfile import Configuration, read_config
from viva.runs.progress import Caller
from viva.runs.session import Session, Way
from viva.visible import one_line

Answers = Mapping[str, str | Sequence[str]]
"""Question id → the reply, or one for each sample."""
ModelArgument = (
    str | Function | Mapping[str, str | Sequence[str] | Function | Answers] | Sequence[str | Function | Answers]
)
"""PROVIDER/NAME, a function, answers, a mapping of names to functions or answers, or several of the first three."""
_LONGEST = 100


class ResolvedModels(Struct, kw_only=True):
    """The models that a run asks."""

    named: list[str] = []
    """Names of models to open."""
    own: dict[str, Model] = {}
    """Name in run.json → open model: functions and answers."""
    kept: dict[str, bytes] = {}
    """Files that the run keeps: answers."""


def resolve_models(given: ModelArgument) -> ResolvedModels:
    """Resolve the models given by a caller. A mapping names its functions or answers.

    Raises VivaError for any other type, and for two models of one name.
    """
    resolved = ResolvedModels()
    for name, model in _each(given):
        if isinstance(model, str):
            resolved.named.append(model)
        elif isinstance(model, Mapping):
            file = f"answers-{len(resolved.kept) + 1}.jsonl" if resolved.kept else "answers.jsonl"
            resolved.kept[file] = content = answer_rows(cast("Answers", model))
            _add(resolved, f"replay/{KEPT}{file}", Replay(Path(file), shown=name and f"replay/{name}", content=content))
        elif callable(model):
            own = name or _called(model)
            _add(resolved, f"{PROVIDER}{own}", Called(own, cast("Function", model)))
        else:
            raise VivaError(
                f"model: {type(model).__name__} is no model; give PROVIDER/NAME, a function (prompt in, text out), or "
                "a dict of question ids and replies"
            )
    return resolved


def _add(resolved: ResolvedModels, name: str, model: Model) -> None:
    if name in resolved.own:
        raise VivaError(f"two models are both called {model.name}: name them, as in model={{'one': f, 'two': g}}")
    resolved.own[name] = model


def _each(given: object) -> Iterator[tuple[str, object]]:
    """Yield (name, model) of every model given."""
    if isinstance(given, Mapping):
        values = list(given.values())
        if values and all(isinstance(value, Mapping) or callable(value) for value in values):
            for name, model in given.items():
                yield _checked(name), model
        else:
            yield "", given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for model in given:
            yield "", model
    else:
        yield "", given


def _checked(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable() or "/" in name:
        raise VivaError(f"model: {one_line(repr(name), 60)} names no model: up to {_LONGEST} visible signs, without /")
    return name


def _called(function: object) -> str:
    """Return the default name of a function: its own, or its type's."""
    inner = getattr(function, "func", function)  # a partial's
    name = getattr(inner, "__name__", None) or type(function).__name__
    return one_line(str(name).strip("<>").replace("/", "."), _LONGEST) or "function"


def answer_rows(answers: Answers) -> bytes:
    """Return answers as the content of a file for `viva grade`. Raises VivaError where they are invalid."""
    rows = []
    for question, replies in answers.items():
        texts = [replies] if isinstance(replies, str) else replies
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise VivaError(f"the answer to {one_line(repr(question), 60)} is no text, and no list of texts")
        for sample, text in enumerate(texts):
            whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written to a file
            rows.append(msgspec.json.encode({"question": str(question), "sample": sample, "text": whole}))
    if not rows:
        raise VivaError("there is no answer among the answers")
    return b"\n".join(rows) + b"\n"


F = TypeVar("F", bound=Callable[..., Any])

RUN_OPTIONS = options(*RUN, without=("trust_endpoints",))
GRADE_OPTIONS = options(*GRADE, without=("trust_endpoints", "trust_remote_code", "reuse", "shuffle"))
RESUME_OPTIONS = options(RejudgeOptions, *RESUME, without=("run",), inherited=RunLimits.__struct_fields__)


def keywords(known: Mapping[str, Option], given: Mapping[str, object], function: str) -> dict[str, Any]:
    """Return every option of a function, by name; `progress` is "quiet" unless it is given.

    Raises TypeError for an unknown name, VivaError for a value that is not allowed.
    """
    problem = unknown(known, given, function.removeprefix("viva.").replace(".", " "))
    if problem:
        raise TypeError(f"{function}: {problem}")
    return convert(known, {"progress": "quiet", **given})


def with_signature(known: Mapping[str, Option]) -> Callable[[F], F]:
    """Return a decorator that shows the options in a function's signature, for notebooks and `help`."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind)
            for each in known.values()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate


T = TypeVar("T")
_LOOK = 0.5
"""Seconds of each wait for the work's end: some systems notice Ctrl-C only between waits."""


def run_in_thread(work: Callable[[Caller], T]) -> T:
    """Run the work in a thread; return its result or raise its error. Ctrl-C once lets requests in flight end, twice
    drops them; then it raises KeyboardInterrupt.

    The caller waits: from a coroutine, put it into `asyncio.to_thread`.
    """
    caller = Caller()
    results: list[T] = []
    problems: list[BaseException] = []
    done = threading.Event()  # an interrupted Thread.join treats the thread as dead (CPython issue 90882)

    def working() -> None:
        caller.serve()
        try:
            results.append(work(caller))
        except BaseException as problem:  # any exception is passed to the caller
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=copy_context().run, args=(working,), name="viva", daemon=True).start()
    while True:
        try:
            while not done.wait(_LOOK):
                pass
            break
        except KeyboardInterrupt:
            caller.interrupt()
    if problems:
        raise problems[0]
    if caller.interrupted:
        raise KeyboardInterrupt
    return results[0]


class UnansweredWarning(UserWarning):
    """Something is unanswered: the numbers leave it out, and say so. `viva.resume` asks for it again."""


@with_signature(RUN_OPTIONS)
@in_program()
def run(
    benchmark: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    *,
    model: ModelArgument | None = None,
    config: str | PathLike[str] | None = None,
    way: Way | None = None,
    **options: Any,
) -> Run:
    """Ask models the questions of a benchmark (or of several, or of a question file), and grade the answers.

    `model`: PROVIDER/NAME as on the command line; a function (prompt in, text out; it may be `async`), which is given a
    `viva.Prompt`; a dict of replies by question id; a dict that names such functions and dicts; or a list of these. All
    other options are those of `viva run`, by their names: `base_url`, `shots`, `judge`, `max_cost`, `shard`, `run` for
    the folder, and so on; where there may be several, a list. `config` is a run configuration file, whose benchmarks,
    models and options hold where none are given here.

    Waits until all is done, whether an event loop is running or not. Raises VivaError for what cannot be asked (nothing
    is asked then), RefusedError where an endpoint refuses key or model, StorageError, and KeyboardInterrupt after what
    was in flight has ended; `viva.resume` goes on after any of these.
    """
    read = read_config(Path(config)) if config is not None else Configuration()
    names = [str(benchmark)] if isinstance(benchmark, str | PathLike) else list(map(str, benchmark))
    names = names or list(read.benchmarks)
    if not names:
        raise VivaError("benchmark: name one, or several, or a configuration that does (config=)")
    resolved = resolve_models(list(read.models) if model is None else model)
    given = keywords(RUN_OPTIONS, options, "viva.run")
    given |= {name: value for name, value in read.values.items() if name not in options}
    settings = read.settings if model is None else {}
    plan = RunPlan.of(given, names, resolved.named, settings, ["viva.run", *names])

    def work(caller: Caller) -> Run:
        return _through(Session.begun(plan, way, resolved.own, resolved.kept), plan.rows, caller)

    return _warned(run_in_thread(work))


@with_signature(RESUME_OPTIONS)
@in_program()
def resume(
    run: str | PathLike[str],
    *,
    model: ModelArgument | None = None,
    **options: Any,
) -> Run:
    """Ask only what is missing or failed in a run (a run folder, or a folder of runs: the newest in it).

    `model`: the functions that the run asked, where it asked any; all else is as the run began, its limits, too. The
    options are those of `viva resume`: limits and prices, and who judges again. Waits and raises as `viva.run` does.
    """
    plan = ResumePlan.of(keywords(RESUME_OPTIONS, options, "viva.resume"))
    resolved = resolve_models(model) if model is not None else ResolvedModels()

    def work(caller: Caller) -> Run:
        own = partial(_given_again, resolved)
        return _through(Session.resumed(Path(run), plan, own=own), plan.rows, caller)

    return _warned(run_in_thread(work))


@with_signature(GRADE_OPTIONS)
@in_program()
def grade(
    benchmark: str | PathLike[str],
    answers: str | PathLike[str] | Sequence[str | PathLike[str]] | Answers,
    *,
    way: Way | None = None,
    **options: Any,
) -> Run:
    """Grade answers collected elsewhere: files as `viva grade` reads them, or a dict of replies by question id.

    A reply is a text, or a list of texts, one a sample. The options are those of `viva grade`, by their names. Waits
    and raises as `viva.run` does.
    """
    name, collected = str(benchmark), None
    if isinstance(answers, Mapping):
        collected = _collected(answers)
        paths = [Path("answers.jsonl")]
    else:
        paths = [Path(answers)] if isinstance(answers, str | PathLike) else list(map(Path, answers))
    given = keywords(GRADE_OPTIONS, options, "viva.grade")
    command = ("viva.grade", name, *map(str, paths))
    plan = pick(GradePlan, given, benchmark=name, answers=(*paths,), command=command)

    def work(caller: Caller) -> Run:
        return _through(Session.graded(plan, way, collected)[0], plan.rows, caller)

    return _warned(run_in_thread(work))


def _collected(answers: Answers) -> Collected:
    """Return answers in memory as a file that the run keeps."""
    content = answer_rows(answers)
    replay = Replay(Path("answers.jsonl"), content=content)
    record = ModelRecord(name=f"replay/{KEPT}answers.jsonl", shown=replay.name)
    return Collected(replays=[replay], models=[record], kept={"answers.jsonl": content})


def _given_again(resolved: ResolvedModels, folder: RunFolder) -> dict[str, Model]:
    """Return the given functions by their names in the run. Raises VivaError for one that the run did not ask."""
    known = [model.name for model in folder.record.models if model.name.startswith(PROVIDER)]
    own = dict(resolved.own)
    if len(own) == len(known) == 1:  # a single function is the run's, whatever its name
        only = next(iter(own.values()))
        own = {known[0]: Called(known[0].removeprefix(PROVIDER), only.function)} if isinstance(only, Called) else own
    for name in (*resolved.named, *own):
        if name not in known:
            asked = ", ".join(known) or "none"
            raise VivaError(f"model: this run did not ask {name}; the functions that it asked: {asked}")
    return own


def _through(session: Session, rows: PublishedRows, caller: Caller) -> Run:
    """Ask and grade, and return the run. The folder's lock is released at the end."""
    code, report = session.through(OutputOptions(format=ALL_TABLES, published_rows=rows.published_rows))
    if code == EXIT_INTERRUPTED or caller.interrupted:
        raise KeyboardInterrupt
    if code == EXIT_REFUSED:
        raise RefusedError("; ".join(caller.messages))
    return Run(session.opened.folder.path, report, caller.messages)


def _warned(run: Run) -> Run:
    if run.messages:
        warnings.warn("; ".join(run.messages), UnansweredWarning, stacklevel=4)
    return run
