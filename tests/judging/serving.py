"""Judges behind a socket: an OpenAI-compatible server in this process; a model's name determines its verdicts.

    mark-1, mark-0.5, mark-0-b …  always this mark (what follows the number only tells names apart)
    none                          "VERDICT: none"
    json                          quotes the answer in JSON and marks it 1; `unheld` refuses to be held to a schema
    garbage                       never a verdict
    quoting, cut                  `reading.Quoting`; `cut` stops at the limit of tokens, four characters each

Any other model is an examinee and answers "A".
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from judging.reading import Quoting
from servers.ports import http, port
from servers.verdicts import obedient

Body = dict[str, Any]


def _as_json(body: Body, prompt: str) -> str:
    """What a model replies that is held to the schema, with the code that its prompt tells it."""
    schema = body["response_format"]["json_schema"]["schema"]
    material, _, after = prompt.rpartition("========")
    said = {"reasons": material, "code": re.findall(r'"code" is "(\w+)"', after)[-1], "verdict": "1"}
    assert list(said) == schema["required"]
    return json.dumps(said)


class JudgeServer:
    """Serves on a port of 127.0.0.1 from `start` to `stop`; the port stays its own, so that it can come back."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        """Every request that came."""
        self.hold_after = -1
        """So many requests are answered; later ones wait for `release`. Below 0: none waits."""
        self._release = threading.Event()
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def asked(self) -> Counter[str]:
        """How often each model was asked."""
        with self._lock:
            return Counter(body["model"] for body in self.bodies)

    @property
    def bodies_asked(self) -> Counter[str]:
        """How often each body came."""
        with self._lock:
            return Counter(json.dumps(body, sort_keys=True) for body in self.bodies)

    def forget(self) -> None:
        """As if nobody had asked."""
        with self._lock:
            self.bodies.clear()

    def release(self) -> None:
        """Let go of those that wait, and hold nobody from now on."""
        self.hold_after = -1
        self._release.set()

    def start(self) -> None:
        self._port = self._open.enter_context(port(http(self._answer), self._port))

    def stop(self) -> None:
        """Nobody answers on the port any more."""
        self._open.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self.stop()

    def take(self, body: Body) -> tuple[str, str]:
        """One request: the reply's text and why it ended."""
        with self._lock:
            self.bodies.append(body)
            waits = 0 <= self.hold_after < len(self.bodies)
        if waits:
            self._release.wait(240)
        text = obedient(self.reply(body), body["messages"][-1]["content"])
        if body["model"] == "cut" and len(text) > 4 * body["max_tokens"]:
            return text[: 4 * body["max_tokens"]].rpartition("\n")[0], "length"
        return text, "stop"

    def reply(self, body: Body) -> str:
        """What the model says."""
        model: str = body["model"]
        texts = [message["content"] for message in body["messages"]]
        if model.startswith("mark-"):
            return f"It is as it is.\nVERDICT: {model.split('-')[1]}"
        judges: dict[str, Callable[[], str]] = {
            "none": lambda: "The page is empty.\nVERDICT: none",
            "json": lambda: _as_json(body, texts[-1]),
            "garbage": lambda: "I would rather talk about the weather.",
            "quoting": lambda: Quoting(("0", "0.5", "1"))(*texts),
            "cut": lambda: Quoting(("0", "0.5", "1"))(*texts),
        }
        return judges.get(model, lambda: "A")()

    def _answer(self, path: str, content: bytes) -> tuple[int, Any]:
        body = json.loads(content)
        text, ended = self.take(body)
        if body["model"] == "unheld" and "response_format" in body:
            return 400, {"error": {"message": "response_format: json_schema is not supported"}}
        choice = {"index": 0, "finish_reason": ended, "message": {"role": "assistant", "content": text}}
        return 200, {"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 10}}
