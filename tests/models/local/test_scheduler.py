"""Requests to models on this machine: batched, each with its own answer, returned unanswered when time is up."""

import asyncio
import gc
import math
import shutil
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.asking import ask
from models.local.spoiling import reweigh
from viva.errors import ModelError, VivaError
from viva.models.local.memory import OutOfMemory
from viva.models.local.scheduler import SCHEDULER, RequestScheduler, refused
from viva.models.local.weightsmodel import LocalModel
from viva.models.local.work import FLOOR, Job, Worker, finite, sound
from viva.providers import Endpoint, Weights, connect
from viva.types import Choose, Generate, Response, Sampling

pytestmark = pytest.mark.torch("transformers")

Made = Callable[..., Path]
LETTERS = ("A", "B", "C", "D")
STEM = "题目：先进后出的是什么？\nA. 栈\nB. 队列\nC. 链表\nD. 数组\n"


def opened(folder: Path, **weights: Any) -> LocalModel:
    return connect(f"hf/{folder}", Endpoint(weights=Weights(**{"device": "cpu", **weights})))


def choose(number: int, prompt: Any = "") -> Choose:
    text = prompt or f"{STEM * 3}第{number}题，答案是："
    return Choose(question=f"q/{number}", sample=0, prompt=text, continuations=LETTERS, by="next-token")


def write(number: int, sample: int = 0, **sampling: Any) -> Generate:
    settings = {"temperature": 1.0, "max_tokens": 8, **sampling}
    return Generate(
        question=f"q/{number}", sample=sample, prompt=f"{STEM}第{number}题，", sampling=Sampling(**settings)
    )


@pytest.fixture
def folder(made: Made) -> Path:
    return made("llama", "bytes", chat="plain")


def test_every_request_gets_its_own_reply_whatever_it_is_asked_with(folder: Path) -> None:
    requests = [*(choose(number) for number in range(7)), *(write(number) for number in range(5))]
    model = opened(folder)
    one_by_one = [ask(model, request, close=False)[0] for request in requests]
    for alone, reply in zip(one_by_one, ask(model, *requests), strict=True):
        assert reply.text == alone.text
        assert logprobs(reply) == pytest.approx(logprobs(alone), abs=1e-4)
        assert bool(reply.likelihoods) != bool(reply.text)


def test_samples_differ_and_are_drawn_again_alike(folder: Path) -> None:
    requests = [write(1, sample) for sample in range(6)]
    first = [reply.text for reply in ask(opened(folder), *requests) if isinstance(reply, Response)]
    again = [reply.text for reply in ask(opened(folder), *requests[::-1]) if isinstance(reply, Response)]
    assert first == again[::-1]
    assert len(set(first)) == 6
    other = [reply.text for reply in ask(opened(folder), *(write(1, n, seed=7) for n in range(6)))]  # type: ignore[union-attr]
    assert set(other).isdisjoint(first)


def test_a_prompt_that_does_not_fit_is_this_ones_trouble_only(made: Made) -> None:
    model = opened(made("llama", "bytes", context=256))
    long, short = choose(1, STEM * 12 + "答案是："), choose(2, STEM + "答案是：")
    trouble, reply = ask(model, long, short)
    assert isinstance(reply, Response)
    assert (trouble.kind, trouble.fatal, trouble.retry) == ("context", False, False)
    assert "256" in trouble.message


def test_weights_that_changed_meanwhile_are_refused_for_good(made: Made, tmp_path: Path) -> None:
    first, other = made("llama", "bytes"), made("llama", "bytes", seed=2)
    known = opened(first).identity
    changed = opened(other, fingerprint=known["weights"], context=int(known["context"]), dtype="float32")
    assert changed.identity == known, "what is remembered counts until it is needed"
    (problem,) = ask(changed, choose(1))
    assert problem.fatal
    assert "new run" in problem.message


def test_what_waits_is_given_back_when_the_run_ends(folder: Path) -> None:
    model = opened(folder, batch=1)

    async def ask() -> list[Response | BaseException]:
        waiting = [asyncio.create_task(model.answer(write(number, max_tokens=200))) for number in range(40)]
        await asyncio.sleep(0)
        SCHEDULER.cancel_pending()
        replies = await asyncio.gather(*waiting, return_exceptions=True)
        await model.close()
        return replies

    replies = asyncio.run(ask())
    assert any(isinstance(reply, ModelError) and reply.kind == "interrupted" for reply in replies)
    assert all(isinstance(reply, (ModelError, Response)) for reply in replies)


def test_nobody_waits_for_a_request_that_was_dropped(folder: Path) -> None:
    model = opened(folder)

    async def ask() -> Response:
        dropped = [asyncio.create_task(model.answer(write(number, max_tokens=2000))) for number in range(8)]
        while not SCHEDULER.busy:
            await asyncio.sleep(0.01)
        for task in dropped:
            task.cancel()
        reply = await asyncio.wait_for(model.choose(choose(1)), 240)
        await model.close()
        return reply

    assert len(asyncio.run(ask()).likelihoods) == 4


def test_one_model_is_open_at_a_time_and_none_at_the_end(made: Made) -> None:
    first, second = opened(made("llama", "bytes")), opened(made("qwen2", "bytes"))
    seen: list[weakref.ref[Worker]] = []

    async def ask() -> None:
        for model in (first, second, first):
            await model.choose(choose(1))
            assert SCHEDULER.worker.model is model
            seen.append(weakref.ref(SCHEDULER.worker))
        await first.close()
        await second.close()

    asyncio.run(ask())
    gc.collect()
    assert SCHEDULER.worker is None
    assert [ref() for ref in seen] == [None, None, None]


