"""Ask a model without the engine: one attempt and its result."""

import asyncio
from typing import Any

from viva.contracts import Model
from viva.errors import ModelError
from viva.types import Generate, Message, Prompt, Response, Sampling

CHAT = (Message("user", "Which of A, B, C and D?"),)


def request(prompt: Prompt = CHAT, sample: int = 0, **sampling: Any) -> Generate:
    """A request for one completion."""
    return Generate(question="q", sample=sample, prompt=prompt, sampling=Sampling(**sampling), choices=tuple("ABCD"))


def ask(model: Model, *requests: Generate) -> list[Response | ModelError]:
    """All the requests at once, each tried a single time, within a minute."""

    async def one(asked: Generate) -> Response | ModelError:
        try:
            return await asyncio.wait_for(model.answer(asked), 240)
        except ModelError as problem:
            return problem

    async def everything() -> list[Response | ModelError]:
        try:
            return list(await asyncio.gather(*map(one, requests or [request()])))
        finally:
            await model.close()

    return asyncio.run(everything())


def answer(model: Model, asked: Generate | None = None) -> Response:
    """The reply, which must come."""
    (reply,) = ask(model, asked or request())
    assert isinstance(reply, Response), reply
    return reply


def refusal(model: Model, asked: Generate | None = None) -> ModelError:
    """The error, which must come."""
    (problem,) = ask(model, asked or request())
    assert isinstance(problem, ModelError), problem
    assert problem.message.strip()
    return problem


def summary(problem: ModelError) -> dict[str, Any]:
    """What the engine decides by."""
    names = ("kind", "retry", "overload", "fatal")
    return {name: getattr(problem, name) for name in names}


RETRY = {"retry": True, "overload": False, "fatal": False}
"""What passes, without a sign that the server has too much to do."""
