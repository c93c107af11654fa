# mypy: ignore-errors
# ruff: noqa: S102, PTH123
"""The program's process where its test runs in another one: runs the program, then does what the test asks (link.py).

Nothing here is a secret, and nothing here decides.
"""

import codecs
import io
import os
import sys

import link
import python


class _Printing(io.RawIOBase):
    """A stream that sends what the program prints to the test's output."""

    def __init__(self, name, side):
        self.stream, self.side = name, side
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self):
        """Return True."""
        return True

    def write(self, data):
        """Send printed bytes; return their number."""
        text = self.decoder.decode(bytes(data))
        try:
            self.side.printed(self.stream, text)
        except Exception:  # the program has broken its own process
            os.write(2 if self.stream == "err" else 1, bytes(data))
        return len(data)


def _stream(name, side):
    raw = io.BufferedWriter(_Printing(name, side), 1 << 14)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=name == "err")


def run_program(incoming, outgoing, path="main.py"):
    """Run the program, then answer until the test is over. Never returns."""
    space = python.module()
    side = link.Program(incoming, outgoing, space)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _stream("out", side), _stream("err", side)
    try:
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec"), space)
        side.go()
    except BaseException as error:
        python.flush()
        sys.stdout, sys.stderr = streams
        python.fail(error)
    os._exit(1)
