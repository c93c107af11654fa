"""`viva run --estimate`: requests, tokens and cost, without asking any model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, Struct

from viva.contracts import AdaptingModel, Model
from viva.engine.budget import Price, worst_case
from viva.engine.folder import ModelRecord
from viva.engine.sendingslots import Policy
from viva.engine.stages import Judge, with_questions
from viva.errors import option
from viva.providers import RequestOptions
from viva.runs.checks import reply_of
from viva.runs.open import OpenRun
from viva.types import Choose, ExamSpec, Generate, Kind, Question, Response, Usage

SHORT_REPLY: dict[Kind, int] = {
    "choice": 8, "choices": 10, "truth": 8, "blank": 24, "term": 12, "open": 300, "free": 300, "span": 16,
}  # fmt: skip
"""Tokens of a typical reply without chain of thought: an assumption, shown as such."""
THOUGHT = 400
"""Tokens of a typical chain of thought."""
REASONING = {"none": 0, "minimal": 200, "low": 1_000, "": 3_000, "medium": 3_000, "high": 8_000, "xhigh": 16_000}
"""Tokens of a reasoning model's typical thoughts, by effort: an assumption, shown as such."""
TRIES = 1 + Policy().rereads
"""How often a judge is asked for one verdict at most, while its replies cannot be read."""
JUDGE_REPLY = 80
"""Tokens of a typical verdict with its reasons."""
WORD = "because "
"""Two tokens by `estimate_tokens`: filler of an assumed rationale where the set has none."""


class Judged(Struct):
    """The requests to one judge about the answers of one evaluation; numbers are tokens."""

    judge: Judge
    thought: int
    """Thoughts before a typical verdict."""
    requests: int = 0
    prompts: int = 0
    replies: int = 0
    """Typical replies."""
    most_prompts: int = 0
    """Prompts, if the judged answers are as long as allowed."""
    most_replies: int = 0

    def asked(self) -> bool:
        """Return whether it is asked anything."""
        return self.requests > 0

    def add(self, requests: Sequence[Generate], times: int, longest: int) -> None:
        """Add the requests about one question: `times` answers of at most `longest` tokens."""
        for request in requests:
            worst = worst_case(request, self.judge.model)
            self.requests += times
            self.prompts += times * worst.input
            self.replies += times * min(JUDGE_REPLY + self.thought, worst.output)
            self.most_prompts += times * TRIES * (worst.input + longest)
            self.most_replies += times * TRIES * worst.output


def estimate(opened: OpenRun) -> Iterator[str]:
    """Yield requests, tokens and money for every model, a line each."""
    yield (
        "An estimate from the prompts' lengths (no tokenizer); replies are assumed typical, the most is "
        f"{option('max_tokens')} "
        f"for models, and {TRIES} tries for every verdict of a judge."
    )
    if opened.folder.record.adaptive is not None:
        until = opened.folder.record.adaptive.until
        yield f"This is what all questions would take: an adaptive run ends earlier ({option('until')} {until})."
    if opened.limits.batch:
        yield f"Batches: list prices are halved where the vendor does so; those of {option('price')} count as they are."
    total = most = 0.0
    known = True
    judge_panel, record = opened.judge_panel, opened.folder.record
    thoughts = _thoughts(opened.models, record.models)
    judges_think = _thoughts([judge.model for judge in opened.judges], record.judges)
    yield from _assumed(thoughts | judges_think)

    def judged_by(judges: Sequence[Judged], what: str = "") -> Iterator[str]:
        nonlocal total, most, known
        for judging in filter(Judged.asked, judges):
            costs, line = _judging(judging, what)
            yield line
            total, most, known = total + costs[0], most + costs[1], known and judging.judge.price is not None

    for evaluation in opened.evaluations:
        requests = tokens = output = limit = 0
        judged = [Judged(judge, judges_think[judge.model.name]) for judge in opened.judges]
        thought = thoughts[evaluation.model.name]
        design = evaluation.exam.spec.vary
        cells = 1 if design is UNSET else len(design.cells)
        times = evaluation.samples // cells  # for each cell of a design, since prompts differ in length
        for question, cell in itertools.product(evaluation.exam.questions(), range(cells)):
            request = evaluation.request(question, cell)
            worst = worst_case(request, evaluation.model)
            requests += times
            tokens += times * worst.input
            thinks = evaluation.exam.spec.chain_of_thought or evaluation.exam.spec.rationale
            typical = (THOUGHT if thinks else 0) + SHORT_REPLY[question.kind]
            if thought:
                typical = min(typical + thought, worst.output)
            output += times * (worst.output if isinstance(request, Choose) else typical)
            limit += times * worst.output
            if judge_panel:
                wanted = evaluation.exam.judgements(
                    question, _typical(evaluation.exam.spec, question), judge_panel.samples, {}
                )
                for judging in judged:
                    judging.add(wanted, times, worst.output)
        line = f"{evaluation.model.name} on {evaluation.label}: {requests:,} requests, "
        line += f"about {tokens:,} + {output:,} tokens"
        costs = _costs(evaluation.price, Usage(tokens, output), Usage(tokens, limit))
        total, most, known = total + costs[0], most + costs[1], known and evaluation.price is not None
        yield line + _money(evaluation.price, costs)
        yield from judged_by(judged)
    marked = [Judged(judge, judges_think[judge.model.name]) for judge in opened.judges]
    for exam, question, canary in with_questions(opened.folder.record.canaries, opened.exams):
        wanted = exam.judgements(question, Response(text=canary.text), judge_panel.samples if judge_panel else 0, {})
        for judging in marked:
            judging.add(wanted, 1, 0)
    yield from judged_by(marked, " of canaries")
    if not known and not most:
        yield f"in all: price unknown ({option('price', 'MODEL=IN/OUT')})"
        return
    yield f"in all: about ${total:.2f}, at most ${most:.2f}" + ("" if known else ", plus what has no known price")


