"""Viva as a library: the same numbers as the command line, nothing printed, no side effects on the program."""

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import viva
from cli.collected import answers, write_jsonl
from cli.told import command_of, told
from cli.told import viva as command_line
from rows import each_row, tabled
from viva.api.examining import GRADE_OPTIONS, RESUME_OPTIONS, RUN_OPTIONS
from viva.cli.ask.run import resume_command, run_command
from viva.cli.grade.grade import grade_command
from viva.engine.sendingslots import Policy
from viva.models.called import Prompt

pytestmark = pytest.mark.usefixtures("elsewhere")


@cache
def gold() -> dict[str, str]:
    return {row["question"]: row["text"] for row in answers("cmmlu", "zh")}


def first(prompt: Prompt) -> str:
    return "A"


def test_it_is_what_the_command_line_makes_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    run = viva.run("cmmlu", model="baseline/random", samples=2, limit=12, run="run")
    assert capfd.readouterr() == ("", "")
    said = json.loads(told(command_of("score"), "run", "--format", "json"))
    assert said == json.loads(run.table().to_json())
    assert run.mean == said["results"][0]["overall"]["mean"]
    assert run.record.command == ["viva.run", "cmmlu"]
    again = viva.open_run("run")
    assert again.report.results == run.report.results
    assert again.scores().equals(run.scores())
    assert run.scores().height == 24
    assert run.scores()["points"].mean() == pytest.approx(run.scores()["score"].mean()), "everything was read"
    assert run.answers()["prompt"].str.len_chars().min() > 20  # type: ignore[operator]


TERMINAL = {
    "help", "estimate", "format", "out", "scores", "tables", "all", "model", "config", "write_config", "yes",
}  # fmt: skip
"""What commands have for terminals and files; `model` and `config` are parameters of their own."""


@each_row(
    (run_command, RUN_OPTIONS, TERMINAL),
    (resume_command, RESUME_OPTIONS, TERMINAL),
    (grade_command, GRADE_OPTIONS, TERMINAL - {"wrote"}),
)
def test_options_are_called_as_on_the_command_line(
    command: viva.cli.options.GroupedCommand, options: dict[str, viva.fields.Option], without: set[str]
) -> None:
    named = {max(each.opts, key=len): each for each in command.params if isinstance(each, click.Option)}
    known = {name.removeprefix("--").replace("-", "_") for name in named if name != "--from"}
    known |= {"wrote"} if "--from" in named else set()
    known -= {"json", "quiet", "verbose", "log_level", "help_all"}  # every command has them
    assert set(options) == known - without


def test_every_option_has_the_same_bounds_and_defaults_in_a_program_and_on_the_command_line() -> None:
    context = click.Context(run_command)
    by_name = {str(each.name): each for each in run_command.params}
    for (name, option), row in tabled(*RUN_OPTIONS.items()):
        parameter = by_name[name]
        with row:
            assert parameter.get_default(context) == option.default
            for value in ("-1", "0", "0.05", "1", "7", "21", "1.5", "chat", "4", "no such thing"):
                given = (value,) if parameter.multiple else value
                if not (isinstance(parameter, click.Option) and parameter.is_flag):
                    typed = taken(parameter.type_cast_value, context, given)
                    assert typed == taken(option.convert, given, lax=True), value


def taken(work: Callable[..., object], *given: object, **named: object) -> object:
    """What it returns; "refused" where it refuses."""
    try:
        return work(*given, **named)
    except (click.BadParameter, viva.VivaError):
        return "refused"


@each_row(
    ({"limit": 0}, viva.VivaError, "^limit=0: must be at least 1$"),
    ({"limit": "many"}, viva.VivaError, "^limit='many': must be a whole number$"),
    ({"limit": True}, viva.VivaError, "^limit=True: must be a whole number$"),
    ({"cot": "yes"}, viva.VivaError, "^cot='yes': must be true or false$"),
    ({"form": "poem"}, viva.VivaError, "^form='poem': must be chat or base$"),
    ({"shots": [1, 2]}, viva.VivaError, "a whole number"),
    ({"temperature": "hot"}, viva.VivaError, "^temperature 'hot'"),
    ({"data": "nowhere"}, viva.DataError, "nowhere"),
    ({"shard": "3/2"}, viva.VivaError, "I/N"),
    ({"format": "json"}, TypeError, "'format'"),
    ({"help": True}, TypeError, "'help'"),
    ({"estimate": True}, TypeError, "'estimate'"),
    ({"max_request": 3}, TypeError, "max_requests"),
)
def test_wrong_options_are_exceptions_with_the_same_words(options: object, problem: Any, said: str) -> None:
    with pytest.raises(problem, match=said):
        viva.run("cmmlu", model=first, **options)  # type: ignore[arg-type]
    assert not Path("runs").exists()


