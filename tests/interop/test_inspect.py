"""The real Inspect: it finds Viva's tasks and gives the same scores, and Viva grades its logs."""

from __future__ import annotations

import importlib.metadata
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import opened
from cli.collected import read_jsonl
from interop.command import command, direct, grade
from interop.replies import dice, reply_to
from servers.fixtures import Viva
from servers.verdicts import obedient
from viva.types import Question

pytestmark = [pytest.mark.slow, pytest.mark.peers("inspect_ai")]
os.environ.update(INSPECT_LOG_LEVEL="error", DO_NOT_TRACK="1")
LIMIT = 24


def cmmlu() -> list[Question]:
    return list(opened("cmmlu", limit=LIMIT).questions())


class Answers:
    """What the model of these tests says: by the question's text in the prompt, and how often it was asked before."""

    def __init__(self, questions: list[Question]) -> None:
        self.questions = questions
        self.times: dict[str, int] = {}

    def __call__(self, messages: Any, *rest: Any) -> Any:
        from inspect_ai.model import ModelOutput, ModelUsage

        asked = messages[-1].text
        question = max((one for one in self.questions if one.text.strip() in asked), key=lambda one: len(one.text))
        sample = self.times[question.id] = self.times.get(question.id, -1) + 1
        output = ModelOutput.from_content("mockllm/answers", reply_to(question, sample))
        output.usage = ModelUsage(input_tokens=11, output_tokens=3, total_tokens=14)
        return output


def run(task: Any, answers: Any, folder: Path, **more: Any) -> Any:
    from inspect_ai import eval
    from inspect_ai.model import get_model

    model = get_model("mockllm/answers", custom_outputs=answers, memoize=False)
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", score_display=False, **more)
    return log


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Logs of our tasks, and of somebody else's on the same questions."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    from viva.interop import inspect_tasks

    folder = tmp_path_factory.mktemp("inspect")
    found: dict[str, Any] = {"folder": folder}
    found["cmmlu"] = run(inspect_tasks.cmmlu(limit=LIMIT), Answers(cmmlu()), folder / "cmmlu")
    spoken = list(opened("csbench", limit=LIMIT).questions())
    found["csbench"] = run(inspect_tasks.csbench(limit=LIMIT), Answers(spoken), folder / "csbench", log_format="json")
    samples = []
    for question in cmmlu():
        by = dice(question, 4)
        options = [*question.options[by:], *question.options[:by]]
        gold = question.options["ABCD".index(str(question.answer))]
        samples.append(Sample(input=question.text, choices=options, target="ABCD"[options.index(gold)]))
    shifted = Shifted(cmmlu())
    theirs = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice(), epochs=2, name="theirs")
    found["theirs"] = run(theirs, shifted, folder / "theirs")
    return found


class Shifted(Answers):
    """The same answers where the options were moved on: the letters are those of the other order."""

    def __call__(self, messages: Any, *rest: Any) -> Any:
        output = super().__call__(messages)
        question = next(one for one in self.questions if one.text.strip() in messages[-1].text)
        reply = output.completion
        letter = reply.removeprefix("The answer is ").rstrip(".")
        if letter in ("A", "B", "C", "D"):
            output.completion = f"ANSWER: {'ABCD'[('ABCD'.index(letter) - dice(question, 4)) % 4]}"
        return output


def metrics(log: Any) -> dict[str, float]:
    return {name: one.value for name, one in log.results.scores[0].metrics.items()}


def test_the_entry_point_names_the_module_of_tasks() -> None:
    (point,) = importlib.metadata.entry_points(group="inspect_ai", name="viva")
    assert point.value == "viva.interop.inspect_tasks"


def test_every_benchmark_is_found_by_inspects_registry(logs: dict[str, Any]) -> None:
    from inspect_ai._util.entrypoints import ensure_entry_points
    from inspect_ai._util.registry import registry_find, registry_unqualified_name

    ensure_entry_points()
    found = registry_find(lambda info: info.type == "task" and info.name.startswith("viva/"))
    names = {registry_unqualified_name(one) for one in found}
    assert names >= {"csbench", "clrbench", "cmmlu", "infibench", "syneval"}


def test_inspect_scores_cmmlu_as_we_do_and_we_grade_its_log(logs: dict[str, Any], tmp_path: Path) -> None:
    plain = direct(tmp_path / "plain", "cmmlu", limit=LIMIT)
    assert metrics(logs["cmmlu"])["Average"] == pytest.approx(plain["mean"])
    ended = grade(tmp_path, "cmmlu", logs["cmmlu"].location, "--limit", LIMIT, "--run", "run")
    assert ended.overall == plain
    assert ended.report["results"][0]["model"] == "mockllm/answers"
    rows = read_jsonl(tmp_path / "run" / "responses.jsonl")
    assert {(row["usage"]["input"], row["usage"]["output"]) for row in rows} == {(11, 3)}


def test_a_process_that_never_saw_inspect_reads_its_log(logs: dict[str, Any], viva: Viva) -> None:
    """Inspect packs its logs in a way that Python's zipfile learns from it alone."""
    given = ("grade", "cmmlu", logs["cmmlu"].location, "--limit", LIMIT, "--format", "json", "--progress", "quiet")
    ended = viva.start(*given).ended()
    assert ended.code == 0, ended.err
    assert ended.overall["n"] == LIMIT


