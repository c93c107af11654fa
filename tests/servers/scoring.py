"""An OpenAI-compatible server with a real, small model, which returns log-probabilities, correct or distorted.

    python scoring.py --log FILE [--plan JSON] [--port N]

GET /v1/models, POST /v1/chat/completions, POST /v1/completions. /begin, /control: see planned.py.
"""

import asyncio
import dataclasses
import itertools
import json
import math
import random
from typing import Any

from aiohttp import web
from faults import FAULTS, error_body
from language import Language, chat_text
from planned import PlannedServer, main

WORDS = "not supported here"


@dataclasses.dataclass
class Plan:
    """What the server supports, and how it returns log-probabilities."""

    latency: float = 0.0
    key: str = ""
    models: list[str] = dataclasses.field(default_factory=lambda: ["m"])
    open: list[str] = dataclasses.field(default_factory=lambda: ["models", "chat", "completions"])
    joined: list[str] = dataclasses.field(default_factory=list)  # further tokens of the vocabulary
    bos: str | None = None  # the beginning-of-text token as it is shown; None for a model without one
    doubled: bool = False  # whether it is shown twice
    # logprobs
    logprobs: str = "shown"  # "ignored", "refused", "empty" (no position), "null", "alone" (without the list)
    most: int = 20  # more is refused with 400
    lists: int = 20  # more is silently not listed
    hidden: list[str] = dataclasses.field(default_factory=list)  # tokens that are never listed
    never: str = ""  # "-9999", "-Infinity" or "null" in place of the last listed number
    shape: str = ""  # "chat" or "text": the shape of logprobs, wherever they are asked for
    shift: float = 0.0  # added to every number
    # tokens' texts
    blank: str = " "  # how a blank at a token's beginning is shown
    fragments: str = "bytes"  # or "lost", "nothing": how a piece of a character is shown, bytes:\xe4, U+FFFD or not
    offsets: str = "characters"  # "bytes", "none", "wrong"
    echo: str = "shown"  # "ignored", "refused"
    # everything else
    ignores: list[str] = dataclasses.field(default_factory=list)  # n, seed, stop, max_tokens, temperature, system
    refuses: list[str] = dataclasses.field(default_factory=list)  # fields (or "system") that are refused with 400
    further: int = 0  # so many tokens more are written than allowed
    usage: bool = True
    stream: bool = False
    newer: bool = False  # wants max_completion_tokens
    verbatim: str = ""
    status: int = 200
    fault: str = ""


