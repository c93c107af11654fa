"""The sandbox as the engine sees it: an Execute in, an Execution out, as many at once as there are processors."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from viva.errors import DataError, VivaError
from viva.sandbox.isolation import closing, drop_privileges, namespaces, reporting, require_isolation, shown_folders, slot_uid, walls
from viva.sandbox.languages import Language, canonical, install_command, languages, limits, missing_parts, package_folder
from viva.sandbox.launch import COMPILE_FAILED, FORBIDDEN, INFO, Bounds, Ending, Spawned, adopt_orphans, attend, limited, script, wall_seconds
from viva.sandbox.proof import Conversation
from viva.sandbox.seccomp import syscall_filter
from viva.sandbox.warm import Zygote
from viva.types import Execute, Execution

_MB = 1024 * 1024
_WHY = {
    "time": "it computed or slept longer than its {seconds:g} s",
    "wall": "it took longer than {wall:g} s by the clock",
    "memory": "it took more than {memory} MB of memory",
    "output": "it printed more than {output:,} bytes",
    "processes": "it started more than {processes} processes and threads",
    "files": "it made more than {inodes:,} files",
}
_PATIENCE = 3
"""How often the warm interpreter may fail before every program gets a cold one."""
PACKAGES_INSIDE = "/opt/viva"


class Sandbox:
    """Runs programs in isolation (see the package's docstring), at most `jobs` at once, one a processor by default.

    `unsafe_host_execution` runs them without isolation where it is not to be had: with everything that this user may
    read, write and reach. Raises NoIsolationError when isolation is missing and that was not asked for.
    """

    def __init__(self, *, jobs: int | None = None, unsafe_host_execution: bool = False) -> None:
        self.unsafe = unsafe_host_execution
        if not self.unsafe:
            require_isolation()
            adopt_orphans()
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self.jobs, "sandbox")
        self._slots = list(range(self.jobs))
        self._free: asyncio.Semaphore | None = None
        self._starting = threading.Lock()
        self._zygote: Zygote | None = None
        self._broken = 0

    def unavailable(self, language: str) -> str:
        """Why programs of this language cannot be run here and what installs it, or "" when they can."""
        name = canonical(language)
        if not name:
            return f"Viva runs no {language}: {', '.join(languages())}"
        gone = missing_parts(name)
        return f"no toolchain for {name}: {', '.join(gone)} missing; install with: {install_command((name,))}" if gone else ""

    async def run(self, request: Execute) -> Execution:
        """Compile and run one program. Raises DataError for a request that makes no sense, VivaError when isolation
        breaks down; a program's misdeeds are a verdict."""
        reason = self.unavailable(request.language)
        if reason:
            return Execution("toolchain", reason)
        for name, _ in request.files:
            if name in {"", ".", ".."} or "/" in name or "\0" in name:
                raise DataError(f"A program's file is named {name!r}: it must be a plain file name, without folders.")
        if self._free is None:
            self._free = asyncio.Semaphore(self.jobs)
        async with self._free:
            slot = self._slots.pop()
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
                self._slots.append(slot)

    async def close(self) -> None:
        """End everything that is still kept running."""
        with self._starting:
            if self._zygote is not None:
                self._zygote.close()
                self._zygote = None
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, request: Execute, slot: int, stop: int) -> Execution:
        row = languages()[canonical(request.language)]
        if self.unsafe:
            return _Plan(request, row).on_the_host(slot, stop)
        if row.warm:
            zygote = self._warm(row)
            if zygote is not None:
                with suppress(OSError):
                    return _Plan(request, row).forked(zygote, stop)
                self._broken += 1
        return _Plan(request, row).isolated(slot, stop)

    def _warm(self, row: Language) -> Zygote | None:
        """The warm interpreter, started by whoever needs it first; None where it cannot be had."""
        with self._starting:
            if self._zygote is not None and self._zygote.alive():
                return self._zygote
            if self._broken > _PATIENCE:
                return None
            if self._zygote is not None:
                self._zygote.close()
            configuration = {"imports": row.warm, "stand_ins": row.stand_ins}
            harness = {name: _harness(name).encode() for name in (*row.harness, "zygote.py")}
            harness["rules"] = syscall_filter()
            self._zygote = Zygote(harness, configuration, slot=self.jobs, interpreter=row.needs[0], environment={name: value.replace("{packages}", PACKAGES_INSIDE) for name, value in row.environment.items()}, shown=_shown())
            if not self._zygote.ready:
                self._broken = _PATIENCE + 1
                self._zygote = None
            return self._zygote