def test_three_outcomes_stay_three(logs: dict[str, Any], tmp_path: Path) -> None:
    log = logs["csbench"]
    plain = direct(tmp_path / "plain", "csbench", limit=LIMIT)
    assert metrics(log)["Overall"] == pytest.approx(plain["mean"])
    kept = {sample.id: next(iter(sample.scores.values())) for sample in log.samples}
    outcomes = {score.metadata["viva"]["outcome"] for score in kept.values()}
    assert outcomes >= {"right", "wrong", "ungraded", "unparsed", "empty"}
    for score in kept.values():
        outcome = score.metadata["viva"]["outcome"]
        assert math.isnan(score.value) == (outcome == "ungraded"), "needs a judge, and there is none"
    assert log.results.scores[0].unscored_samples == sum(math.isnan(score.value) for score in kept.values())


def test_a_log_says_what_produced_its_number(logs: dict[str, Any]) -> None:
    said = logs["cmmlu"].eval.metadata["viva"]
    assert said["signature"].startswith(f"benchmark:cmmlu.17|lang:zh|shots:0|cot:no|form:chat|only:all|n:{LIMIT}|")
    assert said["data"].endswith(".sample")


def test_a_json_log_is_read_and_prompts_were_ours(logs: dict[str, Any], tmp_path: Path) -> None:
    location = logs["csbench"].location
    assert location.endswith(".json")
    ended = grade(tmp_path, "csbench", location, "--limit", LIMIT)
    assert ended.overall == direct(tmp_path / "plain", "csbench", limit=LIMIT)
    exam = opened("csbench", limit=LIMIT)
    question = next(iter(exam.questions()))
    sample = next(one for one in logs["csbench"].samples if one.id == question.id)
    from viva.types import Sampling

    prompt = exam.request(question, 0, Sampling()).prompt
    assert [(turn.role, turn.text) for turn in sample.input] == [(turn.role, turn.content) for turn in prompt]


def test_somebody_elses_order_of_options_is_turned_back_and_epochs_are_samples(
    logs: dict[str, Any], tmp_path: Path
) -> None:
    ended = grade(tmp_path, "cmmlu", logs["folder"] / "theirs", "--limit", LIMIT, "--run", "run")
    assert f"{LIMIT} by text" in ended.err
    assert ended.overall == direct(tmp_path / "plain", "cmmlu", limit=LIMIT, samples=2)


def test_a_sample_that_failed_or_ran_into_a_limit_is_no_zero(logs: dict[str, Any], tmp_path: Path) -> None:
    from inspect_ai.log import EvalError, read_eval_log, write_eval_log
    from inspect_ai.log._log import EvalSampleLimit

    log = read_eval_log(logs["cmmlu"].location)
    log.samples[0].error = EvalError(message="the server fell over", traceback="", traceback_ansi="")
    log.samples[1].limit = EvalSampleLimit(type="token", limit=1)
    log.status = "error"
    write_eval_log(log, str(tmp_path / "hurt.eval"))
    ended = grade(tmp_path, "cmmlu", "hurt.eval", "--limit", LIMIT, "--run", "run")
    assert ended.code == 3
    assert "did not end well" in ended.err
    assert ended.overall["outcomes"]["error"] == 2
    rows = read_jsonl(tmp_path / "run" / "answers.jsonl")
    assert [row["error"].split(":")[0] for row in rows if row["text"] is None] == ["error", "limit"]


def test_a_judge_is_asked_through_inspects_models(logs: dict[str, Any], tmp_path: Path) -> None:
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi

    from viva.interop import inspect_tasks

    asked: list[str] = []

    @modelapi(name="patient")
    class Judging(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
            asked.append(input[-1].text)
            said = obedient("So it is.\nVERDICT: 1", asked[-1])
            return ModelOutput.from_content("judge", said if len(asked) > 1 else "Hm.")

    spoken = list(opened("csbench", limit=LIMIT).questions())
    task = inspect_tasks.csbench(judge="patient/judge", limit=LIMIT)
    wanted = next(question.id for question in spoken if question.kind == "blank" and reply_to(question))
    log = run(task, Answers(spoken), tmp_path, sample_id=[wanted])
    (score,) = log.samples[0].scores.values()
    assert len(asked) == 2, "a verdict that cannot be read is asked for again"
    assert score.value == 1.0
    assert score.metadata["viva"]["decided"] == {"answer": "judge"}
    assert "judge:patient/judgex1" in log.eval.metadata["viva"]["signature"]


def test_infibench_is_the_best_of_ten_epochs(logs: dict[str, Any]) -> None:
    from viva.interop import inspect_tasks

    task = inspect_tasks.infibench(limit=2)
    assert task.epochs == 10
    assert [one.__registry_info__.name.rpartition("/")[2] for one in task.epochs_reducer] == ["max"]


def test_what_is_no_log_is_refused(logs: dict[str, Any], tmp_path: Path) -> None:
    whole = Path(logs["cmmlu"].location).read_bytes()
    deep = '{"version": 2, "status": "success", "eval": ' + '{"a": ' * 200_000 + "1" + "}" * 200_001
    for name, content in {
        "cut.eval": whole[:2000],
        "zip.eval": b"PK\x03\x04" + b"x" * 50,
        "deep.json": deep.encode(),
    }.items():
        (tmp_path / name).write_bytes(content)
        ended = command(tmp_path, "grade", "cmmlu", name)
        assert ended.code == 2, ended.err
        assert name in ended.err
        assert "Traceback" not in ended.err


def test_names_in_a_zip_file_are_no_paths(logs: dict[str, Any], tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with zipfile.ZipFile(inside / "tricks.eval", "w") as packed:
        packed.writestr("../../escaped.json", b"{}")
        packed.writestr("/tmp/escaped-i.json", b"{}")
    ended = command(inside, "grade", "cmmlu", "tricks.eval")
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert not list(tmp_path.rglob("escaped*"))
