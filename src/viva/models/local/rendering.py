"""Render chat templates in a separate process with limits of time and memory.

A chat template is a program that comes with the weights. Jinja's sandbox keeps it from the machine, and not from going
on for ever, or from a text of ten gigabytes. transformers renders there as it would here, and what is beyond the limits
ends that process alone. Needs transformers, and not torch.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SECONDS = 5.0
"""Of the processor, for one rendering; templates take milliseconds."""
MEMORY = 1 << 30
"""Bytes over what the process needs anyway."""
LONGEST = 1 << 24
"""Characters of a rendered prompt; a context of a million tokens has about four million."""
_LOCK = threading.Lock()


class TemplateError(Exception):
    """A template that raises, goes on for too long, or wants too much memory; the message says which."""


class _Renderer:
    """The process, started at the first rendering, and again where one was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: bytes) -> bytes:
        """The line that answers a line; b"" where the process ended in place of it."""
        if self._process is None or self._owner != os.getpid():  # a fork's own would answer its parent
            command = [sys.executable, "-m", __name__]
            quiet = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet)  # noqa: S603
            self._owner = os.getpid()
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None
        assert writing is not None
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            writing.write(request + b"\n")
            writing.flush()
            answer = reading.readline(MEMORY)
        if not answer.endswith(b"\n"):
            self.close()
            return b""
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.communicate()


_RENDERER = _Renderer()
atexit.register(_RENDERER.close)


def render(
    template: str,
    messages: Sequence[Mapping[str, str]],
    special: Mapping[str, object],
    *,
    answer: bool,
    variables: Mapping[str, object] | None = None,
) -> str:
    """What `tokenizer.apply_chat_template` makes of the messages. `special` are the tokenizer's special tokens by name,
    `variables` what else the template is told.

    Raises TemplateError.
    """
    request = {"template": template, "messages": list(messages), "answer": answer}
    request["told"] = {**special, **(variables or {})}
    with _LOCK:
        found = _RENDERER.ask(json.dumps(request, default=str).encode())
    if not found:
        raise TemplateError(f"it took more than {SECONDS:g} s of the processor or {MEMORY >> 30} GiB of memory")
    said = json.loads(found)
    if "text" not in said:
        raise TemplateError(str(said.get("error", "")))
    return str(said["text"])


def _work() -> None:
    """Render what standard input asks for, line by line, until it ends."""
    from transformers.utils.chat_template_utils import render_jinja_template

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(FileNotFoundError):  # where there is no /proc, there is no such limit either
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process, in the middle of whatever it does
        answer = _rendered(render_jinja_template, json.loads(line))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def _rendered(render_template: Any, asked: dict[str, Any]) -> bytes:
    try:
        texts, _ = render_template(
            conversations=[asked["messages"]],
            chat_template=asked["template"],
            add_generation_prompt=asked["answer"],
            **asked["told"],
        )
        if len(texts[0]) > LONGEST:
            return json.dumps({"error": f"it made a text of {len(texts[0]):,} characters"}).encode()
        return json.dumps({"text": texts[0]}).encode()
    except Exception as problem:  # a template is a program, and raises what it likes
        return json.dumps({"error": f"{type(problem).__name__}: {problem}"[:1000]}).encode()


if __name__ == "__main__":
    _work()
