"""One request made into a command, its files, its limits, and the verdict on how it ended."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

import msgspec

from viva.errors import VivaError
from viva.sandbox.calls import CallConversation
from viva.sandbox.cgroups import Group, group_for
from viva.sandbox.drivers import DRIVERS
from viva.sandbox.isolation import closing, drop_privileges, namespaces, reporting, shown_folders, slot_uid, walls
from viva.sandbox.languagetables import Answering, Language, canonical, harness_file, limits, package_folder
from viva.sandbox.launch import (
    COMPILE_FAILED,
    FORBIDDEN,
    INFO,
    Bounds,
    Ending,
    Pair,
    Spawned,
    Started,
    abandon,
    attend,
    limited,
    resource_limits,
    script,
    wall_seconds,
)
from viva.sandbox.prepared import prepared
from viva.sandbox.proof import Conversation
from viva.sandbox.seccomp import syscall_filter
from viva.sandbox.separable import shared_reason
from viva.sandbox.warm import Zygote
from viva.types import Execute, Execution, Isolation

_MB = 1024 * 1024
PACKAGES_INSIDE = "/opt/viva"
"""Where the folder of languages.package_folder appears inside."""
_ANOTHER_EACH_TIME = re.compile(r"\b0x[0-9a-fA-F]{9,16}\b|(?<=<)[0-9a-f]{32}(?=>:0)")
"""Where something lies in memory, and what Mono calls a program that it has compiled."""


class _About(TypedDict):
    """What every verdict comes with."""

    seconds: float
    cpu: float
    isolation: Isolation


class _Process(msgspec.Struct, frozen=True):
    """A process to start: the script inside, the files in its folder and Viva's own beside it, its end of the link."""

    mode: str
    commands: str
    sources: Mapping[str, bytes]
    harness: tuple[str, ...]
    link: tuple[int, ...] = ()


