"""The static server: nginx on 127.0.0.1, one fixed reply, at once or after a latency (latency.py)."""

import copy
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from latency import CHARACTERS, Latencies

HERE = Path(__file__).parent
LETTER = "B"
REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "fixed",
    "choices": [
        {
            "index": 0,
            # Every tool's own extraction reads this wording.
            "message": {"role": "assistant", "content": f"ANSWER: {LETTER}"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 4, "total_tokens": 104},
}
THOUGHT = 'The hall has rows of seats; "rows times seats" comes first, then the gallery.\nLet me check that again: '
MODELS = {"object": "list", "data": [{"id": "fixed", "object": "model", "owned_by": "nobody"}]}
PORTS = ("none", "constant", "real", "check")
INSTALL = "On Debian and Ubuntu: apt install nginx-light libnginx-mod-http-lua"


def reply(reasoning: int) -> str:
    """The JSON that every request gets; with `reasoning`, after a thought of so many characters."""
    content: dict[str, Any] = copy.deepcopy(REPLY)
    if reasoning:
        thought = (THOUGHT * (reasoning // len(THOUGHT) + 1))[:reasoning]
        content["choices"][0]["message"]["reasoning_content"] = thought
        tokens = reasoning // CHARACTERS
        content["usage"] |= {"completion_tokens": 4 + tokens, "total_tokens": 104 + tokens}
        content["usage"]["completion_tokens_details"] = {"reasoning_tokens": tokens}
    return json.dumps(content, separators=(",", ":"))


class ServerError(Exception):
    """The server cannot be started; the message says why."""


class NoServerError(ServerError):
    """nginx or its lua module is not installed."""


@dataclass(frozen=True)
class Server:
    """A running nginx: where it listens, and which process answers."""

    urls: dict[str, str]  # by kind of latency; "check" also counts what is distinct
    counters: str
    worker: int

    def reset(self) -> None:
        """Set the counters to zero."""
        _get(f"{self.counters}/reset")

    def counts(self) -> dict[str, int]:
        """Completions asked for since the reset; on the check port also how many were distinct."""
        counts: dict[str, int] = json.loads(_get(f"{self.counters}/counts"))
        return counts

    def cpu_seconds(self) -> float:
        """What the worker has computed so far: near the wall time, the server is the bottleneck."""
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serve(latencies: Latencies, reasoning: int = 0) -> Iterator[Server]:
    """Run nginx on free ports of 127.0.0.1 until the block ends; replies have so many characters of thought."""
    nginx, modules = _find_nginx()
    *ports, count = _free_ports(len(PORTS) + 1)
    by_name = dict(zip(PORTS, ports, strict=True))
    with tempfile.TemporaryDirectory(prefix="viva-performance-nginx-") as name:
        folder = Path(name)
        configuration = folder / "nginx.conf"
        (folder / "reply.json").write_text(reply(reasoning))
        configuration.write_text(
            Template((HERE / "templates" / "nginx.conf").read_text()).substitute(
                folder=folder,
                modules=modules,
                models=json.dumps(MODELS),
                constant=latencies.constant,
                shares=", ".join(map(str, latencies.shares)),
                seconds=", ".join(map(str, latencies.seconds)),
                count_port=count,
                **{f"{name}_port": port for name, port in by_name.items()},
            )
        )
        log = folder / "error.log"
        with log.open("wb") as errors:
            process = subprocess.Popen([nginx, "-p", name, "-c", str(configuration)], stdout=errors, stderr=errors)
        try:
            counters = f"http://127.0.0.1:{count}"
            _await_ready(process, counters, log)
            yield Server(
                urls={name: f"http://127.0.0.1:{port}" for name, port in by_name.items()},
                counters=counters,
                worker=_only_child(process.pid),
            )
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _get(url: str) -> bytes:
    # An empty ProxyHandler: the proxy of the environment has no business on 127.0.0.1.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=5) as response:
        body: bytes = response.read()
    return body


def _find_nginx() -> tuple[str, Path]:
    # Debian keeps it in /usr/sbin, which is not on every user's PATH.
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if nginx is None:
        raise NoServerError(f"nginx is not installed, and this benchmark needs it. {INSTALL}")
    built = subprocess.run([nginx, "-V"], capture_output=True, text=True, check=False).stderr
    match = re.search(r"--modules-path=(\S+)", built)
    modules = Path(match[1]) if match else Path("/usr/lib/nginx/modules")
    for module in ("ndk_http_module.so", "ngx_http_lua_module.so"):
        if not (modules / module).exists():
            raise NoServerError(
                f"nginx has no lua module ({modules / module} is missing), and the latency is made with it. {INSTALL}"
            )
    return nginx, modules


def _free_ports(count: int) -> list[int]:
    # All are held until the last is known, so that no two are the same.
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [held.getsockname()[1] for held in sockets]
    for held in sockets:
        held.close()
    return ports


def _await_ready(process: subprocess.Popen[bytes], counters: str, log: Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        try:
            _get(f"{counters}/counts")
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise ServerError(f"nginx did not start: {log.read_text().strip() or 'it said nothing'}")


def _only_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