def estimate_verdicts(
    judges: Sequence[Judge], records: Sequence[ModelRecord], requests: Sequence[Sequence[Generate]]
) -> Iterator[str]:
    """Yield requests, tokens and cost of asking every judge its own requests once, a line each."""
    thoughts = _thoughts([judge.model for judge in judges], records)
    yield from _assumed(thoughts)
    for judge, asked in zip(judges, requests, strict=True):
        judging = Judged(judge, thoughts[judge.model.name])
        judging.add(asked, 1, 0)
        yield _judging(judging)[1]


def _thoughts(models: Sequence[Model], records: Sequence[ModelRecord]) -> dict[str, int]:
    """Return tokens that each model is assumed to think for before a reply; 0 for one that does not reason."""
    tokens: dict[str, int] = {}
    for model, record in zip(models, records, strict=True):
        options = record.request or RequestOptions()
        thinks = isinstance(model, AdaptingModel) and model.adapting.thinks
        assumed = min(REASONING[options.effort], options.budget) if options.budget else REASONING[options.effort]
        tokens[model.name] = assumed if thinks else 0
    return tokens


def _assumed(thoughts: Mapping[str, int]) -> Iterator[str]:
    assumptions = ", ".join(f"{name} {count:,}" for name, count in thoughts.items() if count)
    if assumptions:
        yield (
            f"Models that reason are assumed to think for so many tokens before a reply: {assumptions}; real "
            f"thoughts differ tenfold: a run with {option('limit', '20')} shows theirs."
        )


def _judging(judged: Judged, what: str = "") -> tuple[tuple[float, float], str]:
    """Return one judge's costs in US dollars, (typical, at most), and a line with its requests and tokens."""
    judge = judged.judge
    typical, most = Usage(judged.prompts, judged.replies), Usage(judged.most_prompts, judged.most_replies)
    costs = _costs(judge.price, typical, most)
    line = f"{judge.model.name} as judge{what}: {judged.requests:,} requests, about {typical.input:,} + "
    return costs, f"{line}{typical.output:,} tokens{_money(judge.price, costs)}"


def _costs(price: Price | None, typical: Usage, worst: Usage) -> tuple[float, float]:
    return (price.cost(typical), price.cost(worst)) if price else (0.0, 0.0)


def _money(price: Price | None, costs: tuple[float, float]) -> str:
    return (
        f", about ${costs[0]:.2f}, at most ${costs[1]:.2f}"
        if price
        else f", price unknown ({option('price', 'MODEL=IN/OUT')})"
    )


def _typical(spec: ExamSpec, question: Question) -> Response:
    """Return a typical answer for a judge: the gold one, with the gold rationale where one is asked for.

    An upper estimate: similarity may decide some answers, and equal answers are judged once.
    """
    answer = str(question.answer or WORD)
    if spec.rationale:
        return Response(text=reply_of(question.explanation.strip() or WORD * (THOUGHT // 2), answer))
    return Response(text=answer)