def test_a_signature_shows_every_option_and_errors_name_parameters() -> None:
    shown = inspect.signature(viva.run).parameters
    assert {*RUN_OPTIONS, "benchmark", "model", "config", "way"} == set(shown)
    assert shown["timeout"].default == 300.0
    with pytest.raises(viva.VivaError, match=r"^rubric .* add judge=MODEL"):
        viva.run("csbench", model=first, rubric="rubric.toml")


# What may be asked


def test_a_function_sees_the_turns_and_the_sampling() -> None:
    seen: list[Prompt] = []

    def ask(prompt: Prompt) -> str:
        seen.append(prompt)
        return "A"

    viva.run("csbench", model=ask, limit=3, samples=2, temperature=0.5, max_tokens=9)
    assert {prompt.sample for prompt in seen} == {0, 1}
    assert len({prompt.question for prompt in seen}) == 3
    prompt = seen[0]
    assert isinstance(prompt, str)
    assert (prompt.sampling.temperature, prompt.sampling.max_tokens) == (0.5, 9)
    assert [turn["role"] for turn in prompt.messages][-1] == "user"
    assert all(turn["content"] in prompt for turn in prompt.messages)


def test_blocking_functions_are_called_one_by_one_and_others_at_once() -> None:
    at_once = {"blocking": 0, "waiting": 0}
    most = dict(at_once)
    threads: set[int] = set()

    def count(name: str, change: int) -> None:
        at_once[name] += change
        most[name] = max(most[name], at_once[name])

    def blocking(prompt: Prompt) -> str:
        count("blocking", 1)
        threads.add(threading.get_ident())
        time.sleep(0.001)
        count("blocking", -1)
        return "A"

    class Waiting:
        async def __call__(self, prompt: Prompt) -> str:
            count("waiting", 1)
            await asyncio.sleep(0.005)
            count("waiting", -1)
            return "B"

    run = viva.run("cmmlu", model=[blocking, Waiting()], limit=30)
    assert [result.model for result in run.results] == ["python/blocking", "python/Waiting"]
    assert most["blocking"] == 1
    assert most["waiting"] > 4
    assert len(threads) == 1
    viva.run("cmmlu", model=blocking, limit=30, concurrency=6)
    assert most["blocking"] > 1
    waiting = Waiting()
    awaited = viva.run("cmmlu", model=lambda prompt: waiting(prompt + ""), limit=3)  # type: ignore[arg-type]
    assert [result.model for result in awaited.results] == ["python/lambda"]
    assert awaited.complete


def test_what_a_function_raises_is_why_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policy, "pause", lambda self, attempt, retry_after: 0.0)
    tries: dict[str, int] = {}

    def shaky(prompt: Prompt) -> object:
        tries[prompt.question] = tries.get(prompt.question, 0) + 1
        place = list(tries).index(prompt.question)
        if place == 1:
            raise ValueError("\x1b[31mno")
        if place == 2:
            return None
        if place == 3 and tries[prompt.question] < 3:
            raise ConnectionError("lost")
        return "A\ud800"

    with pytest.warns(viva.UnansweredWarning, match="2 not answered"):
        run = viva.run("cmmlu", model=shaky, limit=8, run="run")  # type: ignore[arg-type]
    assert not run.complete
    failures = run.answers().filter(run.answers()["failure"] != "")["failure"].to_list()
    assert sorted(failures) == [
        "function: ValueError: \x1b[31mno",
        "function: it returned NoneType in place of a text",
    ]
    assert sorted(tries.values()) == [1] * 7 + [3]
    assert "\x1b" not in repr(run) + repr(run.table())
    whole = viva.resume("run", model={"another name": first})
    assert whole.complete
    assert whole.messages == ()


