"""Limits of a running run, changed by another process: a request in the run folder, and an answer to it.

`viva limits` writes .limits.json, and the run that it names by its process reads it within a second, applies it, and
writes .limits.told.json. Both are written whole and renamed. What is in the folder may be anybody's: only regular files
are read, no links followed, no more than `LONGEST` bytes, and nothing outside the bounds below is applied.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from viva.engine.slots import Slots
from viva.files import UNREADABLE, read_regular, write_whole

ASKED, TOLD = ".limits.json", ".limits.told.json"
LONGEST = 1 << 16
"""Bytes of such a file that are read."""
LOOK = 1.0
"""Seconds between two looks for a request."""
AUTO, NONE = 0, 0.0
"""In a request: concurrency that the server decides; no limit a minute."""

Provider = Annotated[str, Meta(max_length=32)]
Rates = dict[Provider, Annotated[float, Meta(ge=0, le=1e12)]]
T = TypeVar("T")


class LimitRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """What process `pid` is asked to change, by provider ("" for all); nothing, to be told only."""

    pid: int
    number: Annotated[str, Meta(max_length=64)]
    concurrency: dict[Provider, Annotated[int, Meta(ge=0, le=100_000)]] = {}
    requests_per_minute: Rates = {}
    tokens_per_minute: Rates = {}


class GroupLimits(Struct, kw_only=True, rename={"rate_limit_group": "lane"}):
    """One endpoint: its bound, what is in flight, what came back so far, and what bounds it."""

    rate_limit_group: str
    limit: int
    in_flight: int
    waiting: int
    answered: int
    refused: int
    doing: str
    pace: str


class LimitAnswer(Struct, kw_only=True, rename={"groups": "lanes"}):
    """The limits after request `number`, and what of it was not applied."""

    number: str
    groups: list[GroupLimits]
    problem: str = ""


def read_file(path: Path, kind: type[T]) -> T | None:
    """What a file of the two holds; None where there is none. Raises ValueError for one that cannot be used."""
    try:
        return msgspec.json.decode(read_regular(path, LONGEST), type=kind)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ValueError(f"{path.name}: {problem.strerror}") from None
    except UNREADABLE as problem:
        raise ValueError(f"{path.name}: {problem}") from None


def write_file(path: Path, content: Struct) -> None:
    """Write it as a whole. Raises OSError."""
    write_whole(path, msgspec.json.encode(content))


async def listen(
    folder: Path,
    groups: Mapping[str, Slots],
    apply: Callable[[LimitRequest], str],
    notify: Callable[[str], None],
) -> None:
    """Look for requests until cancelled. `apply` returns what was not applied; `tell` hears what cannot be used."""
    ignored: tuple[int, int] | None = None
    while True:
        try:
            found = (folder / ASKED).lstat()
        except OSError:
            found = None
        if found and (found.st_ino, found.st_mtime_ns) != ignored:
            ignored = (found.st_ino, found.st_mtime_ns)  # what cannot be removed is looked at once
            try:
                request = read_file(folder / ASKED, LimitRequest)
                if request and request.pid == os.getpid():
                    answer = LimitAnswer(number=request.number, problem=apply(request), groups=[])
                    answer.groups = [_now(rate_limit_group, slots) for rate_limit_group, slots in groups.items()]
                    write_file(folder / TOLD, answer)
            except (ValueError, OSError) as problem:
                notify(f"limits were not changed: {problem}")
            with contextlib.suppress(OSError):
                (folder / ASKED).unlink(missing_ok=True)
        await asyncio.sleep(LOOK)


def forget(folder: Path) -> None:
    """Remove what is left in the folder when its run ends."""
    for name in (ASKED, TOLD):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def _now(rate_limit_group: str, slots: Slots) -> GroupLimits:
    return GroupLimits(
        rate_limit_group=rate_limit_group,
        limit=slots.ceiling.limit,
        in_flight=slots.in_flight,
        waiting=slots.resting,
        answered=slots.answered,
        refused=slots.refused,
        doing=slots.doing(),
        pace=slots.pace.doing(),
    )
