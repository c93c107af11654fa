"""Choices of `viva run` against transformers, one question at a time, and lm-evaluation-harness.

CMMLU's questions of all 67 subjects by four shapes of models and three kinds of tokenizers: one or two a subject behind
an exemplar. With VIVA_THOROUGH=1 all 11,582 behind five, which takes an hour of one core.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from cli.collected import read_jsonl
from cli.told import told
from models.local import lmeval
from rows import tabled
from viva.benchmarks import open_exam
from viva.cli.ask.run import run_command
from viva.providers import Endpoint, connect
from viva.types import Choose, Choosing, ExamSpec, Sampling

MODELS: dict[str, dict[str, Any]] = {
    "llama": {"shape": "llama", "kind": "sentencepiece", "seed": 1},
    "qwen2": {"shape": "qwen2", "kind": "bytes", "seed": 1},
    "mistral, sliding": {"shape": "mistral", "kind": "unigram", "seed": 2, "window": 64},
    "neox": {"shape": "neox", "kind": "sentencepiece", "seed": 12},
}
"""Seeds by which a model does not choose one letter nearly always, as small ones do. Qwen2 has a byte-level tokenizer
always: transformers takes that for granted, and makes one of whatever lies in the folder."""
THOROUGH = bool(os.environ.get("VIVA_THOROUGH"))
QUESTIONS = 11_582
SUBJECTS = 67
LIMIT = None if THOROUGH else 100
"""Spread evenly over all questions: so no subject goes without."""
SHOTS = 5 if THOROUGH else 1
CLOSE = 1e-4
"""How far natural log-probabilities may be apart."""

pytestmark = [pytest.mark.torch("transformers"), *([pytest.mark.timeout(0)] if THOROUGH else [])]


class EvaluationResult(Struct):
    """One exam of one model by the run folder: all that was asked, and what came of it, by question."""

    folder: Path
    requests: dict[str, Choose]
    answers: dict[str, str]
    """The gold ones."""
    logprobs: dict[str, list[float]]
    chosen: dict[str, str]
    values: dict[str, float]


def sit(run: Path, spec: ExamSpec, data: Path | None, *folders: Path) -> list[EvaluationResult]:
    """Have `viva run` ask the models, and read what it wrote."""
    models = [part for folder in folders for part in ("--model", f"hf/{folder}")]
    where = ("--data", data) if data else ()
    few = ("--limit", spec.limit) if spec.limit else ()
    how = ("--only", spec.only, "--shots", spec.shots, "--form", spec.form, "--answer-by", spec.choose, *few)
    told(run_command, spec.benchmark, *where, *how, *models, "--run", run, "--progress", "quiet", "--format", "json")
    entries, rows = (read_jsonl(run / name) for name in ("responses.jsonl", "scores.jsonl"))
    exam = open_exam(spec, data, None)
    found: list[EvaluationResult] = []
    for folder in folders:
        model = connect(f"hf/{folder}", Endpoint())
        questions = list(exam.questions())
        asked = {question.id: exam.request(question, 0, Sampling(), model.context_window) for question in questions}
        requests = {name: request for name, request in asked.items() if isinstance(request, Choose)}
        mine = {row["question"]: row for row in rows if row["model"] == model.name and row["question"] in requests}
        said = {entry["question"]: entry for entry in entries if entry["model"] == model.name}
        found.append(
            EvaluationResult(
                folder,
                requests,
                {question.id: question.answer or "" for question in questions},
                {name: [one["logprob"] for one in said[name]["likelihoods"]] for name in requests},
                {name: row["answer"] for name, row in mine.items()},
                {name: row["value"] for name, row in mine.items()},
            )
        )
    return found


@pytest.fixture(scope="module")
def sat(
    made: Callable[..., Path], published: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, EvaluationResult]:
    """CMMLU, asked of all models in one run."""
    spec = ExamSpec(benchmark="cmmlu", language="zh", shots=SHOTS, form="base", choose="next-token", limit=LIMIT)
    folders = [made(**options, width=32) for options in MODELS.values()]
    run = tmp_path_factory.mktemp("parity") / "run"
    return dict(zip(MODELS, sit(run, spec, published, *folders), strict=True))


@pytest.fixture(scope="module")
def whole(made: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, EvaluationResult]:
    """The bundled samples, by the likelihood of whole options: after "：", and after a colon and a blank."""
    work = tmp_path_factory.mktemp("whole")
    by: Choosing = "likelihood"
    found: dict[str, EvaluationResult] = {}
    for benchmark, language, only, model in (("cmmlu", "zh", "", "llama"), ("csbench", "en", "comprehension", "qwen2")):
        spec = ExamSpec(benchmark=benchmark, language=language, only=only, shots=1, form="base", choose=by)
        (found[benchmark],) = sit(work / benchmark, spec, None, made(**MODELS[model], width=32))
    return found


@pytest.fixture(scope="module")
def peer(
    sat: dict[str, EvaluationResult], whole: dict[str, EvaluationResult], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What lm-evaluation-harness makes of the same prompts, by question: all models in one process of it.

    Of CMMLU it is asked one question a subject, or all where the test is to be thorough.
    """
    folder = tmp_path_factory.mktemp("peer")
    work: list[dict[str, str]] = []
    for number, one in enumerate((*sat.values(), *whole.values())):
        documents = folder / f"{number}.jsonl"
        rows = [document(one, name) for name in asked_twice(one)]
        documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        work.append({"model": str(one.folder), "documents": str(documents), "out": str(documents.with_suffix(".json"))})
    (folder / "work.json").write_text(json.dumps(work), encoding="utf-8")
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "HF_HOME": str(folder / "hf")}
    environment |= {name: value for name, value in os.environ.items() if name.endswith("_NUM_THREADS")}
    command = [sys.executable, lmeval.__file__, str(folder / "work.json")]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(Path(one["out"]).read_text(encoding="utf-8")) for one in work]
    both = zip((sat | whole).items(), found, strict=True)
    return {model: dict(zip(asked_twice(one), rows, strict=True)) for (model, one), rows in both}