def test_a_function_that_always_fails_is_given_up_and_its_run_goes_on_later(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(prompt: Prompt) -> str:
        raise RuntimeError("no weights")

    with pytest.raises(viva.RefusedError, match=r"no weights.*viva resume run"):
        viva.run("cmmlu", model=broken, run="run")
    assert command_line("resume", "run", "--progress", "quiet") == 4
    assert "viva.resume(run, model=function)" in capsys.readouterr().err
    with pytest.raises(viva.VivaError, match="did not ask python/second"):
        viva.resume("run", model={"broken": first, "second": first})
    assert viva.resume("run", model={"broken": first}).complete


def test_functions_do_not_choose_by_probability() -> None:
    with pytest.raises(viva.VivaError, match="leave answer_by out"):
        viva.run("cmmlu", model=first, answer_by="next-token")


@each_row(5, None, [], {}, {"a/b": first}, {"": first}, {"q": 5}, {"\x1b": first}, [first, first])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(viva.VivaError):
        viva.run("cmmlu", model=model)  # type: ignore[arg-type]
    assert not Path("runs").exists()


def test_answers_are_models_and_stay_with_their_run(tmp_path: Path) -> None:
    run = viva.run(
        "cmmlu", model={"mine": gold(), "theirs": {name: ["A", text] for name, text in gold().items()}}, samples=1
    )
    assert {result.model: result.overall.mean for result in run.results}["replay/mine"] == 1.0
    moved = run.path.rename(tmp_path / "moved")
    assert viva.open_run(moved).report.results == run.report.results
    assert viva.resume(moved).report.results == run.report.results
    file = write_jsonl(tmp_path / "answers.jsonl", answers("cmmlu", "zh"))
    assert viva.grade("cmmlu", gold()).mean == viva.grade("cmmlu", file).mean == viva.grade("cmmlu", [file]).mean == 1.0
    with pytest.raises(viva.DataError, match="'nonsense/0'"):
        viva.grade("cmmlu", {"nonsense/0": "A"})


# The program's own affairs


def test_it_works_where_an_event_loop_runs_and_in_other_threads_and_leaves_signals_alone() -> None:
    def mine(number: int, frame: object) -> None: ...

    async def notebook() -> viva.Run:
        run = viva.run("cmmlu", model=first, limit=5)  # as a cell does
        return await asyncio.to_thread(viva.resume, run.path)

    before = signal.signal(signal.SIGTERM, mine)
    try:
        assert viva.run("cmmlu", model=first, limit=5).complete
        assert asyncio.run(notebook()).complete
        assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupt_is_an_exception_and_what_was_answered_is_kept() -> None:
    script = """
import os, signal, threading, viva
def ask(prompt):
    asked.append(prompt)
    if len(asked) == 20:
        os.kill(os.getpid(), signal.SIGINT)
    if len(asked) >= 20:
        waiting.wait(0.3)
    return "A"
asked, waiting = [], threading.Event()
try:
    viva.run("cmmlu", model=ask, run="run")
except KeyboardInterrupt:
    print("interrupted", len(asked))
print(viva.resume("run", model=lambda prompt: "A").complete)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    said, complete = ended.stdout.splitlines()
    assert said.startswith("interrupted 2")
    assert complete == "True"


def test_a_run_that_somebody_writes_to_is_left_alone() -> None:
    from viva.engine.folder import RunFolder

    run = viva.run("cmmlu", model=first, limit=5, run="run")
    folder = RunFolder.open(run.path)
    folder.lock()
    try:
        with pytest.raises(viva.StorageError, match="writing to run"):
            viva.resume("run", model=first)
        (run.path / "scores.jsonl").unlink()
        with pytest.raises(viva.StorageError, match="writing to run"):
            viva.open_run("run")
    finally:
        folder.unlock()
    assert viva.open_run("run").mean == run.mean, "graded anew"


def test_importing_it_is_quick_and_loads_nothing() -> None:
    code = """
import sys, viva
heavy = {"polars", "numpy", "torch", "aiohttp", "click", "msgspec", "asyncio"}
print(sorted(heavy & set(sys.modules)), "run" in dir(viva), callable(viva.run))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["[]", "True", "True"]
    with pytest.raises(AttributeError, match="rum"):
        viva.rum  # type: ignore[attr-defined]  # noqa: B018
    assert all(hasattr(viva, name) for name in viva.__all__)
