"""`viva run --estimate`: what it would be, without asking anybody."""

from __future__ import annotations

import click

from viva.cli.examination import Examination
from viva.engine.budget import worst_case
from viva.prompting import estimate_tokens, prompt_text
from viva.types import ExamSpec, Kind, Question, Usage

SHORT_REPLY: dict[Kind, int] = {
    "choice": 8, "choices": 10, "truth": 8, "blank": 24, "term": 12, "open": 300, "free": 300, "span": 16,
}  # fmt: skip
"""Tokens of a typical reply without chain of thought: an assumption, said as such."""
THOUGHT = 400
"""Tokens of a typical chain of thought."""
JUDGE_PROMPT, JUDGE_REPLY = 450, 80


def estimate(examination: Examination) -> None:
    """Print requests, tokens and money for every model."""
    click.echo(
        "An estimate from the prompts' lengths (no tokenizer); replies are assumed typical, the most is --max-tokens."
    )
    total = most = 0.0
    known = True
    for sitting in examination.sittings:
        requests = tokens = output = limit = judged = 0
        for question in sitting.exam.questions():
            request = sitting.exam.request(question, 0, sitting.sampling)
            requests += sitting.samples
            tokens += sitting.samples * estimate_tokens(prompt_text(request.prompt))
            thinks = sitting.exam.spec.chain_of_thought or sitting.exam.spec.rationale
            output += sitting.samples * ((THOUGHT if thinks else 0) + SHORT_REPLY[question.kind])
            limit += sitting.samples * worst_case(request).output
            judged += sitting.samples * (_by_judge(sitting.exam.spec, question))
        line = f"{sitting.model.name} on {sitting.label}: {requests:,} requests, about {tokens:,} + {output:,} tokens"
        if sitting.price is None:
            known = False
            line += ", price unknown (--price IN/OUT)"
        else:
            cost, worst = (sitting.price.cost(Usage(tokens, reply)) for reply in (output, limit))
            total, most = total + cost, most + worst
            line += f", about ${cost:.2f}, at most ${worst:.2f}"
        click.echo(line)
        bench = examination.bench
        for judge in bench.judges if bench and judged else ():
            verdicts = judged * bench.samples if bench else 0
            line = f"{judge.model.name} as judge: {verdicts:,} requests"
            if judge.price is None:
                known = False
            else:
                cost = judge.price.cost(Usage(JUDGE_PROMPT * verdicts, JUDGE_REPLY * verdicts))
                total, most = total + cost, most + cost
                line += f", about ${cost:.2f}"
            click.echo(line)
    click.echo(f"in all: about ${total:.2f}, at most ${most:.2f}" + ("" if known else ", plus what has no known price"))


def _by_judge(spec: ExamSpec, question: Question) -> int:
    """About how much of one answer goes to a judge: what no rule decides. Similarity may settle some of it before."""
    return int(question.kind in ("blank", "open")) + int(spec.rationale)