def asked_twice(one: EvaluationResult) -> list[str]:
    """The questions that lm-evaluation-harness is asked as well."""
    by_subject = {name.partition("/")[0]: name for name in one.requests}
    return list(one.requests) if THOROUGH or len(by_subject) < SUBJECTS else list(by_subject.values())


def document(one: EvaluationResult, name: str) -> dict[str, Any]:
    """A question for lm-evaluation-harness."""
    request = one.requests[name]
    gold = names(request).index(one.answers[name]) if one.answers[name] else 0
    return {"prompt": request.prompt, "choices": list(request.continuations), "gold": gold}


def names(request: Choose) -> tuple[str, ...]:
    """What the answers are called."""
    count = len(request.continuations)
    return ("true", "false") if count == 2 else tuple("ABCD"[:count])


def plain(one: EvaluationResult) -> dict[str, list[float]]:
    """Log-probabilities of the continuations: one prompt at a time, no cache, no padding, nothing of Viva's."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(one.folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(one.folder, dtype=torch.float32).eval()
    found: dict[str, list[float]] = {}
    with torch.inference_mode():
        for name, request in one.requests.items():
            ids = tokenizer(request.prompt)["input_ids"]
            assert len(ids) > len(request.prompt) / 4, "a tokenizer that drops what it does not know"
            after = [tokenizer(request.prompt + text)["input_ids"] for text in request.continuations]
            assert all(more[:-1] == ids for more in after)
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
            found[name] = torch.log_softmax(logits, -1)[[more[-1] for more in after]].tolist()
    return found


def differing(one: EvaluationResult, other: dict[str, list[float]]) -> list[str]:
    """Questions about which another chose otherwise."""
    best = {name: max(range(len(values)), key=values.__getitem__) for name, values in other.items()}
    return [name for name, index in best.items() if names(one.requests[name])[index] != one.chosen[name]]


def furthest(one: EvaluationResult, other: dict[str, list[float]]) -> float:
    """The largest difference between log-probabilities."""
    pairs = ((one.logprobs[name], values) for name, values in other.items())
    return max(abs(mine - theirs) for pair in pairs for mine, theirs in zip(*pair, strict=True))


def test_a_sample_is_chosen_from_as_one_question_at_a_time(made: Callable[..., Path], tmp_path: Path) -> None:
    spec = ExamSpec(benchmark="cmmlu", language="zh", shots=1, form="base", choose="next-token", limit=24)
    (one,) = sit(tmp_path / "run", spec, None, made(**MODELS["llama"], width=32))
    assert len(one.requests) == 24
    assert len(set(one.chosen.values())) > 1
    expected = plain(one)
    assert differing(one, expected) == []
    assert furthest(one, expected) < CLOSE


@pytest.mark.slow
@pytest.mark.peers("lm_eval")
def test_next_token_choice_is_that_of_lm_evaluation_harness(
    sat: dict[str, EvaluationResult], peer: dict[str, Any]
) -> None:
    for (model, one), row in tabled(*sat.items()):
        with row:
            assert len(one.requests) == len(one.chosen) == (LIMIT or QUESTIONS)
            usual = max(Counter(one.chosen.values()).values())
            assert usual < 0.8 * len(one.chosen), "a model that always says the same would prove little"
            expected = {name: found["logprobs"] for name, found in peer[model].items()}
            assert len({name.partition("/")[0] for name in expected}) == SUBJECTS
            assert differing(one, expected) == []
            assert furthest(one, expected) < CLOSE


@pytest.mark.slow
@pytest.mark.peers("lm_eval")
def test_the_likelihood_of_whole_options_is_that_of_lm_evaluation_harness(
    whole: dict[str, EvaluationResult], peer: dict[str, Any]
) -> None:
    for (benchmark, one), row in tabled(*whole.items()):
        with row:
            assert furthest(one, {name: found["logprobs"] for name, found in peer[benchmark].items()}) < CLOSE
            expected = {name: found["acc"] for name, found in peer[benchmark].items()}
            assert {name: one.values[name] for name in expected} == expected
            assert 0 < sum(expected.values()) < len(expected)
