"""Variables of the environment out of a file of the user's (`--env-file .env`)."""

from __future__ import annotations

import io
import os
from pathlib import Path

from viva.errors import VivaError
from viva.files import read_regular

LARGEST = 1 << 20
"""Bytes."""


def read_environment(path: Path | None) -> None:
    """Set the variables that the file names and the environment does not have. Raises VivaError where it is no such
    file; what it says is repeated nowhere."""
    if path is None:
        return
    from dotenv.parser import parse_stream

    try:
        text = read_regular(path, LARGEST, follow=True).decode("utf-8-sig")
    except OSError as problem:
        raise VivaError(f"--env-file: cannot read {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise VivaError(f"--env-file: {path} is not UTF-8") from None
    for found in parse_stream(io.StringIO(text)):
        if found.error:
            line = found.original.line
            raise VivaError(f"--env-file: {path}, line {line}: write NAME=VALUE, quotes closed; comments begin with #")
        if found.key and found.value is not None and "\0" not in found.value:
            os.environ.setdefault(found.key, found.value)
