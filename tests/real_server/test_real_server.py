"""Viva against a server of another project: `transformers serve`, with a model made on the spot by tiny_model.py.

Run by `make real-server`, in a separate environment because torch and transformers are large; not part of `make test`.
No model is downloaded, nothing leaves 127.0.0.1.

It takes one to two minutes on two cores. Last run with torch 2.13.0 and transformers 5.23.0.
"""

import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiers import absent

pytestmark = pytest.mark.torch("transformers", "fastapi", "uvicorn", "openai")

HERE = Path(__file__).parent
QUESTIONS = 24
MAX_TOKENS = 24
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
    "OPENAI_API_KEY": "x",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # Questions that somebody has fetched must not take the place of the bundled samples.
    "VIVA_CACHE": os.devnull,
}
ENVIRONMENT.pop("VIVA_DATA", None)


class Server:
    """`transformers serve` on a port of 127.0.0.1, which can be killed and started again."""

    def __init__(self, model: Path, log: Path) -> None:
        self.model = str(model)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        starter = "import sys; from transformers.cli.transformers import main; sys.exit(main())"
        address = ["--host", "127.0.0.1", "--port", str(self.port), "--device", "cpu"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", starter, "serve", self.model, *address],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self._get("/health")
            except OSError:
                time.sleep(0.2)
            else:
                return
        self.kill()
        pytest.fail(f"transformers serve did not start:\n{self._log.read_text(errors='replace')[-2000:]}")

    def _get(self, path: str) -> bytes:
        # An empty ProxyHandler: the proxy of the environment has no business on 127.0.0.1.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=5) as reply:
            return reply.read()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=30)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    subprocess.run(
        [sys.executable, HERE / "tiny_model.py", folder], env=ENVIRONMENT, check=True, timeout=200, capture_output=True
    )
    return folder


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if importlib.metadata.version("transformers").startswith("4."):
        absent("needs transformers from 5 on: `serve` of the fourth can only stream")
    server = Server(model, tmp_path_factory.mktemp("log") / "serve.log")
    server.start()
    yield server
    server.kill()


def viva(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "viva", *map(str, arguments)],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command(server: Server, run: Path, *more: object, model: str | None = None) -> list[object]:
    """`viva run` on the bundled samples, which are the same everywhere."""
    reached = ["--model", f"openai/{model or server.model}", "--base-url", server.url]
    return ["run", *more, *reached, "--limit", QUESTIONS, "--max-tokens", MAX_TOKENS, "--run", run]


def lines(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "responses.jsonl").read_text().splitlines()]


def answered(run: Path) -> dict[str, str]:
    return {line["key"]: line.get("text", "") for line in lines(run) if "error" not in line}


def outcomes(run: Path) -> set[str]:
    return {json.loads(line)["outcome"] for line in (run / "scores.jsonl").read_text().splitlines()}


@pytest.mark.parametrize("benchmarks", [("csbench", "cmmlu"), ("syneval",)], ids=str)
@pytest.mark.parametrize("more", [(), ("--shots", 5), ("--form", "base", "--shots", 2)], ids=str)
def test_every_question_is_answered_counted_and_graded(
    server: Server, tmp_path: Path, more: tuple, benchmarks: tuple
) -> None:
    """SynEval's are phrases, letters and truth values; its exemplars are drawn three times."""
    run = tmp_path / "run"
    done = viva(*command(server, run, *benchmarks, *more))
    assert done.returncode == 0, done.stderr
    answers = lines(run)
    syneval = "syneval" in benchmarks
    assert len(answers) == len(benchmarks) * QUESTIONS * (3 if syneval and "--shots" in more else 1)
    for answer in answers:
        assert "error" not in answer
        assert answer["usage"]["input"] > 10
        assert 0 < answer["usage"]["output"] <= MAX_TOKENS
        if syneval:
            assert "base" not in more or "\n" not in answer.get("text", "").strip("\n"), "it was told to stop there"
        else:
            assert (answer.get("stop_reason") == "length") == (answer["usage"]["output"] == MAX_TOKENS)
    assert syneval or outcomes(run) & {"right", "wrong"}, "not one letter was read"
    assert "error" not in outcomes(run)


def test_the_answers_are_those_of_the_vendors_own_client(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    run = tmp_path / "run"
    assert viva(*command(server, run, "cmmlu")).returncode == 0
    with openai.OpenAI(api_key="x", base_url=server.url) as client:
        for answer in lines(run)[:5]:
            shown = viva("show", "cmmlu", "--prompt", "--question", answer["question"], "--json")
            reply = client.chat.completions.create(
                model=server.model, messages=json.loads(shown.stdout), temperature=0, max_tokens=MAX_TOKENS
            )
            assert reply.choices[0].message.content == answer.get("text", "")
            assert reply.usage.prompt_tokens == answer["usage"]["input"]
            assert reply.choices[0].finish_reason == answer.get("stop_reason", "stop")


def test_a_seed_gives_the_same_samples_again_and_they_differ(server: Server, tmp_path: Path) -> None:
    sampled = ("cmmlu", "--temperature", 1, "--samples", 3, "--seed", 1)
    # One at a time: this server has one generator for all requests in flight.
    runs = [tmp_path / name for name in ("first", "second")]
    for run in runs:
        done = viva(*command(server, run, *sampled, "--concurrency", 1))
        assert done.returncode == 0, done.stderr
    first, second = map(answered, runs)
    assert len(first) == 3 * QUESTIONS
    assert first == second
    of_question: dict[str, set[str]] = {}
    for line in lines(runs[0]):
        of_question.setdefault(line["question"], set()).add(line.get("text", ""))
    assert any(len(different) > 1 for different in of_question.values())


def test_a_wrong_model_name_is_given_up_soon(server: Server, tmp_path: Path) -> None:
    started = time.monotonic()
    done = viva(*command(server, tmp_path / "run", "csbench", "cmmlu", model="no-such-model"))
    assert done.returncode == 4
    assert "no-such-model" in done.stderr
    assert len(lines(tmp_path / "run")) < 2 * QUESTIONS
    assert time.monotonic() - started < 30


def test_a_server_that_dies_costs_no_answer(server: Server, tmp_path: Path) -> None:
    run = tmp_path / "run"
    work = command(server, run, "csbench", "cmmlu", "--shots", 5, "--concurrency", 1, "--max-attempts", 1)
    with subprocess.Popen(
        [sys.executable, "-m", "viva", *map(str, work)],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as asking:
        journal = run / "responses.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
            assert time.monotonic() < deadline, "no answers within a minute"
            assert asking.poll() is None
            time.sleep(0.01)
        server.kill()
        assert asking.wait(timeout=60) in (3, 4)
    before = answered(run)
    assert 5 <= len(before) < 2 * QUESTIONS

    server.start()
    done = viva("resume", run)
    assert done.returncode == 0, done.stderr
    after = answered(run)
    assert len(after) == 2 * QUESTIONS
    assert before.items() <= after.items()
    assert "error" not in outcomes(run)
