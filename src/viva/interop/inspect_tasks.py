"""The five benchmarks as tasks of Inspect, found by its entry points: `inspect list`, `inspect eval viva/cmmlu`.

    inspect eval viva/cmmlu --model openai/gpt-4o -T shots=5
    inspect eval viva/csbench --model openai/gpt-4o -T language=zh -T data=DIR -T judge=openai/gpt-4o

Questions, prompts and scoring are Viva's: programs run in Viva's sandbox, a judge is asked through Inspect's models.
An answer that nobody could score (no judge, no toolchain, no usable gold) is NaN, Inspect's sign for unscored, and
stays out of every mean. The `headline` metric is the paper's average.
"""

from __future__ import annotations

from typing import Any

import msgspec
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate as Generating
from inspect_ai.solver import Solver, TaskState, solver

from viva.interop import asked
from viva.interop.asked import Asked, Settings, open_asked
from viva.models.reasoning import stop_reason
from viva.types import Aggregate, Generate, Message, Outcome, Prompt, Question, Response, Sampling, points_of

_REASONS: dict[str, str] = {
    "unparsed": "invalid_response_format", "empty": "no_response", "refused": "refusal", "truncated": "truncated",
    "ungraded": "scoring_failed", "unsound": "no usable gold answer", "error": "scoring_failed",
    "not asked": "no_response",
}  # fmt: skip
_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@task
def csbench(
    data: str | None = None,
    language: str | None = None,
    shots: int | None = None,
    limit: int | None = None,
    judge: str | None = None,
    judge_samples: int = 1,
    cot: bool = False,
    only: str = "",
    as_published: bool = False,
    seed: int = 0,
) -> Task:
    """CS-Bench: computer science; blanks and open-ended questions need a `judge`."""
    how = Settings(
        data=data, language=language, shots=shots, limit=limit, cot=cot, only=only, as_published=as_published, seed=seed
    )
    return _task("csbench", how, judge, judge_samples)


@task
def clrbench(
    data: str | None = None,
    shots: int | None = None,
    limit: int | None = None,
    judge: str | None = None,
    judge_samples: int = 1,
    seed: int = 0,
) -> Task:
    """CLR-Bench: an answer, and why; rationales need a `judge`."""
    return _task("clrbench", Settings(data=data, shots=shots, limit=limit, seed=seed), judge, judge_samples)


@task
def cmmlu(
    data: str | None = None,
    shots: int | None = None,
    limit: int | None = None,
    cot: bool = False,
    as_published: bool = False,
    seed: int = 0,
) -> Task:
    """CMMLU: knowledge in Mandarin, averaged over its subjects."""
    how = Settings(data=data, shots=shots, limit=limit, cot=cot, as_published=as_published, seed=seed)
    return _task("cmmlu", how)


@task
def infibench(
    data: str | None = None, limit: int | None = None, as_published: bool = False, epochs: int | None = None
) -> Task:
    """InfiBench: free-form programming questions, the best of ten answers; programs run in Viva's sandbox."""
    return _task("infibench", Settings(data=data, limit=limit, as_published=as_published), epochs=epochs)


@task
def syneval(data: str | None = None, shots: int | None = None, limit: int | None = None, seed: int = 0) -> Task:
    """SynEval: the syntax of sentences."""
    return _task("syneval", Settings(data=data, shots=shots, limit=limit, seed=seed))


def _task(
    benchmark: str, how: Settings, judge: str | None = None, judge_samples: int = 1, epochs: int | None = None
) -> Task:
    opened = open_asked(benchmark, how)
    line = opened.exam.headline()
    draws = opened.draws
    settings = opened.settings(judges=(judge,) if judge else (), judge_samples=judge_samples)
    del settings["model"]  # Inspect's log says whom it asked
    return Task(
        dataset=MemoryDataset(
            [_sample(opened, question) for question in opened.exam.questions()], name=f"viva-{opened.exam.spec.label}"
        ),
        solver=viva_prompt(),
        scorer=viva_scorer(benchmark, msgspec.to_builtins(how), judge, judge_samples),
        metrics=[headline(line.label, line.over, line.attempts)],
        epochs=Epochs(epochs or draws.samples, "max" if line.attempts == "best" else "mean"),
        config=_config(draws.sampling),
        name=benchmark,
        version=opened.about.version,
        metadata={"viva": {"signature": "|".join(f"{name}:{value}" for name, value in settings.items()), **settings}},
    )


