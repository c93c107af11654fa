"""Ports of 127.0.0.1 without a model server, or with a minimal one, in threads of the test's process."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TAKEN: list[socket.socket] = []  # ports kept closed while this process lives
Handler = Callable[[socket.socket], None]


def closed_port() -> int:
    """Return a port on which nothing listens, reserved so that no other process gets it; `port` can use it."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    taken.bind(("127.0.0.1", 0))
    TAKEN.append(taken)
    return int(taken.getsockname()[1])


@contextlib.contextmanager
def port(handle: Handler, number: int = 0, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Open a port whose connections `handle` gets, one thread each; with TLS if a context is given."""
    listener = socket.create_server(("127.0.0.1", number), reuse_port=True)
    held: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            handle(context.wrap_socket(connection, server_side=True) if context else connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            held.append(connection)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in held:
            connection.close()


def says(content: bytes) -> Handler:
    """Make a handler that sends this content to every connection and closes it."""

    def handle(connection: socket.socket) -> None:
        connection.sendall(content)
        connection.recv(65536)
        connection.close()

    return handle


def accepts(connection: socket.socket) -> None:
    """Read and never reply."""
    while connection.recv(65536):
        pass


def http(replies: Callable[[str, bytes], tuple[int, Any]]) -> Handler:
    """Make a handler for HTTP, one request per connection: `replies` returns status and JSON for path and body."""

    def handle(connection: socket.socket) -> None:
        stream = connection.makefile("rwb")
        begun = stream.readline().split(b" ")
        if len(begun) < 2:  # only a handshake
            return
        path, length = begun[1].decode(), 0
        while (line := stream.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        status, content = replies(path, stream.read(length))
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        stream.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        stream.flush()
        connection.close()

    return handle


def letter(path: str, body: bytes) -> tuple[int, Any]:
    """Reply like a model server that always answers A."""
    if path.endswith("/models"):
        return 200, {"data": [{"id": "m"}]}
    return 200, {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}


def self_signed(folder: Path) -> ssl.SSLContext:
    """Make a server's TLS context with a self-signed certificate, by openssl."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