def test_what_are_no_numbers_is_this_ones_trouble_and_named(made: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made("llama", "bytes"), tmp_path / "copy"))
    (mark,) = opened(folder).context_window.tokens().next_tokens("A", ["!"])
    reweigh(folder / "model.safetensors", lambda held: held["model.embed_tokens.weight"][mark].fill_(math.nan))
    model = opened(folder)
    for request in (choose(1, "A! B"), msgspec.structs.replace(choose(1, "A! B"), by="likelihood")):
        (trouble,) = ask(model, request, close=False)
        assert (trouble.kind, trouble.fatal) == ("numbers", False)
        assert "copy" in trouble.message
        assert "float32" in trouble.message
    (reply,) = ask(model, choose(2))
    assert isinstance(reply, Response)


@given(st.lists(st.floats()))
def test_only_numbers_are_replied(logprobs: list[float]) -> None:
    if sound(logprobs):
        assert all(FLOOR <= one < math.inf for one in finite(logprobs))
        assert [one for one in finite(logprobs) if one > FLOOR] == [one for one in logprobs if one > FLOOR]
    else:
        assert math.inf in logprobs or any(map(math.isnan, logprobs))


def test_what_cannot_be_opened_is_tried_once_for_all_that_wait(made: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made("llama", "bytes"), tmp_path / "copy"))
    model = opened(folder)
    (folder / "config.json").rename(folder / "away")
    jobs = [Job(model, request, Future()) for request in (choose(1), choose(2), write(3))]
    # The folder is whole again by the time that those of another sort would be tried.
    jobs[0].future.add_done_callback(lambda _: (folder / "away").rename(folder / "config.json"))
    scheduler = RequestScheduler()
    with scheduler._change:  # all of them wait before the first is taken
        for job in jobs:
            scheduler.submit(job)
    for job in jobs:
        problem = job.future.exception(60)
        assert (problem.kind, problem.fatal) == ("weights", True)
    assert scheduler.worker is None


class Narrow:
    """A worker whose memory takes no more than `most` input ids at a time."""

    def __init__(self, model: LocalModel) -> None:
        self.told: list[str] = []
        self.sizes: list[int] = []
        self.most = math.inf
        self.worker = Worker(model, self.told.append)
        self.worker._opened.model.register_forward_pre_hook(self._read, with_kwargs=True)

    def _read(self, _: Any, given: Any, named: dict[str, Any]) -> None:
        self.sizes.append(named["input_ids"].numel())
        if self.sizes[-1] > self.most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    def replies(self, *requests: Choose) -> list[Any]:
        jobs = [Job(self.worker.model, one, Future()) for one in requests]
        self.worker.work(jobs, lambda: False)
        return [job.future.exception(0) or job.future.result(0) for job in jobs]


def logprobs(reply: Response) -> list[float]:
    return [one.logprob for one in reply.likelihoods]


def test_one_question_goes_through_by_and_by_where_memory_is_short(folder: Path) -> None:
    narrow = Narrow(opened(folder))
    options = tuple(letter + STEM * 2 for letter in LETTERS)
    request = Choose(question="q", sample=0, prompt="题目：", continuations=options, by="likelihood")
    (wanted,) = narrow.replies(request)
    tokens = max(one.tokens for one in wanted.likelihoods)
    narrow.most = 2 * tokens
    (found,) = narrow.replies(request)
    assert logprobs(found) == pytest.approx(logprobs(wanted), abs=1e-3)
    narrow.most = tokens // 2
    assert narrow.replies(request)[0].kind == "memory"
    narrow.worker.release()


def test_a_batch_that_does_not_fit_into_memory_is_halved_and_it_is_said(folder: Path) -> None:
    narrow = Narrow(opened(folder))
    requests = [Choose(question=q, sample=0, prompt=q * 9, continuations=LETTERS, by="likelihood") for q in "甲乙丙丁"]
    wanted, narrow.most = narrow.replies(*requests), max(narrow.sizes) - 1
    for found, one in zip(narrow.replies(*requests), wanted, strict=True):
        assert logprobs(found) == pytest.approx(logprobs(one), abs=1e-3)
    (said,) = narrow.told
    assert said.partition(": ")[2] == "out of memory with 4 rows; going on with 2 and less at once"
    narrow.worker.release()


def test_no_memory_for_a_model_is_said_and_no_defect() -> None:
    import torch

    problem = VivaError("the model x cannot be opened")
    problem.__cause__ = RuntimeError("DefaultCPUAllocator: can't allocate memory")
    for one in (problem, OutOfMemory("x"), MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried 2 GiB")):
        said = refused("hf/x", one)
        assert (said.kind, said.fatal) == ("memory", True)
        assert "--bits" in said.message
    others = (VivaError("no"), ValueError("out of memory"), RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert [refused("hf/x", one).kind for one in others] == ["weights", "defect", "defect"]


def test_a_model_that_is_closed_while_it_is_opened_is_released(folder: Path) -> None:
    model = opened(folder)

    async def closing() -> BaseException | Response:
        waiting = asyncio.create_task(model.choose(choose(1)))
        while not SCHEDULER.busy:
            await asyncio.sleep(0.001)
        await model.close()
        (reply,) = await asyncio.gather(waiting, return_exceptions=True)
        while SCHEDULER.busy:
            await asyncio.sleep(0.01)
        return reply

    assert isinstance(asyncio.run(closing()), asyncio.CancelledError)
    assert SCHEDULER.worker is None
    (reply,) = ask(model, choose(1))
    assert isinstance(reply, Response), "it can be opened again"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert SCHEDULER.worker is None
