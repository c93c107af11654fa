"""A local Hugging Face hub with storage on another host: files, failures, and a log of requests."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """A request: its path and relevant headers."""

    path: str
    range: str
    token: str


@dataclass
class Hub:
    """Files by URL path, and how requests are answered."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    refuse: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """First answers (status, headers), one per request."""
    redirect: str = ""
    """Address of the storage to redirect all files to; empty for none."""
    cut: list[int] = field(default_factory=list)
    """Bytes of the body after which the connection is closed, one number per request."""
    ranges: bool = True
    linked: dict[str, str] = field(default_factory=dict)
    """Path → X-Linked-Etag to send instead of the file's SHA-256."""
    headers: dict[str, str] = field(default_factory=dict)
    """Further headers of every file."""
    moved: dict[str, bytes] = field(default_factory=dict)
    """Contents that replace files after a connection was cut."""
    url: str = ""

    def add(self, repository: str, commit: str, path: str, content: bytes) -> str:
        """Add a file of a data set; returns its SHA-256."""
        self.files[f"/datasets/{repository}/resolve/{commit}/{path}"] = content
        return hashlib.sha256(content).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        hub, asked = self.hub, self.headers.get
        hub.asked.append(Asked(self.path, asked("Range", ""), asked("Authorization", "")))
        if hub.refuse:
            status, headers = hub.refuse.pop(0)
            self._answer(status, headers, b"no")
            return
        content = hub.files.get(self.path)
        if content is None:
            self._answer(404, {"X-Error-Code": "EntryNotFound"}, b"no")
            return
        digest = hashlib.sha256(content).hexdigest()
        linked = {"X-Linked-Etag": f'"{hub.linked.get(self.path) or digest}"'}
        given = {name: value.format(digest) for name, value in hub.headers.items()}
        if hub.redirect:
            self._answer(302, {**linked, **given, "Location": f"{hub.redirect}{self.path}"}, b"")
            return
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")) if self.headers["Range"] else 0
        if start and hub.ranges and start >= len(content):
            self._answer(416, {}, b"")
            return
        part = content[start:] if hub.ranges else content
        partial = bool(start and hub.ranges)
        ranged = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if partial else {}
        self._answer(206 if partial else 200, {**linked, **given, **ranged}, part, hub.cut.pop(0) if hub.cut else None)

    do_HEAD = do_GET  # noqa: N815 - a name of the standard library

    def _answer(self, status: int, headers: dict[str, str], body: bytes, cut: int | None = None) -> None:
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut])
        self.wfile.flush()
        if cut is not None:
            self.hub.files.update(self.hub.moved)
            self.close_connection = True
            self.connection.close()

    def log_message(self, format: str, *values: Any) -> None:
        """Log nothing."""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve the hub on this machine."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