class Server(PlannedServer):
    """The server with its plan, model and log."""

    Plan = Plan

    def adopt(self, plan: Plan) -> None:
        super().adopt(plan)
        self.language = Language(plan.joined)

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/v1/models", self.models)
        router.add_post("/v1/chat/completions", self.chat)
        router.add_post("/v1/completions", self.text)

    async def models(self, request: web.Request) -> web.StreamResponse:
        refusal = await self.refuse(request, {}, "models")
        if refusal is not None:
            return refusal
        return web.json_response(
            {"object": "list", "data": [{"id": name, "object": "model"} for name in self.plan.models]}
        )

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = chat_text(
            [one for one in body["messages"] if one["role"] != "system" or "system" not in self.plan.ignores]
        )
        return await self.complete(request, body, prompt, "chat")

    async def text(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return await self.complete(request, body, body["prompt"], "completions")

    async def complete(self, request: web.Request, body: dict[str, Any], prompt: str, kind: str) -> web.StreamResponse:
        self.note("asked", path=request.path, body=body)
        await asyncio.sleep(self.plan.latency)
        refusal = await self.refuse(request, body, kind)
        if refusal is not None:
            return refusal
        before = [self.language.end] * (0 if self.plan.bos is None else 2 if self.plan.doubled else 1)
        tokens = [*before, *self.language.encode(prompt)]
        count = 1 if "n" in self.plan.ignores else body.get("n", 1)
        seed = None if "seed" in self.plan.ignores else body.get("seed")
        written = [self.write(body, tokens, f"{seed}/{place}" if seed is not None else None) for place in range(count)]
        choices = [self.choice(body, kind, tokens, len(before), one, place) for place, one in enumerate(written)]
        reply: dict[str, Any] = {"id": "x", "object": kind, "model": body["model"], "choices": choices}
        if self.plan.usage:
            reply["usage"] = {"prompt_tokens": len(tokens), "completion_tokens": sum(len(one[0]) for one in written)}
        content = json.dumps(reply, ensure_ascii=False)
        if self.plan.stream:
            if kind == "chat":
                for choice in choices:
                    choice["delta"] = choice.pop("message")
            content = f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n"
        return web.Response(body=content.encode("utf-8", "replace"), content_type="application/json")

    async def refuse(self, request: web.Request, body: dict[str, Any], kind: str) -> web.StreamResponse | None:
        plan = self.plan
        if plan.fault:
            return await FAULTS[plan.fault](request, b"{}", WORDS)
        if plan.verbatim or plan.status != 200:
            return web.Response(status=plan.status, text=plan.verbatim, content_type="text/html")
        status, words = 0, WORDS
        asked = body.get("top_logprobs") or body.get("logprobs") or 0
        if plan.key and request.headers.get("Authorization") != f"Bearer {plan.key}":
            status, words = 401, f"wrong key: {request.headers.get('Authorization')}"
        elif kind not in plan.open or (body and body["model"] not in plan.models):
            status = 404
        elif asked and (plan.logprobs == "refused" or asked > plan.most):
            status, words = 400, f"logprobs: at most {plan.most}"
        elif body.get("echo") and plan.echo == "refused":
            status, words = 400, "echo is not supported"
        elif plan.newer and "max_tokens" in body and kind == "chat":
            status, words = 400, "use max_completion_tokens"
        elif set(plan.refuses) & {*body, *(one["role"] for one in body.get("messages", ()))}:
            status = 400
        return web.Response(status=status, body=error_body(words), content_type="application/json") if status else None

    def write(self, body: dict[str, Any], tokens: list[int], seed: str | None) -> tuple[list[int], str, str]:
        """Return the tokens written, their visible text, and the reason for the end."""
        draw = random.Random(seed)
        temperature = body.get("temperature", 1.0)
        if "temperature" in self.plan.ignores:
            temperature = 1.0
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 64
        stops = [] if "stop" in self.plan.ignores else body.get("stop", ())
        if "max_tokens" in self.plan.ignores:
            limit = 64
        limit += self.plan.further
        written: list[int] = []
        while len(written) < limit:
            after = self.language.after([*tokens, *written])
            if temperature:
                weights = [math.exp(value / temperature) for value in after]
                (number,) = draw.choices(range(len(weights)), weights)
            else:
                number = int(after.argmax())
            if number == self.language.end:
                return written, self.decoded(written), "stop"
            written.append(number)
            text = self.decoded(written)
            for stop in stops:
                if stop in text:
                    return written, text[: text.index(stop)], "stop"
        return written, self.decoded(written), "length"

    def decoded(self, tokens: list[int]) -> str:
        return b"".join(map(self.language.bytes_of, tokens)).decode("utf-8", "replace")

    def choice(
        self,
        body: dict[str, Any],
        kind: str,
        tokens: list[int],
        marks: int,
        written: tuple[list[int], str, str],
        place: int,
    ) -> dict[str, Any]:
        new, text, reason = written
        echo = bool(body.get("echo")) and self.plan.echo == "shown"
        choice: dict[str, Any] = {"index": place, "finish_reason": reason}
        if kind == "chat":
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = (self.decoded(tokens) if echo else "") + text
        asked = body.get("top_logprobs") or body.get("logprobs")
        if asked and self.plan.logprobs != "ignored":
            shape = self.plan.shape or ("chat" if kind == "chat" else "text")
            rows = [
                self.row(tokens + new, at, int(asked), marks)
                for at in range(0 if echo else len(tokens), len(tokens + new))
            ]
            if self.plan.logprobs == "empty":
                rows = []
            choice["logprobs"] = None if self.plan.logprobs == "null" else self.shaped(rows, shape)
        return choice

    def row(self, tokens: list[int], at: int, asked: int, marks: int) -> dict[str, Any]:
        """Return a token with its log-probability, alternatives, and lengths in characters and bytes."""
        if at < marks:
            return {"token": self.plan.bos, "logprob": None, "bytes": [], "top": [], "text": self.plan.bos}
        content = self.language.bytes_of(tokens[at])
        row = {"token": self.shown(tokens[at]), "logprob": None, "bytes": list(content), "top": []}
        if at:
            after = self.language.after(tokens[:at])
            row["logprob"] = float(after[tokens[at]]) + self.plan.shift
            best = (int(number) for number in after.argsort()[::-1])
            shown = (number for number in best if self.decoded([number]) not in self.plan.hidden)
            row["top"] = [
                [self.shown(number), float(after[number]) + self.plan.shift, list(self.language.bytes_of(number))]
                for number in itertools.islice(shown, min(asked, self.plan.lists))
            ]
            if self.plan.never:
                row["top"][-1][1] = {"-9999": -9999.0, "-Infinity": -math.inf, "null": None}[self.plan.never]
        return row

    def shown(self, number: int) -> str:
        if number == self.language.end:
            return "</s>"
        content = self.language.bytes_of(number)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            spelled = "bytes:" + "".join(f"\\x{byte:02x}" for byte in content)
            return {"bytes": spelled, "lost": "\ufffd", "nothing": ""}[self.plan.fragments]
        return self.plan.blank + text[1:] if text.startswith(" ") else text

    def shaped(self, rows: list[dict[str, Any]], shape: str) -> dict[str, Any]:
        alone = self.plan.logprobs == "alone"
        if shape == "chat":
            return {
                "content": [
                    {
                        "token": row["token"],
                        "logprob": row["logprob"],
                        "bytes": row["bytes"],
                        "top_logprobs": []
                        if alone
                        else [{"token": t, "logprob": v, "bytes": b} for t, v, b in row["top"]],
                    }
                    for row in rows
                ]
            }
        found: dict[str, Any] = {
            "tokens": [row["token"] for row in rows],
            "token_logprobs": [row["logprob"] for row in rows],
            "top_logprobs": None if alone else [{t: v for t, v, _ in row["top"]} or None for row in rows],
        }
        if self.plan.offsets != "none":
            found["text_offset"] = self.offsets(rows)
        return found

    def offsets(self, rows: list[dict[str, Any]]) -> list[int]:
        if self.plan.offsets == "wrong":
            return [7 * place for place in range(len(rows))]
        found: list[int] = []
        content = b""
        for row in rows:
            found.append(len(content) if self.plan.offsets == "bytes" else len(content.decode("utf-8", "ignore")))
            content += row["text"].encode() if "text" in row else bytes(row["bytes"])
        return found


if __name__ == "__main__":
    main(Server, __doc__)
