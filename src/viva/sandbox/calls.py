"""Calls of a program's functions, compared by Viva itself: nothing in the program's process knows what is expected.

The program's process holds the program and a small answerer of its language (harness/answer.*). One line goes each way,
of JSON or words, for every call, through the pipes that proof.py describes. All calls are sent before a reply is looked
at, so that nothing in the program's process learns from the next call whether the reply before it was right:

    shell inside  →  Viva      run
    Viva          →  answerer  {"id": 1, "call": "solve", "args": [3]}, or as words: i1 s736f6c7665 l1 i3
    answerer      →  Viva      {"id": 1, "returns": 2117}, or as words: m4 s6964 i1 s72657475726e73 i2117
                               {"id": 1, "raises": {"type": "ValueError", "message": "...", "bases": ["Exception"]}}
                               {"id": 1, "missing": "no function solve"}
                               {"id": 1, "unknown": "Foo"}       a value that has no form below
    Viva closes the pipe, and the answerer ends with status 0.

Values have the form of values.py.

Replies are untrusted: any bytes may come, at any time. A line is at most MAX_LINE long,
and the first wrong one ends the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import UNSET

from viva.sandbox.plainvalues import SHOWN, Malformed, form, matches, read_json, read_words, shown, words
from viva.sandbox.proof import RUNNING, Conversation
from viva.types import Call

MAX_LINE = 16_000_000
"""Bytes of one reply."""
UNABLE = "is not to be called: "
"""Message, behind `calling`, on a function that the answerer cannot call."""


class CallConversation(Conversation):
    """Viva's side of the calls: `proved` once every call gave what it must; `failure` says as soon as one did not."""

    def __init__(self, calls: Sequence[Call], *, words: bool = False) -> None:
        super().__init__(proved=False)
        self._words = words
        self._calls = calls
        self._number = 0
        self._line = bytearray()

    def heard(self, chunk: bytes) -> None:
        """Receive bytes, and judge each complete reply; all calls are sent before the first."""
        self.said = (self.said + chunk)[:2000]
        if self.failure:
            return
        if self.finished:
            self._fail("it went on replying after the last call")
            return
        self._line += chunk
        if not self.compiled:
            if not RUNNING.startswith(self._line):
                self._fail("it replied before it was called")
            if self._line != RUNNING:
                return
            self.compiled = True
            self._line.clear()
            for number, call in enumerate(self._calls, 1):
                self.to_send += self._request(number, call).encode() + b"\n"
            self._next()
            return
        while not self.finished and (end := self._line.find(b"\n")) >= 0:
            line = bytes(self._line[:end])
            del self._line[: end + 1]
            self._reply(line)
        if self._line and self._number == len(self._calls) and self.proved:
            self._fail("it went on replying after the last call")
        elif len(self._line) > MAX_LINE:
            self._fail(f"{self._calling()} replied more than {MAX_LINE:,} bytes")
        elif not self._line.startswith((b" " if self._words else b"{")[: len(self._line)]):
            self._fail(f"{self._calling()} replied what cannot be read")

    def _request(self, number: int, call: Call) -> str:
        if self._words:
            return f"{words(number)} {words(call.call)} {words(call.args)}"
        return json.dumps({"id": number, "call": call.call, "args": call.args}, allow_nan=False)

    def _next(self) -> None:
        if self._number == len(self._calls):
            self.proved = self.finished = True
        else:
            self._number += 1

    def _reply(self, line: bytes) -> None:
        try:
            value = (read_words if self._words else read_json)(line)
            problem = judge(self._calls[self._number - 1], checked_reply(value, self._number))
        except Malformed as malformed:
            problem = f"replied what cannot be read: {malformed}"
        if problem:
            self._fail(f"{self._calling()} {problem}")
        else:
            self._next()

    def _calling(self) -> str:
        return calling(self._calls, self._number)

    def _fail(self, why: str) -> None:
        self.failure, self.proved, self.finished, self.to_send = why, False, True, b""
        self._line.clear()


def calling(calls: Sequence[Call], number: int) -> str:
    """Return the beginning of a message about one of the calls."""
    call = calls[number - 1]
    return f"call {number} of {len(calls)}, {call.call}({', '.join(map(shown, call.args))}),"


def checked_reply(reply: object, number: int) -> dict[str, object]:
    """Return an answerer's reply, if it is a mapping with the right `id`. Raises Malformed."""
    if not isinstance(reply, dict) or len(reply) != 2 or type(reply.get("id")) is not int or reply["id"] != number:
        raise Malformed(f"{shown(reply)} is no reply to call {number}")
    return reply


def judge(call: Call, reply: dict[str, object]) -> str:  # noqa: PLR0911  a list of cases
    """Return what is wrong with a reply to a call, in words; "" if nothing is. Raises Malformed."""
    if "missing" in reply:
        return f"{UNABLE}{str(reply['missing'])[:SHOWN]}"
    if "unknown" in reply:
        kind = str(reply["unknown"])[:SHOWN]
        if call.raises:
            return f"returned a {kind} and raised nothing"
        any_will_do = call.returns is UNSET and call.truth in ("", "given")
        return "" if any_will_do else f"returned a {kind}, which is no value that can be compared"
    if "raises" in reply:
        return _judge_raised(call, reply["raises"])
    if "returns" not in reply:
        raise Malformed(f"no reply has {next(key for key in reply if key != 'id')[:SHOWN]!r}")
    given = reply["returns"]
    form(given)
    if call.raises:
        wanted = "anything" if call.raises is True else call.raises
        return f"returned {shown(given)}, and did not raise {wanted}"
    holds = not (given is None or given is False or (given == 0 and call.truth in ("true", "false")))
    if call.truth and holds != (call.truth in ("true", "given")):
        return f"returned {shown(given)}, and a condition takes it for {str(holds).lower()}"
    compared = call.returns is not UNSET and call.truth != "false"
    expected, number = (int(v) if call.truth and isinstance(v, bool) else v for v in (call.returns, given))
    if compared and not matches(form(expected), form(number), call.within):
        return f"returned {shown(given)}, not {shown(call.returns)}"
    return ""


def _judge_raised(call: Call, raised: object) -> str:
    if not isinstance(raised, dict) or not isinstance(raised.get("type"), str):
        raise Malformed("an exception without a type")
    message, bases = raised.get("message", ""), raised.get("bases", [])
    names = [raised["type"], *(base for base in (bases if isinstance(bases, list) else []) if isinstance(base, str))]
    if names[0] == "NeverSettled":
        return f"never settled: {str(message)[:SHOWN]}"
    if call.raises is True or call.raises in names:
        return ""
    wanted = f", not {call.raises}" if call.raises else ""
    return f"raised {str(names[0])[:SHOWN]}{wanted}: {str(message)[:SHOWN]}"