def _sample(opened: Asked, question: Question) -> Sample:
    """Return a question as an Inspect sample, with its tags for metrics and filters."""
    usual = opened.draws.sampling
    request = opened.exam.request(question, 0, usual)
    shorter = request.sampling.max_tokens if isinstance(request, Generate) else usual.max_tokens
    return Sample(
        id=question.id,
        input=_messages(request.prompt),
        choices=list(question.options) or None,
        target=question.answer or "",
        metadata={"viva_tags": dict(question.tags), "viva_weight": question.weight, "kind": question.kind}
        | ({"viva_max_tokens": shorter} if shorter != usual.max_tokens else {}),
    )


def _messages(prompt: Prompt) -> list[ChatMessage]:
    turns = (Message("user", prompt),) if isinstance(prompt, str) else prompt
    return [_MESSAGES[turn.role](content=turn.content) for turn in turns]


def _config(sampling: Sampling) -> GenerateConfig:
    return GenerateConfig(
        temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens, seed=sampling.seed
    )


@solver
def viva_prompt() -> Solver:
    """Generate with each question's own token limit, which may be below that of its exam."""

    async def solve(state: TaskState, generate: Generating) -> TaskState:
        shorter = state.metadata.get("viva_max_tokens")
        return await (generate(state, max_tokens=shorter) if shorter else generate(state))

    return solve


@scorer(metrics=[], name="viva")
def viva_scorer(benchmark: str, how: dict[str, Any], judge: str | None, judge_samples: int) -> Scorer:
    """Score samples as Viva does; `how` holds the fields of the exam's `Settings`."""
    exam = open_asked(benchmark, Settings(**how)).exam
    questions = {question.id: question for question in exam.questions()}

    async def mark(state: TaskState, target: Target) -> Score:
        question = questions[str(state.sample_id)]
        response = Response(
            text=state.output.completion if state.output.choices else "",
            stop_reason=stop_reason(state.output.stop_reason) if state.output.choices else "other",
        )
        judges = {judge: _asking(get_model(judge))} if judge else {}
        score = await asked.score(exam, question, response, judges, judge_samples)
        kept = {"outcome": score.outcome, "parts": score.parts, "decided": score.decided, "verdicts": score.verdicts}
        value = points_of(score.outcome, score.value)
        more: dict[str, Any] = {
            "answer": score.answer or None,
            "explanation": score.explanation or None,
            "reason": _REASONS.get(score.outcome),
            "metadata": {"viva": kept},
        }
        return Score.unscored(**more) if value is None else Score(value=value, **more)

    return mark


def _asking(judge: Model) -> asked.Ask:
    async def ask(request: Generate) -> str:
        output = await judge.generate(_messages(request.prompt), config=_config(request.sampling))
        return output.completion if output.choices and output.stop_reason not in ("max_tokens", "model_length") else ""

    return ask


@metric
def headline(label: str, over: str, attempts: str) -> Metric:
    """Return a metric: the paper's average, its 95 % interval, and the number of samples."""

    def measure(scores: list[SampleScore]) -> Value:
        marked = [_marked(score, number) for number, score in enumerate(scores)]
        cell = asked.overall(marked, Aggregate(label, over=over))
        unknown = float("nan")
        return {
            label: unknown if cell.mean is None else cell.mean,
            "low": unknown if cell.low is None else cell.low,
            "high": unknown if cell.high is None else cell.high,
            "questions": cell.n,
        }

    return measure


def _marked(score: SampleScore, number: int) -> asked.Marked:
    """Return a sample's score, already reduced over its epochs."""
    value = score.score.as_float()
    outcome: Outcome = "right" if value >= 1 else "partly" if value > 0 else "wrong"
    known = score.sample_metadata or {}
    tags = known.get("viva_tags")
    return asked.Marked(
        question=str(score.sample_id if score.sample_id is not None else number),
        sample=0,
        value=value,
        outcome=outcome,
        tags=dict(tags) if isinstance(tags, dict) else {},
        weight=int(known.get("viva_weight", 1)),
    )
