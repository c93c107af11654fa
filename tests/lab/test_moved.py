"""Messages for core options that moved to the lab, and the seeds of an adaptive run's rounds."""

import json
from pathlib import Path

import pytest

import viva
from cli.test_seeds import run, sent, server
from judging.serving import JudgeServer
from rows import each_row
from servers.fixtures import Viva

__all__ = ["server"]
pytestmark = pytest.mark.usefixtures("elsewhere")
RUN = ("run", "cmmlu", "--model", "baseline/first")


@each_row(
    ((*RUN, "--vary", "prompt=2"), "", "variance run BENCHMARK --vary"),
    ((*RUN, "--until=4"), "", "adaptive run BENCHMARK --until"),
    ((*RUN, "--adaptive", "r"), "", "adaptive run BENCHMARK --calibration"),
    (("resume", "run", "--canaries", "4"), "", "judge-bias resume RUN --canaries"),
    ((*RUN, "--config", "run.yaml"), "vary: prompt=2", "variance run BENCHMARK --vary"),
    ((*RUN, "--config", "run.yaml"), "adaptive: runs", "adaptive run BENCHMARK --calibration"),
    ((*RUN, "--config", "run.yaml"), "canaries: 4", "judge-bias run BENCHMARK --canaries"),
)
def test_an_option_that_moved_is_named(words: tuple[str, ...], config: str, now: str, *, viva: Viva) -> None:
    (viva.folder / "run.yaml").write_text(config)
    ended = viva(*words)
    assert ended.code == 2
    assert f"did you mean `viva {now}`?" in ended.err.splitlines()[-1]


def test_a_keyword_that_moved_is_named() -> None:
    with pytest.raises(TypeError, match="no option 'canaries'; did you mean `viva judge-bias resume RUN"):
        viva.resume("out", canaries=4)


def test_rounds_of_an_adaptive_run_send_the_seeds_of_a_whole_one(server: JudgeServer) -> None:
    run(server, "whole", limit=None, samples=1)
    whole = sent(server)
    ids = [json.loads(line)["question"] for line in Path("whole/scores.jsonl").read_bytes().splitlines()]
    known = "".join(f"{name},0,{model},{(place + model) % 2}\n" for place, name in enumerate(ids) for model in range(6))
    Path("known.csv").write_text(f"question,sample,model,score\n{known}")
    asked = {"model": "openai/m", "base_url": server.url, "seed": 3, "temperature": "1", "progress": "quiet"}
    with pytest.warns(viva.UnansweredWarning):
        viva.lab.adaptive_run("cmmlu", calibration="known.csv", until="70", run="adaptive", **asked)
    found = sent(server)
    assert len(found) == 70
    assert found < whole
