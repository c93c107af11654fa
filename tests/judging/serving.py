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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from judging.reading import Quoting
from servers.verdicts import obedient

Body = dict[str, Any]


def _as_json(body: Body, prompt: str) -> str:
    """What a model replies that is held to the schema, with the code that its prompt tells it."""
    schema = body["response_format"]["json_schema"]["schema"]
    material, _, after = prompt.rpartition("========")
    said = {"reasons": material, "code": re.findall(r'"code" is "(\w+)"', after)[-1], "verdict": "1"}
    assert list(said) == schema["required"]
    return json.dumps(said)


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024
    """By default the sixth connection that waits is dropped on a busy machine, and tried again after seconds."""


class JudgeServer:
    """Serves on a port of 127.0.0.1 from `start` to `stop`; the port stays its own, so that it can come back."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        """Every request that came."""
        self.hold_after = -1
        """So many requests are answered; later ones wait for `release`. Below 0: none waits."""
        self._release = threading.Event()
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
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
        self._server = _Server(("127.0.0.1", self._port), self._handler())
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Nobody answers on the port any more."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> JudgeServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, it: BaseException | None, at: TracebackType | None) -> None:
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

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text, ended = server.take(body)
                if body["model"] == "unheld" and "response_format" in body:
                    self.send_error(400, "response_format: json_schema is not supported")
                    return
                choice = {"index": 0, "finish_reason": ended, "message": {"role": "assistant", "content": text}}
                usage = {"prompt_tokens": 1000, "completion_tokens": 10}
                content = json.dumps({"choices": [choice], "usage": usage}).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True  # who asked is gone

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the bodies are kept."""

        return Handler
