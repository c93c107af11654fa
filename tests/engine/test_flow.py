"""The flow between stages: each answer is passed on once, when its inputs are known; full queues hold it up."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import cast

from viva.engine.asking import FIRST, MOST, Feed, Onward, Run, Tally, Task, _count_cut_off, upcoming
from viva.engine.budget import Budget
from viva.engine.evidence import Comparison, run_comparisons
from viva.engine.journal import Journal
from viva.engine.sendingslots import Policy
from viva.engine.stages import Answered, ComparisonQueue, Evaluation, Ready
from viva.types import Compare, Question, Response


def opened(path: Path, beside: Run | None = None) -> Run:
    return Run(Journal(path, write=True), Budget(), Policy(), Tally(), beside)


def full(feed: Feed[int]) -> bool:
    """As it is now: a type checker takes a property for settled."""
    return feed.full


def test_only_the_first_ten_replies_tell_of_the_limit(tmp_path: Path) -> None:
    run, task = opened(tmp_path / "one.jsonl"), cast("Task", SimpleNamespace(model=SimpleNamespace(name="m")))
    for run.tally.answered in (11, 12, 13):
        _count_cut_off(run, task, Response(stop_reason="length"))
    assert run.cut_off == {}


def test_a_feed_holds_up_who_fills_it_the_sooner_the_less_its_stage_has_shown(tmp_path: Path) -> None:
    run = opened(tmp_path / "one.jsonl")
    feed: Feed[int] = Feed(run)
    taken = iter(feed)
    assert next(taken) is None
    for number in range(FIRST):
        assert not full(feed)
        feed.put(number)
    assert full(feed)
    assert next(taken) == 0
    assert (full(feed), run.tally.waiting) == (False, FIRST - 1), "what waits is counted before its turn"
    run.tally.answered = 1
    for number in range(FIRST, MOST):
        feed.put(number)
    assert not full(feed)
    feed.put(MOST)
    assert full(feed)
    feed.close()
    assert list(taken) == list(range(1, MOST + 1))
    assert (feed.ended, run.tally.waiting) == (True, 0)
    assert not Feed(run, bounded=False).full


def test_who_is_held_up_is_told_when_less_waits_or_more_may(tmp_path: Path) -> None:
    async def work(answered: int) -> None:
        run = opened(tmp_path / f"{answered}.jsonl")
        feed: Feed[int] = Feed(run)
        taken = iter(feed)
        for number in range(FIRST):
            feed.put(number)
        assert full(feed)
        await run.idle()  # what the putting in has set
        run.tally.answered = answered
        waiting = asyncio.create_task(run.idle())
        await asyncio.sleep(0)
        next(taken)
        await asyncio.wait_for(waiting, 240)
        assert not full(feed)

    for answered in (0, 1):
        asyncio.run(work(answered))


def test_what_is_passed_on_twice_goes_on_once(tmp_path: Path) -> None:
    run = opened(tmp_path / "one.jsonl")
    feeds: list[Feed[str]] = [Feed(run), Feed(run)]
    onward = Onward(feeds, once=True)
    for whose, number, item in ((1, 0, "a"), (1, 1, "b"), (1, 0, "a"), (2, 0, "c")):
        onward.put(whose, number, item)
    onward.close()
    assert [list(feed) for feed in feeds] == [["a", "b", "c"]] * 2


def test_who_waits_goes_on_when_something_comes_or_another_stage_is_stopped(tmp_path: Path) -> None:
    async def work() -> None:
        first = opened(tmp_path / "one.jsonl")
        second = opened(tmp_path / "two.jsonl", first)
        feed: Feed[str] = Feed(second)
        waiting = asyncio.create_task(upcoming(second, iter(feed)))
        await asyncio.sleep(0)
        feed.put("a")
        assert await waiting == "a"
        waiting = asyncio.create_task(upcoming(second, iter(feed)))
        await asyncio.sleep(0)
        first.finish("budget")  # the money of the one is not the other's
        await asyncio.sleep(0)
        assert not waiting.done()
        first.finish("interrupted")
        assert await waiting is None
        assert second.stop == "interrupted"

    asyncio.run(work())


class _Texts:
    """An exam whose answers are compared word by word with one text; a model without a name of weight."""

    spec = type("Spec", (), {"benchmark": "toy"})
    name = "openai/m"

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        return tuple(Compare(word, word, "gold") for word in response.text.split())


class _Slow:
    name, batch = "test/equal", 2
    identity = MappingProxyType({"weights": "none"})

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(text == reference) for text, reference in pairs]


def test_an_answer_goes_on_when_all_its_texts_are_compared_also_those_that_another_shares(tmp_path: Path) -> None:
    run = opened(tmp_path / "similarities.jsonl")
    feed: Feed[Ready] = Feed(run)
    exam = _Texts()
    evaluation = cast("Evaluation", type("Toy", (), {"exam": exam, "model": exam}))
    question = Question(id="q", kind="free", text="?", language="en")

    def answered() -> Iterator[Answered | None]:
        for number, text in enumerate(["a b", "b c", "", "a b c", "d"]):
            yield Answered(Ready(evaluation, question, number, b""), Response(text=text))

    queue = ComparisonQueue(_Slow.identity, run.journal, [], run.tally, [feed])
    wanted = cast("list[Comparison]", list(queue.about(answered())))
    assert [one.request.text for one in wanted] == ["a", "b", "c", "d"]
    assert run.tally.total == 4
    feed.close()
    here = iter(feed)
    assert [one.sample for one in here if one] == [2], "what has nothing to compare goes on at once"
    again: Feed[Ready] = Feed(run)
    queue.onward = [again]
    for one, gone in zip(wanted, ([], [0], [1, 3], [4]), strict=True):
        one.settled()
        assert [ready.sample for ready in iter(iter(again).__next__, None)] == gone


def test_an_encoder_that_is_given_up_lets_the_answers_go_on(tmp_path: Path) -> None:
    class Broken(_Slow):
        def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            raise MemoryError

    async def work() -> list[int]:
        run = opened(tmp_path / "similarities.jsonl")
        feed: Feed[Ready] = Feed(run)
        exam = _Texts()
        evaluation = cast("Evaluation", type("Toy", (), {"exam": exam, "model": exam}))
        question = Question(id="q", kind="free", text="?", language="en")
        answers = (Answered(Ready(evaluation, question, n, b""), Response(text=f"x{n} y{n}")) for n in range(20))
        queue = ComparisonQueue(_Slow.identity, run.journal, [], run.tally, [feed])
        await run_comparisons(run, Broken(), queue.about(answers))
        assert run.refused
        assert run.tally.answered == 0
        feed.close()
        return [ready.sample for ready in feed if ready]

    assert asyncio.run(work()) == list(range(20))