class Plan:
    """One request, made into a command, its files, and the verdict on how it ended."""

    def __init__(self, request: Execute, row: Language) -> None:
        self.request, self.row = request, row
        self.proved = request.proof == "completion" or bool(request.calls)
        self.entry = "v" + secrets.token_hex(12)
        self.words = {"{entry}": self.entry, "{packages}": PACKAGES_INSIDE}
        words = dict.fromkeys(re.findall(r"\w+", request.test))
        self.words["{words}"] = " ".join(words)
        self.words["{reserved}"] = " ".join(name for name in row.reserved if name in words)
        program, test = _encoded(request.program), _encoded(request.test)
        self.sources: dict[str, bytes] = {}
        self.harness = row.harness
        self.conversation: Conversation | CallConversation
        self.separate = None
        if row.separate and self.proved and request.test.strip() and not request.calls:
            self.separate = None if shared_reason(canonical(request.language), request.test) else row.separate
        if request.calls:
            self.sources = self._answering_sources()
            self.harness = self.answering.harness
        elif not self.proved:
            self.sources[row.file] = program + b"\n" + test
        elif row.joined:
            self.sources[row.file] = self._joined(request.program, request.test)
        elif not row.compile_proved:
            self.sources[row.file] = program + b"\n"
        if self.proved and not request.calls:
            for name, source in row.sources.items():
                own = test if name.endswith("_test.h") else program
                self.sources[self._filled(name)] = (
                    self._filled(harness_file(source)).encode() if source else own + b"\n"
                )
            if row.imported:
                self.sources[f"{self.entry}_names.go"] = _encoded(_imports(row.imported, request.test))
        if request.calls:
            self.conversation = CallConversation(request.calls, words=self.answering.words)
        else:
            alone = self.separate is not None and not self.separate.decides
            sent = (b"" if alone else program, test) if not row.compile_proved else (b"", b"")
            self.conversation = Conversation(proved=self.proved, program=sent[0], test=sent[1])
        self.archives = prepared(row.prepared).archives if row.prepared else {}
        preparation = self.answering.prepared if request.calls else row.prepared
        self.prepared = prepared(preparation).files(self.entry) if preparation and self.proved else {}
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

    @property
    def isolation(self) -> Isolation:
        """Whether what decides the verdict is in another process than the program."""
        if self.request.calls or (self.separate and not getattr(self.conversation, "asked", False)):
            return "separate"
        return "shared" if self.proved else ""

    @property
    def answering(self) -> Answering:
        """How a program of this language is asked for calls."""
        assert self.row.answering is not None, self.row.title
        return self.row.answering

    def _answering_sources(self) -> dict[str, bytes]:
        """The program as it is, what stands beside it for every program, and what is written for these calls."""
        program = self._renamed(self.request.program)
        texts = {self.row.file: program}
        for name, source in self.answering.sources.items():
            texts[self._filled(name)] = self._filled(harness_file(source)) if source else program
        driver = DRIVERS.get(canonical(self.request.language))
        if driver is not None:
            texts |= driver(program, self.request.calls, self.entry)
        return {name: _encoded(text) + b"\n" for name, text in texts.items()}

    def _joined(self, program: str, test: str) -> bytes:
        """Program and test as one file, with nothing between them that an open comment or text could swallow the test
        by."""
        if not self.row.renamed or not re.search(self.row.renamed, test):
            program = self._renamed(program)
        else:
            test = self._renamed(test)
        return _encoded(f"{program}\n{self.row.separator}\n{test}\n")

    def _renamed(self, text: str) -> str:
        """A text whose entry point has the name that the harness calls."""
        return re.sub(self.row.renamed, self._filled(self.row.renamed_to), text) if self.row.renamed else text

    def _filled(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def _commands(self) -> str:
        row = self.row
        proved = self.proved
        if self.request.calls:
            answering = self.answering
            return script(
                [self._filled(word) for word in answering.compile],
                [self._filled(word) for word in answering.run],
                proved=True,
                remove=sorted(self.sources) if answering.remove else [],
                check=self._filled(answering.check),
            )
        compiling = row.compile_proved if proved else row.compile
        running = (row.run_proved or row.run) if proved else row.run
        return script(
            [self._filled(word) for word in compiling],
            [self._filled(word) for word in running],
            proved=proved,
            remove=self._removed() if proved and row.compile_proved else [],
            check=self._filled(row.check) if proved else "",
        )

    def _removed(self) -> list[str]:
        """The files beside the program that are gone before it starts."""
        needed = self.row.prepared is not None and self.row.prepared.kept
        return [name for name in (*self.sources, *(() if needed else self.prepared)) if self.entry in name]

    def _environment(self) -> dict[str, str]:
        base = {"PATH": "/usr/bin:/bin", "HOME": "/box", "LANG": "C.UTF-8", "USER": "nobody"}
        base["TMPDIR"] = "/tmp"  # noqa: S108  the sandbox's own
        return base | {name: self._filled(value) for name, value in self.row.environment.items()}

    def _group(self) -> Group | None:
        """A control group, where this user may make one. Its memory has room for full folders beside full processes;
        its tasks for those of the sandbox itself: of the program's alone, `prlimit` and polling keep count."""
        capacity = 3 * limits().disk * _MB
        return group_for(memory=self.bounds.memory + capacity, tasks=4 * self.row.processes + 16)

    def _attended(self, begin: Callable[[_Process, Group | None], Started], bounds: Bounds, stop: int) -> Ending:
        """Start by `begin`, in a group where there can be one, and stay to the end."""
        group = self._group()

        def start(process: _Process) -> Started:
            started = begin(process, group)
            if group:
                group.adopt(started.pid)
            return started

        try:
            started = self._started(start)
        except BaseException:
            if group:
                group.close()
            raise
        return attend(started, bounds=bounds, conversation=self.conversation, stop=stop, group=group)

    def _started(self, start: Callable[[_Process], Started]) -> Started:
        """The program, or the program and its test, with pipes between them."""
        separate = self.separate
        if separate is None:
            mode = "calls" if self.request.calls else self.request.proof
            return start(_Process(mode, self._commands(), self.sources, self.harness))
        started: list[Started] = []
        descriptors = [high for one in (*os.pipe(), *os.pipe()) for high in [_moved_up(one)]]
        reading, answering, asked, asking = descriptors
        try:
            for role, words, link, sources in (
                ("program", separate.program, (asked, answering), self.sources),
                ("test", separate.test, (reading, asking), {}),
            ):
                ends = {"{incoming}": str(link[0]), "{outgoing}": str(link[1])}
                command = [ends.get(word, self._filled(word)) for word in words]
                commands = script([], command, proved=role == "test")
                started.append(start(_Process(role, commands, sources, separate.harness, link)))
        except BaseException:
            for one in started:
                abandon(one)
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        program, test = started
        return Pair(test, program)

    def isolated(self, slot: int, stop: int) -> Execution:
        """Run behind walls."""
        ending = self._attended(lambda process, group: self._behind_walls(process, slot, group), self.bounds, stop)
        if not ending.compiled and ending.said.startswith((b"bwrap:", b"setpriv:", b"prlimit:")):
            said = ending.said.decode(errors="replace").strip()
            raise VivaError(f"The sandbox could not be built around a {self.row.title} program: {said}")
        return self.verdict(ending)

    def _behind_walls(self, process: _Process, slot: int, group: Group | None) -> Started:
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
            command += shown()
            for name, content in self._files(process):
                command += ["--file", passed(content), f"/box/{name}"]
            for name, archive in self.archives.items():
                opened.append(os.open(f"/proc/self/fd/{archive}", os.O_RDONLY | os.O_CLOEXEC))
                command += ["--file", str(opened[-1]), f"/viva/{name}"]
            for name in process.harness:
                command += ["--file", passed(harness_file(name).encode()), f"/viva/{name}"]
            for name, value in self._environment().items():
                command += ["--setenv", name, value]
            if rules := syscall_filter(canonical(self.request.language)):
                command += ["--seccomp", passed(rules)]
            command += [*closing("/box"), *limited(self.bounds), "/bin/sh", "-c", process.commands]
            command = group.joining(command) if group else command
            if (uid := slot_uid(slot)) is not None:
                for descriptor in process.link:
                    os.fchown(descriptor, uid, uid)  # as launch.Spawned does with its own
            return Spawned(command, keep_open=(*opened, *process.link), owner=slot_uid(slot))
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _files(self, process: _Process) -> list[tuple[str, bytes]]:
        return [
            *process.sources.items(),
            *self.prepared.items(),
            *((name, _encoded(content)) for name, content in self.request.files),
        ]

    def forked(self, zygote: Zygote, stop: int) -> Execution:
        """Run in a fork of the warm interpreter. Raises OSError where it cannot fork."""
        bounds, common = self.bounds, limits()
        request = {
            "disk": common.disk * _MB,
            "inodes": common.inodes,
            "environment": self._environment(),
            "limits": resource_limits(bounds),
        }
        ending = self._attended(
            lambda process, _: zygote.start(request | {"mode": process.mode}, self._files(process), process.link),
            bounds,
            stop,
        )
        if not ending.compiled and ending.said.startswith(b"zygote:"):
            raise OSError(ending.said.decode(errors="replace"))
        return self.verdict(ending)

    def on_the_host(self, slot: int, stop: int) -> Execution:
        """Run without walls, in a temporary folder, under the limits of single processes."""
        del slot
        folder = Path(tempfile.mkdtemp(prefix="viva-unsafe-"))
        try:
            self.words["{packages}"] = str(package_folder() or "/nonexistent")
            harness = folder / ".viva"
            harness.mkdir()
            environment = self._environment() | {"HOME": str(folder), "TMPDIR": str(folder)}
            bounds = msgspec.structs.replace(self.bounds, tasks=0, inodes=0)  # they would count this user's others
            environment = {name: _moved(value, harness) for name, value in environment.items()}

            def start(process: _Process, group: Group | None) -> Started:
                inside = folder / process.mode
                inside.mkdir()
                for name, content in self._files(process):
                    (inside / name).write_bytes(content)
                for name, archive in self.archives.items():
                    shutil.copyfile(f"/proc/self/fd/{archive}", harness / name)
                for name in process.harness:
                    (harness / name).write_text(harness_file(name), encoding="utf-8")
                command = [*limited(bounds), "/bin/sh", "-c", _moved(process.commands, harness)]
                command = group.joining(command) if group else command
                return Spawned(command, keep_open=process.link, environment=environment, folder=str(inside))

            ending = self._attended(start, bounds, stop)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return self.verdict(ending)

    def verdict(self, ending: Ending) -> Execution:  # noqa: PLR0911  a list of cases
        """What the way it ended says about the program."""
        said = self._repeatable(ending.output)
        about = _About(seconds=round(ending.seconds, 4), cpu=round(ending.cpu, 4), isolation=self.isolation)
        if ending.failure:
            failure = self._repeatable(ending.failure.encode(errors="replace"))
            return Execution("failed", f"{failure}; {said}".rstrip("; "), **about)
        if ending.stopped:
            why = limits().stopped.get(ending.stopped, ending.stopped)
            why = why.format(
                seconds=self.request.seconds,
                wall=self.bounds.wall,
                memory=self.row.memory,
                output=self.bounds.output,
                processes=self.row.processes,
                inodes=self.bounds.inodes,
            )
            timed = ending.stopped in {"time", "wall"}
            return Execution("timeout" if timed else "limit", f"stopped: {why}", **about)
        if not ending.compiled:
            if ending.status in {COMPILE_FAILED, FORBIDDEN}:
                return Execution("compile" if ending.status == COMPILE_FAILED else "failed", said, **about)
            complaint = self._repeatable(ending.said)
            return Execution("failed", f"ended with status {ending.status} before it ran: {complaint} {said}", **about)
        if ending.status in {128 + 24, 137} and ending.cpu >= self.request.seconds:
            why = limits().stopped["time"].format(seconds=self.request.seconds)
            return Execution("timeout", f"stopped: {why}", **about)
        if ending.status == 128 + 25:
            return Execution("limit", f"stopped: it wrote a file larger than {limits().file} MB", **about)
        if ending.status == 0 and (ending.proved or not self.proved):
            return Execution("passed", said, **about)
        if ending.status == 0:
            return Execution("failed", f"it ended before its test did; {said}", **about)
        return Execution("failed", f"ended with status {ending.status}: {said}", **about)

    def _repeatable(self, output: bytes) -> str:
        """What was printed, without what is another each time: the harness's one-time name, addresses."""
        text = output.decode(errors="replace").strip().replace(self.entry, "viva")
        return _ANOTHER_EACH_TIME.sub("…", text)


def _imports(packages: Mapping[str, str], test: str) -> str:
    """A file of Go that imports each of these packages that the test uses by its own name."""
    used = [name for name in packages if re.search(rf"\b{name}\s*\.\s*[A-Z]", test)]
    return (
        "package main\n\n"
        + "".join(f'import "{name}"\n' for name in used)
        + "".join(f"\nvar _ = {name}.{packages[name]}\n" for name in used)
    )


def _moved(text: str, harness: Path) -> str:
    """A command or a setting with the harness's folder where it is outside of any sandbox."""
    return re.sub(r"(?<![\w/])/viva/", f"{harness}/", text)


def _moved_up(descriptor: int) -> int:
    """The same under a number that no shell script uses."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(descriptor)
    return high


def _encoded(text: str) -> bytes:
    """UTF-8, whatever the text holds: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def shown() -> list[str]:
    """Words that show the packages which Debian has none of."""
    folder = package_folder()
    return shown_folders([(folder, PACKAGES_INSIDE)] if folder else [])
