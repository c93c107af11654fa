"""Ask a model without the engine: one attempt and its result."""

import asyncio
from typing import Any

import pytest

from viva.contracts import Model
from viva.errors import ModelError
from viva.types import Choose, Generate, Message, Prompt, Response, Sampling

CHAT = (Message("user", "Which of A, B, C and D?"),)
KEY = "the-good-key-of-the-tests"
KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"), KEY)
ADDRESSES = ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
"""Variables of the environment in which the vendors' SDKs look for their API's address."""
ELSEWHERE = (
    "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "OPENAI_BASE_URL",
)  # fmt: skip
"""Variables that would lead them elsewhere."""


def lead_vendors_to(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the SDKs of all vendors ask a stand-in, with the key above."""
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    for name, value in (KEYS | dict.fromkeys(ADDRESSES, root)).items():
        monkeypatch.setenv(name, value)


def of_each_vendor(**rows: Any) -> Any:
    """Make one test a vendor with rows of its own, each of which needs its own package."""
    marks = {"anthropic": pytest.mark.peers("anthropic"), "google": pytest.mark.peers("google.genai")}
    cases = [pytest.param(name.replace("_", "-"), each, marks=marks.get(name, ())) for name, each in rows.items()]
    return pytest.mark.parametrize(("vendor", "rows"), cases, ids=[*rows])


def request(prompt: Prompt = CHAT, sample: int = 0, **sampling: Any) -> Generate:
    """A request for one completion."""
    return Generate(question="q", sample=sample, prompt=prompt, sampling=Sampling(**sampling), choices=tuple("ABCD"))


def ask(model: Any, *requests: Generate | Choose | str, tries: int = 1, close: bool = True) -> list[Any]:
    """The replies to all the requests at once, or their errors; a text's are its tokens' log-probabilities.

    Each is tried again where the model says so, `tries` times at the most.
    """

    async def one(asked: Generate | Choose | str) -> Any:
        call = {Generate: "answer", Choose: "choose", str: "token_logprobs"}[type(asked)]
        for left in reversed(range(tries)):
            try:
                return await asyncio.wait_for(getattr(model, call)(asked), 240)
            except ModelError as problem:
                if not (left and problem.retry):
                    return problem

    async def everything() -> list[Any]:
        try:
            return list(await asyncio.gather(*map(one, requests or [request()])))
        finally:
            if close:
                await model.close()

    return asyncio.run(everything())


def answer(model: Model, asked: Generate | None = None) -> Response:
    """The reply, which must come."""
    (reply,) = ask(model, asked or request())
    assert isinstance(reply, Response), reply
    return reply


def refusal(model: Model, asked: Any = None, tries: int = 1) -> ModelError:
    """The error, which must come."""
    (problem,) = ask(model, asked or request(), tries=tries)
    assert isinstance(problem, ModelError), problem
    assert problem.message.strip()
    return problem


def summary(problem: ModelError) -> dict[str, Any]:
    """What the engine decides by."""
    names = ("kind", "retry", "overload", "fatal")
    return {name: getattr(problem, name) for name in names}


RETRY = {"retry": True, "overload": False, "fatal": False}
"""What passes, without a sign that the server has too much to do."""
