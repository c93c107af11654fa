"""`viva run --estimate`: judges are included, and the stated maximum is never exceeded."""

import re

import pytest

from benchmarks.explaining import opened
from servers.fixtures import Viva
from viva.engine.budget import worst_case
from viva.runs.forecast import _typical
from viva.types import ANSWER, RATIONALE

MODEL = ("--model", "openai/m@http://127.0.0.1:9/v1", "--price", "openai/m@http://127.0.0.1:9/v1=1/2")
JUDGES = ("openai/j@http://127.0.0.1:9/v1", "openai/k@http://127.0.0.1:9/v1")
PANEL = tuple(part for judge in JUDGES for part in ("--judge", judge, "--price", f"{judge}=1/2"))


def lines(viva: Viva, *arguments: object) -> list[str]:
    ended = viva("run", *arguments, "--estimate", "--run", "run").exits()
    assert not (viva.folder / "run").exists()
    return ended.out.splitlines()


def numbers(line: str) -> list[int]:
    """Requests, prompts, replies."""
    found = re.search(r": ([\d,]+) requests, about ([\d,]+) \+ ([\d,]+) tokens", line)
    assert found, line
    return [int(one.replace(",", "")) for one in found.groups()]


def money(line: str) -> list[float]:
    """About, at most."""
    return [float(one) for one in re.findall(r"\$([\d.]+)", line)]


@pytest.mark.parametrize("settings", [{}, {"rationale": True}], ids=["answers", "rationales"])
def test_every_judge_is_asked_about_both_aspects_so_often(viva: Viva, settings: dict[str, bool]) -> None:
    exam = opened("csbench", **settings)
    wanted = [
        request
        for question in exam.questions()
        for request in exam.judgements(question, _typical(exam.spec, question), 3, {})
    ]
    assert {request.aspect for request in wanted} == ({ANSWER, RATIONALE} if settings else {ANSWER})
    flags = ("--rationale",) if settings else ()
    found = lines(viva, "csbench", *flags, *MODEL, *PANEL, "--judge-samples", 3, "--samples", 2)
    judges = [line for line in found if " as judge: " in line]
    assert len(judges) == 2
    prompts = 2 * sum(worst_case(request).input for request in wanted)
    for line in judges:
        assert numbers(line) == [2 * len(wanted), prompts, 2 * len(wanted) * 80]
        about, most = money(line)
        assert about == pytest.approx((prompts + 2 * 2 * len(wanted) * 80) / 1e6, abs=0.005)
        # Three tries; 1,024 tokens of verdict; every answer as long as --max-tokens lets it be.
        longest = 3 * (prompts + 2 * len(wanted) * (2048 + 2 * 1024)) / 1e6
        assert most == pytest.approx(longest, abs=0.005)
    assert money(found[-1]) == pytest.approx(
        [sum(column) for column in zip(*map(money, found[1:-1]), strict=True)], abs=0.02
    )


def test_a_model_that_reasons_is_assumed_to_think_and_may_think_much_longer(viva: Viva) -> None:
    price = ("--price", "1/10")
    plain, reasons = (
        lines(viva, "csbench", "--model", f"openai/{name}@http://127.0.0.1:9/v1", *price)
        for name in ("gpt-4.1", "gpt-5")
    )
    assert "assumed to think" not in plain[1]
    assert "gpt-5@http://127.0.0.1:9/v1 3,000" in reasons[1]
    requests, _, replies = numbers(reasons[2])
    assert replies == numbers(plain[1])[2] + 3_000 * requests
    assert money(reasons[-1])[0] < money(reasons[-1])[1]
    assert money(reasons[-1])[1] > 4 * money(plain[-1])[1]
    unknown = lines(viva, "csbench", *MODEL, "--judge", JUDGES[0])
    assert "price unknown (--price MODEL=IN/OUT)" in next(line for line in unknown if " as judge: " in line)
    assert "plus what has no known price" in unknown[-1]
    assert not [line for line in lines(viva, "cmmlu", *MODEL, *PANEL) if " as judge: " in line], "rules decide there"
    low = lines(viva, "csbench", "--model", "openai/gpt-5@http://127.0.0.1:9/v1", "--reasoning-budget", "500", *price)
    assert "500" in low[1]
