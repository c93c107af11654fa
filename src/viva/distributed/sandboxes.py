"""A sandbox on a cluster: every worker runs programs in a sandbox of its machine."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from viva.distributed.cluster import connect
from viva.distributed.pool import Needs, Pool
from viva.distributed.worker import LostWorkerError, outcome
from viva.errors import VivaError
from viva.types import Execute, Execution

Recipe = Callable[[int], Callable[[Execute], Execution]]
"""Opens the sandbox of the worker at a machine's n-th place; it reports the languages that it can run, as a mapping's
keys."""


class RemoteSandbox:
    """Programs to wherever there is a processor and the language's toolchain.

    A program whose worker is lost is run by another one; what cannot be run anywhere, or lost several workers, is
    "toolchain": not scored, and tried again on resume. `canonical` gives a language its name in the reports, "" for one
    that nobody runs. Raises VivaError where no machine can run anything, with its reason.
    """

    def __init__(
        self, on: str, recipe: Recipe, canonical: Callable[[str], str], describe: Callable[[str], str]
    ) -> None:
        self._canonical = canonical
        self._describe = describe
        self._pool = Pool(
            connect(on), lambda place: pickle.dumps(partial(recipe, place)), Needs(), _Toolchains(describe)
        )

    @property
    def jobs(self) -> int:
        """How many programs to have on their way: as many as run at once, and some that a worker need not wait for."""
        return self._pool.capacity + self._pool.capacity // 4 + 1

    def begin(self) -> None:
        """Wait for the first worker. Raises VivaError where there will be none."""
        self._pool.begin()

    def unavailable(self, language: str) -> str:
        """Return why no program of this language can be run anywhere; what is only found out by trying is not known
        here.
        """
        return "" if self._canonical(language) else self._describe(language)

    async def run(self, request: Execute) -> Execution:
        """Run one program to its end or its limits."""
        language = self._canonical(request.language)
        if not language:
            return Execution("toolchain", self._describe(request.language))
        try:
            content = await asyncio.wrap_future(self._pool.submit(request, language))
            found: Execution = outcome(content)
        except LostWorkerError as problem:
            return Execution("toolchain", f"several workers were lost over this program; the last {problem}")
        except VivaError as problem:
            return Execution("toolchain", str(problem))
        return found

    async def close(self) -> None:
        """End everything that is still running."""
        await asyncio.to_thread(self._pool.close)

    def end(self) -> None:
        """The same, blocking."""
        self._pool.close()


class _Toolchains:
    """What workers report: by language the packages that it lacks there, and a hash of what it is made of."""

    def __init__(self, describe: Callable[[str], str]) -> None:
        self._describe = describe
        self._least: dict[str, int] = {}
        """Packages that a language lacks where it lacks least: who lacks more would fail programs that others pass."""
        self._made_of: dict[str, tuple[str, str]] = {}
        self._told: set[str] = set()

    def met(self, host: str, report: Any) -> None:
        """A worker on `host` reported. Says so where machines differ: a verdict could depend on where it was found."""
        for language, (lacks, made_of) in report.items():
            self._least[language] = min(len(lacks), self._least.get(language, len(lacks)))
            first, other = self._made_of.setdefault(language, (made_of, host))
            if first != made_of and language not in self._told:
                self._told.add(language)
                print(
                    f"viva: {language} is not the same on {other} and on {host}: what a program does may depend on "
                    "where it runs; `viva doctor` there shows the versions",
                    file=sys.stderr,
                )

    def lacking(self, report: Any, need: str) -> str:
        """Return why programs of this language are not run there."""
        if need not in report:
            return self._describe(need)
        lacks, _ = report[need]
        return f"{', '.join(lacks)} missing" if len(lacks) > self._least.get(need, 0) else ""
