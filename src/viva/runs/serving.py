"""What a visitor of a page that is served must know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from viva.errors import VivaError
from viva.fields import note
from viva.files import read_regular

Token = Annotated[
    str, note("The token that a visitor needs, 16 characters or more.  [default: made where one is needed]")
]
TokenFile = Annotated[
    Path | None,
    note(
        "Read the token from this file: on the command line other users of the machine can see it (`ps`).",
        metavar="FILE",
    ),
]


def token_given(token: str, file: Path | None) -> str:
    """The token of the two options. Raises VivaError for both, and for a file without one."""
    if file is None:
        return token
    if token:
        raise VivaError("--token and --token-file exclude each other: give one of them")
    try:
        found = read_regular(file, 4096, follow=True).decode("ascii").strip()
    except OSError as problem:
        raise VivaError(f"cannot read --token-file {file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        found = ""
    if not found or not found.isprintable() or " " in found:
        raise VivaError(f"--token-file {file} holds no token: it is one word of ASCII characters")
    return found
