"""A Python function in place of a model: prompt in, text out (`viva.run("cmmlu", model=function)`).

A run stores only the function's name: answers can be graded, shown and compared anywhere, but resuming the run needs
the function again (`viva.resume`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import msgspec

from viva.contracts import TextOnly
from viva.errors import ModelError, VivaError
from viva.prompting import prompt_text
from viva.providers import Endpoint
from viva.types import Generate, Request, Response, Sampling

PROVIDER = "python/"
_LONGEST = 300
"""Most characters kept of an exception, which may repeat the prompt."""


class Prompt(str):
    """The function's argument: the text of a prompt, with its messages, sampling and ids as attributes."""

    messages: tuple[dict[str, str], ...]
    """The turns of the chat: role and content each. A base model's text is one turn of the user's."""
    sampling: Sampling
    question: str
    """The question's id."""
    sample: int

    @classmethod
    def of(cls, request: Generate) -> Prompt:
        """Return the prompt of a request for a function."""
        made = cls(prompt_text(request.prompt))
        turns = (
            [("user", request.prompt)]
            if isinstance(request.prompt, str)
            else [(message.role, message.content) for message in request.prompt]
        )
        made.messages = tuple({"role": role, "content": content} for role, content in turns)
        made.sampling, made.question, made.sample = request.sampling, request.question, request.sample
        if request.drawn is not None:
            made.sampling = msgspec.structs.replace(made.sampling, seed=request.drawn)
        return made


Function = Callable[[Prompt], str | Awaitable[str]]


class Called(TextOnly):
    """A function as a model, or only its name, when a run is just read."""

    def __init__(self, name: str, function: Function | None = None) -> None:
        self.name = f"{PROVIDER}{name}"
        self.awaits = _awaits(function)
        # Asynchronous functions may be called concurrently; others one after the other (runs/ask.py).
        self.rate_limit_group = f"python {'many' if self.awaits else 'one'} {name}"
        self.identity: Mapping[str, str] = {"provider": "python", "model": name}
        self.function = function
        self._idle: list[ThreadPoolExecutor] = []

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a choice by probability, and without the function."""
        super().check_supported(request)
        if self.function is None:
            raise VivaError(self._gone())

    def _gone(self) -> str:
        return (
            f"{self.name} is a function of the Python program that began this run: go on there, with "
            "viva.resume(run, model=function)"
        )

    async def answer(self, request: Generate) -> Response:
        """Make one call. An exception becomes a ModelError; lost connections and timeouts are tried again."""
        if self.function is None:
            raise ModelError("function", self._gone(), fatal=True)
        try:
            text = await self._call(Prompt.of(request))
        except ModelError:
            raise
        except Exception as problem:
            message = f"{type(problem).__name__}: {problem}"[:_LONGEST]
            raise ModelError(
                "function", message, retry=isinstance(problem, ConnectionError | TimeoutError)
            ) from problem
        if not isinstance(text, str):
            raise ModelError("function", f"it returned {type(text).__name__} in place of a text")
        return Response(text=text.encode("utf-8", "replace").decode())  # half a surrogate pair cannot be stored

    async def _call(self, prompt: Prompt) -> object:
        function = cast("Callable[[Prompt], object]", self.function)
        value = function(prompt) if self.awaits else await self._in_a_thread(function, prompt)
        return await value if inspect.isawaitable(value) else value

    async def _in_a_thread(self, function: Callable[[Prompt], object], prompt: Prompt) -> object:
        """Make one call outside the event loop, in the most recently idle thread.

        So functions that are called one by one run in one thread, which some require (SQLite's connections, a GPU's
        contexts). A common pool does not guarantee that: it may start another thread before the last is marked idle.
        """
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="viva-model")
        try:
            value = await asyncio.get_running_loop().run_in_executor(thread, function, prompt)
        except asyncio.CancelledError:
            thread.shutdown(wait=False, cancel_futures=True)  # it may be busy for ever, and is not waited for
            raise
        except BaseException:
            self._idle.append(thread)
            raise
        self._idle.append(thread)
        return value

    async def close(self) -> None:
        """Release the threads."""
        while self._idle:
            self._idle.pop().shutdown(wait=False)


def _awaits(function: Function | None) -> bool:
    """Tell whether a call returns an awaitable: of a coroutine function, or an object with such a `__call__`."""
    calls = getattr(type(function), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(calls)


def connect(name: str, endpoint: Endpoint) -> Called:
    """Return a placeholder for a function of a run that is only read; it cannot be called."""
    return Called(name)