class _Plan:
    """One request, made into a command, its files, and the verdict on how it ended."""

    def __init__(self, request: Execute, row: Language) -> None:
        self.request, self.row = request, row
        self.proved = request.proof == "completion"
        self.entry = "v" + secrets.token_hex(12)
        self.words = {"{entry}": self.entry, "{packages}": PACKAGES_INSIDE}
        program, test = _encoded(request.program), _encoded(request.test)
        self.sources: dict[str, bytes] = {}
        if not self.proved:
            self.sources[row.file] = program + b"\n" + test
        elif row.joined:
            self.sources[row.file] = self._joined(request.program, request.test)
        elif not row.compile_proved:
            self.sources[row.file] = program + b"\n"
        if self.proved:
            for name, source in row.sources.items():
                own = test if name.endswith("_test.h") else program
                self.sources[self._filled(name)] = self._filled(_harness(source)).encode() if source else own + b"\n"
        sent = (program, test) if not row.compile_proved else (b"", b"")
        self.conversation = Conversation(proved=self.proved, program=sent[0], test=sent[1])
        common = limits()
        self.bounds = Bounds(
            own=request.seconds,
            wall=wall_seconds(request.seconds),
            output=common.output,
            memory=row.memory * _MB,
            tasks=row.processes,
            file=common.file * _MB,
            open_files=common.open_files,
            inodes=common.inodes,
            address_space=row.address_space * _MB,
        )

    def _joined(self, program: str, test: str) -> bytes:
        """Program and test as one file, with nothing between them that an open comment or text could swallow the test by."""
        if self.row.renamed:
            to = self._filled(self.row.renamed_to)
            if re.search(self.row.renamed, test):
                test = re.sub(self.row.renamed, to, test)
            else:
                program = re.sub(self.row.renamed, to, program)
        return _encoded(f"{program}\n{self.row.separator}\n{test}\n")

    def _filled(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def _commands(self) -> str:
        row = self.row
        proved = self.proved
        compiling = row.compile_proved if proved else row.compile
        running = (row.run_proved or row.run) if proved else row.run
        return script(
            [self._filled(word) for word in compiling],
            [self._filled(word) for word in running],
            proved=proved,
            remove=[self._filled(name) for name in row.sources] if proved and row.compile_proved else [],
            check=self._filled(row.check) if proved else "",
        )

    def _environment(self) -> dict[str, str]:
        base = {"PATH": "/usr/bin:/bin", "HOME": "/box", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "nobody"}  # noqa: S108
        return base | {name: self._filled(value) for name, value in self.row.environment.items()}

    def isolated(self, slot: int, stop: int) -> Execution:
        """Run behind walls."""
        common = limits()
        opened: list[int] = []

        def passed(content: bytes) -> str:
            descriptor = os.memfd_create("viva", os.MFD_CLOEXEC)
            opened.append(descriptor)
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.lseek(descriptor, 0, os.SEEK_SET)
            return str(descriptor)

        try:
            command = [*drop_privileges(slot), *namespaces(), *reporting(INFO), *walls(disk=common.disk)]
            command += _shown()
            for name, content in [*self.sources.items(), *((n, _encoded(c)) for n, c in self.request.files)]:
                command += ["--file", passed(content), f"/box/{name}"]
            for name in self.row.harness:
                command += ["--file", passed(_harness(name).encode()), f"/viva/{name}"]
            for name, value in self._environment().items():
                command += ["--setenv", name, value]
            if rules := syscall_filter():
                command += ["--seccomp", passed(rules)]
            command += [*closing("/box"), *limited(self.bounds), "/bin/sh", "-c", self._commands()]
            started = Spawned(command, keep_open=tuple(opened), owner=slot_uid(slot))
        finally:
            for descriptor in opened:
                os.close(descriptor)
        ending = attend(started, bounds=self.bounds, conversation=self.conversation, stop=stop)
        if not ending.compiled and ending.said.startswith((b"bwrap:", b"setpriv:", b"prlimit:")):
            said = ending.said.decode(errors="replace").strip()
            raise VivaError(f"The sandbox could not be built around a {self.row.title} program: {said}")
        return self.verdict(ending)

    def forked(self, zygote: Zygote, stop: int) -> Execution:
        """Run in a fork of the warm interpreter. Raises OSError where it cannot fork."""
        bounds, common = self.bounds, limits()
        cpu = int(bounds.own) + 2
        request = {
            "proved": self.proved,
            "disk": common.disk * _MB,
            "inodes": common.inodes,
            "environment": self._environment(),
            "limits": {
                "CPU": (cpu, cpu + 1),
                "FSIZE": (bounds.file, bounds.file),
                "NOFILE": (bounds.open_files, bounds.open_files),
                "NPROC": (bounds.tasks, bounds.tasks),
                "CORE": (0, 0),
                "MEMLOCK": (65536, 65536),
                "MSGQUEUE": (0, 0),
                "STACK": (8 * _MB, 64 * _MB),
                "AS": (bounds.address_space, bounds.address_space),
            },
        }
        files = [*self.sources.items(), *((name, _encoded(content)) for name, content in self.request.files)]
        started = zygote.start(request, files)
        ending = attend(started, bounds=bounds, conversation=self.conversation, stop=stop)
        if not ending.compiled and ending.said.startswith(b"zygote:"):
            raise OSError(ending.said.decode(errors="replace"))
        return self.verdict(ending)

    def on_the_host(self, slot: int, stop: int) -> Execution:
        """Run without walls, in a temporary folder, under the limits of single processes."""
        del slot
        folder = Path(tempfile.mkdtemp(prefix="viva-unsafe-"))
        try:
            self.words = {"{entry}": self.entry, "{packages}": str(package_folder() or "/nonexistent")}
            for name, content in [*self.sources.items(), *((n, _encoded(c)) for n, c in self.request.files)]:
                (folder / name).write_bytes(content)
            harness = folder / ".viva"
            harness.mkdir()
            for name in self.row.harness:
                (harness / name).write_text(_harness(name), encoding="utf-8")
            commands = self._commands().replace("/viva/", f"{harness}/")
            environment = self._environment() | {"HOME": str(folder), "TMPDIR": str(folder)}
            command = [*limited(self.bounds)[:-1], "--nproc=unlimited", "--", "/bin/sh", "-c", commands]
            environment = {name: value.replace("/viva/", f"{harness}/") for name, value in environment.items()}
            started = Spawned(command, environment=environment, folder=str(folder))
            ending = attend(started, bounds=self.bounds, conversation=self.conversation, stop=stop)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return self.verdict(ending)

    def verdict(self, ending: Ending) -> Execution:
        """What the way it ended says about the program."""
        said = ending.output.decode(errors="replace").strip()
        times: Mapping[str, float] = {"seconds": round(ending.seconds, 4), "cpu": round(ending.cpu, 4)}
        if ending.stopped:
            why = _WHY.get(ending.stopped, ending.stopped).format(
                seconds=self.request.seconds,
                wall=self.bounds.wall,
                memory=self.row.memory,
                output=self.bounds.output,
                processes=self.row.processes,
                inodes=self.bounds.inodes,
            )
            timed = ending.stopped in {"time", "wall"}
            return Execution("timeout" if timed else "limit", f"stopped: {why}", **times)
        if not ending.compiled:
            if ending.status in {COMPILE_FAILED, FORBIDDEN}:
                return Execution("compile" if ending.status == COMPILE_FAILED else "failed", said, **times)
            return Execution("failed", f"ended with status {ending.status} before it ran: {said}", **times)
        if ending.status in {128 + 24, 137} and ending.cpu >= self.request.seconds:
            why = _WHY["time"].format(seconds=self.request.seconds)
            return Execution("timeout", f"stopped: {why}", **times)
        if ending.status == 128 + 25:
            return Execution("limit", f"stopped: it wrote a file larger than {limits().file} MB", **times)
        if ending.status == 0 and (ending.proved or not self.proved):
            return Execution("passed", said, **times)
        if ending.status == 0:
            return Execution("failed", f"it ended before its test did; {said}", **times)
        return Execution("failed", f"ended with status {ending.status}: {said}", **times)


def _encoded(text: str) -> bytes:
    """UTF-8, whatever the text holds: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def _shown() -> list[str]:
    folder = package_folder()
    return shown_folders([(folder, PACKAGES_INSIDE)] if folder else [])


def _harness(name: str) -> str:
    return (files(__package__) / "harness" / name).read_text(encoding="utf-8")
