"""`viva run --estimate`: what it would be, without asking anybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.engine.budget import Price, worst_case
from viva.engine.limits import Policy
from viva.engine.stages import Judge, with_questions
from viva.runs.open import OpenRun
from viva.runs.rationale_check import reply_of
from viva.types import Choose, ExamSpec, Generate, Kind, Question, Response, Usage

SHORT_REPLY: dict[Kind, int] = {
    "choice": 8, "choices": 10, "truth": 8, "blank": 24, "term": 12, "open": 300, "free": 300, "span": 16,
}  # fmt: skip
"""Tokens of a typical reply without chain of thought: an assumption, said as such."""
THOUGHT = 400
"""Tokens of a typical chain of thought."""
TRIES = 1 + Policy().rereads
"""How often a judge is asked for one verdict, as long as its replies cannot be read."""
JUDGE_REPLY = 80
"""Tokens of a typical verdict with its reasons."""
WORD = "because "
"""Two tokens by `estimate_tokens`: what a rationale is made of where the set has none."""


class Judged(Struct):
    """What one judge is asked about the answers of one sitting; tokens."""

    requests: int = 0
    prompts: int = 0
    most_prompts: int = 0
    """With replies of the examinee's that are as long as they may be."""
    most_replies: int = 0

    @property
    def replies(self) -> int:
        """Typical ones."""
        return self.requests * JUDGE_REPLY

    def add(self, requests: Sequence[Generate], times: int, longest: int) -> None:
        """All that is asked about one question, of `times` answers that are at most `longest`."""
        for request in requests:
            worst = worst_case(request)
            self.requests += times
            self.prompts += times * worst.input
            self.most_prompts += times * TRIES * (worst.input + longest)
            self.most_replies += times * TRIES * worst.output


def estimate(opened: OpenRun) -> Iterator[str]:
    """Requests, tokens and money for every model, a line each."""
    yield (
        "An estimate from the prompts' lengths (no tokenizer); replies are assumed typical, the most is --max-tokens "
        f"for models, and {TRIES} tries for every verdict of a judge."
    )
    if opened.limits.batch:
        yield "Batches: list prices are halved where the vendor does so; those of --price count as they are."
    total = most = 0.0
    known = True
    judge_panel = opened.judge_panel
    for evaluation in opened.evaluations:
        requests = tokens = output = limit = 0
        judged = Judged()
        for question in evaluation.exam.questions():
            request = evaluation.request(question, 0)
            worst = worst_case(request)
            requests += evaluation.samples
            tokens += evaluation.samples * worst.input
            thinks = evaluation.exam.spec.chain_of_thought or evaluation.exam.spec.rationale
            typical = (THOUGHT if thinks else 0) + SHORT_REPLY[question.kind]
            output += evaluation.samples * (worst.output if isinstance(request, Choose) else typical)
            limit += evaluation.samples * worst.output
            if judge_panel:
                wanted = evaluation.exam.judgements(
                    question, _typical(evaluation.exam.spec, question), judge_panel.samples, {}
                )
                judged.add(wanted, evaluation.samples, worst.output)
        line = f"{evaluation.model.name} on {evaluation.label}: {requests:,} requests, about {tokens:,} + {output:,} "
        "tokens"
        costs = _costs(evaluation.price, Usage(tokens, output), Usage(tokens, limit))
        total, most, known = total + costs[0], most + costs[1], known and evaluation.price is not None
        yield line + _money(evaluation.price, costs)
        for judge in judge_panel.judges if judge_panel and judged.requests else ():
            costs, line = _judging(judge, judged)
            yield line
            total, most, known = total + costs[0], most + costs[1], known and judge.price is not None
    marked = Judged()
    for exam, question, canary in with_questions(opened.folder.record.canaries, opened.exams):
        marked.add(
            exam.judgements(question, Response(text=canary.text), judge_panel.samples if judge_panel else 0, {}), 1, 0
        )
    for judge in judge_panel.judges if judge_panel and marked.requests else ():
        costs, line = _judging(judge, marked, " of canaries")
        yield line
        total, most = total + costs[0], most + costs[1]
    yield f"in all: about ${total:.2f}, at most ${most:.2f}" + ("" if known else ", plus what has no known price")


def _judging(judge: Judge, judged: Judged, what: str = "") -> tuple[tuple[float, float], str]:
    """What one judge is asked: what it costs, about and at most, and the line that says so."""
    typical, most = Usage(judged.prompts, judged.replies), Usage(judged.most_prompts, judged.most_replies)
    costs = _costs(judge.price, typical, most)
    line = f"{judge.model.name} as judge{what}: {judged.requests:,} requests, about {typical.input:,} + "
    return costs, f"{line}{typical.output:,} tokens{_money(judge.price, costs)}"


def _costs(price: Price | None, typical: Usage, worst: Usage) -> tuple[float, float]:
    return (price.cost(typical), price.cost(worst)) if price else (0.0, 0.0)


def _money(price: Price | None, costs: tuple[float, float]) -> str:
    return f", about ${costs[0]:.2f}, at most ${costs[1]:.2f}" if price else ", price unknown (--price MODEL=IN/OUT)"


def _typical(spec: ExamSpec, question: Question) -> Response:
    """The gold answer, with the gold rationale where one is asked for: what a judge would be shown of it.

    Similarity may settle some of it before a judge does, and equal answers are judged once: there is less to ask then.
    """
    answer = str(question.answer or WORD)
    if spec.rationale:
        return Response(text=reply_of(question.explanation.strip() or WORD * (THOUGHT // 2), answer))
    return Response(text=answer)
