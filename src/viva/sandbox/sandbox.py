"""The sandbox as the engine sees it: an Execute in, an Execution out, as many at once as there are processors."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from msgspec.structs import replace

from viva.errors import DataError
from viva.sandbox.calls import UNABLE, calling
from viva.sandbox.execution import Plan, meant
from viva.sandbox.isolation import require_isolation
from viva.sandbox.languagetables import canonical, install_command, languages, missing_parts, not_there
from viva.sandbox.launch import adopt_orphans
from viva.sandbox.narrow import as_calls
from viva.sandbox.warm import Zygote
from viva.scorers.rubric.packages import missing_package, probe
from viva.types import Execute, Execution

_PATIENCE = 3
"""Failures of the warm interpreter after which every program gets a cold one."""


class Sandbox:
    """Runner of isolated programs (see the package's docstring), at most `jobs` at once, one a processor by default.

    `unsafe_host_execution` runs them without isolation where it is not available: with all rights of this user.
    Raises NoIsolationError when isolation is missing and that was not asked for. Sandboxes of
    several processes on one machine have different slots: `first_slot` on, `jobs` and one more.
    """

    def __init__(self, *, jobs: int | None = None, unsafe_host_execution: bool = False, first_slot: int = 0) -> None:
        self.unsafe = unsafe_host_execution
        if not self.unsafe:
            require_isolation()
            adopt_orphans()
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self.jobs, "sandbox")
        self._slots: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(first_slot, first_slot + self.jobs):
            self._slots.put_nowait(slot)
        self._own_slot = first_slot + self.jobs
        self._starting = threading.Lock()
        self._zygotes: dict[tuple[str, ...], Zygote] = {}
        self._broken = 0
        self._absent: dict[tuple[str, str], bool] = {}

    def unavailable(self, language: str) -> str:
        """Return why programs of this language cannot be run here and what installs it, or "" when they can."""
        name = canonical(language)
        if not name:
            return not_there(language)
        gone = missing_parts(name)
        missing = f"no toolchain for {name}: {', '.join(gone)} missing; install with: "
        return missing + install_command((name,)) if gone else ""

    async def run(self, request: Execute) -> Execution:
        """Compile and run one program. Raises DataError for a request that makes no sense, VivaError when isolation
        breaks down; whatever a program does becomes a verdict."""
        reason = self.unavailable(request.language)
        if reason:
            return Execution("toolchain", reason)
        if request.calls and languages()[canonical(request.language)].answering is None:
            return Execution("toolchain", f"tests in {request.language} cannot be calls yet: write them as code")
        for name, _ in request.files:
            if name in {"", ".", ".."} or "/" in name or "\0" in name:
                raise DataError(f"A program's file is named {name!r}: it must be a plain file name, without folders.")
        slot = await self._slots.get()
        stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._run, request, slot, stop)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            os.eventfd_write(stop, 1)
            with suppress(Exception):
                await work
            raise
        finally:
            os.close(stop)
            self._slots.put_nowait(slot)

    async def close(self) -> None:
        """End all warm interpreters and threads."""
        with self._starting:
            for imports in tuple(self._zygotes):
                self._zygotes.pop(imports).close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, request: Execute, slot: int, stop: int) -> Execution:
        """Run a program; where it fails for a missing package, find out whether this machine lacks it."""
        execution = self._asked(request, slot, stop) or self._once(request, slot, stop)
        if execution.verdict in ("failed", "compile") and request.proof == "completion":
            language = canonical(request.language)
            name = missing_package(language, execution.detail, request.packages, request.program)
            if name and self._lacks(language, name, slot, stop):
                return Execution("toolchain", f"the package {name} is missing here", execution.seconds, execution.cpu)
        return execution

    def _asked(self, request: Execute, slot: int, stop: int) -> Execution | None:
        """Run a program with its test read as calls; None where the test cannot be read so, or the program cannot be
        called: then they share a process, and the verdict says so."""
        language = canonical(request.language)
        calls, closing = as_calls(language, request.test) if request.proof == "completion" else ((), "")
        if not calls:
            return None
        lines = meant(languages()[language].imported, request.test)
        closing += "".join(line for name, line in lines.items() if f'"{name}"' in request.program)
        asked = replace(request, program=request.program + closing, test="", calls=calls)
        execution = self._once(asked, slot, stop)
        if execution.verdict == "compile":
            return None
        # Only the beginning: the program may have written the rest of the message.
        beginnings = tuple(f"{calling(calls, number)} {UNABLE}" for number in range(1, len(calls) + 1))
        return None if execution.detail.startswith(beginnings) else execution

    def _lacks(self, language: str, package: str, slot: int, stop: int) -> bool:
        """Return whether a program that only imports this package fails here."""
        key = (language, package)
        if key not in self._absent:
            program = Execute(
                question="", sample=0, language=language, program=probe(language, package), seconds=20, proof="exit"
            )
            self._absent[key] = self._once(program, slot, stop).verdict in ("failed", "compile")
        return self._absent[key]

    def _once(self, request: Execute, slot: int, stop: int) -> Execution:
        name = canonical(request.language)
        row = languages()[name]
        if self.unsafe:
            return Plan(request, row).on_the_host(stop)
        if row.warm and self._broken <= _PATIENCE:
            named = re.search(row.library_words, f"{request.program} {request.test}") is not None
            with suppress(OSError):
                return Plan(request, row).forked(self._warm(name, row.warm + row.libraries * named), stop)
            self._broken += 1
        return Plan(request, row).isolated(slot, stop)

    def _warm(self, name: str, imports: tuple[str, ...]) -> Zygote:
        """Return the warm interpreter, started on first use. Raises OSError where it cannot be started."""
        with self._starting:
            zygote = self._zygotes.get(imports)
            if zygote is None or not zygote.alive():
                if zygote is not None:
                    self._zygotes.pop(imports).close()
                zygote = self._zygotes[imports] = Zygote(name, imports, self._own_slot)
            return zygote
