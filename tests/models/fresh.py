"""Run code in a fresh Python: before any imports, or with other environment variables."""

import subprocess
import sys
from pathlib import Path

import viva
from threads import ONE_THREAD

SRC = Path(viva.__file__).parents[1]
WATCHED = """
import sys
try:
    import urllib3  # others import it; it asks then whether there is IPv6, by a socket of this machine
except ModuleNotFoundError:
    pass
def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        print(event, arguments)
sys.addaudithook(watch)
"""
"""Code by which it prints what is done with sockets."""


def told(code: str, more: dict[str, str] | None = None, *flags: str) -> str:
    """What it prints; `more`: of the environment."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SRC)} | ONE_THREAD | (more or {})
    ended = subprocess.run(
        [sys.executable, *flags, "-c", code], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
