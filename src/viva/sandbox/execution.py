"""One request made into a command, its files, its limits, and the verdict on how it ended."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import msgspec

from viva.errors import VivaError
from viva.sandbox.calls import CallConversation
from viva.sandbox.cgroups import Group, group_for
from viva.sandbox.drivers import DRIVERS
from viva.sandbox.isolation import slot_uid, walled
from viva.sandbox.languagetables import Language, canonical, harness_file, limits, package_folder
from viva.sandbox.launch import (
    COMPILE_FAILED,
    FORBIDDEN,
    INFO,
    Bounds,
    Ending,
    Spawned,
    Started,
    abandon,
    attend,
    in_memory,
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
        for name, macros in row.undefined.items():
            self.words[f"{{undefined_{name}}}"] = "\n".join(f"#undef {macro}" for macro in macros)
        self.separate = None
        if row.separate and self.proved and request.test.strip() and not request.calls:
            self.separate = None if shared_reason(canonical(request.language), request.test) else row.separate
        answering = row.answering if request.calls else None
        self.way = answering or (row.shared if self.proved else row.published)
        self.sources = {name: _encoded(text) + b"\n" for name, text in self._texts().items()}
        alone = self.way.compile or (self.separate and not self.separate.decides)
        sent = "" if alone else request.program, "" if self.way.compile else request.test
        self.conversation = (
            CallConversation(request.calls, words=self.way.words)
            if request.calls
            else Conversation(proved=self.proved, program=_encoded(sent[0]), test=_encoded(sent[1]))
        )
        self.archives = prepared(row.shared.prepared).archives if row.shared.prepared else {}
        self.prepared = prepared(self.way.prepared).files(self.entry) if self.way.prepared else {}
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
        if self.request.calls or (self.separate and not self.conversation.asked):
            return "separate"
        return "shared" if self.proved else ""

    def _texts(self) -> dict[str, str]:
        """The program, with its test where they are one file, what lies next to it, and what its calls need."""
        request, row = self.request, self.row
        program, texts = request.program, dict[str, str]()
        if request.calls:
            program = texts[row.file] = self._renamed(program)
        elif not self.proved:
            texts[row.file] = f"{program}\n{request.test}"
        elif row.separator:
            texts[row.file] = self._joined(program, request.test)
        elif not self.way.compile:
            texts[row.file] = program
        for name, source in self.way.sources.items():
            own = request.test if name.endswith("_test.h") else program
            texts[self._filled(name)] = self._filled(harness_file(source)) if source else own
        if row.imported and not request.calls and self.proved:
            texts[f"{self.entry}_names.go"] = _imports(row.imported, request.test)
        driver = DRIVERS.get(canonical(request.language))
        if driver is not None and request.calls:
            texts |= driver(program, request.calls, self.entry)
        return texts

    def _joined(self, program: str, test: str) -> str:
        """Program and test as one file, with nothing between them that an open comment or text could swallow the test
        by."""
        if not self.row.renamed or not re.search(self.row.renamed, test):
            program = self._renamed(program)
        else:
            test = self._renamed(test)
        return f"{program}\n{self.row.separator}\n{test}"

    def _renamed(self, text: str) -> str:
        """A text whose entry point has the name that the harness calls."""
        return re.sub(self.row.renamed, self._filled(self.row.renamed_to), text) if self.row.renamed else text

    def _filled(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def _commands(self) -> str:
        way = self.way
        return script(
            [self._filled(word) for word in way.compile],
            [self._filled(word) for word in way.run],
            proved=self.proved,
            remove=self._removed() if way is self.row.shared and way.compile else [],
            check=self._filled(way.check),
        )

    def _removed(self) -> list[str]:
        """The files beside the program that are gone before it starts."""
        needed = self.way.prepared is not None and self.way.prepared.kept
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

    def _attended(self, begin: Callable[[_Process], Started], bounds: Bounds, stop: int) -> Ending:
        """Start by `begin`, in a group where there can be one, and stay to the end."""
        group = self._group()

        def start(process: _Process) -> Started:
            started = begin(process)
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

    def _started(self, start: Callable[[_Process], Started]) -> list[Started]:
        """The program, or its test and the program, with pipes between them."""
        separate = self.separate
        if separate is None:
            mode = "calls" if self.request.calls else self.request.proof
            return [start(_Process(mode, self._commands(), self.sources, self.way.harness))]
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
        with suppress(OSError):  # it may have ended already, which the test's conversation tells
            os.write(program.source, b"go\n")
        program.close_source()
        return [test, program]

    def isolated(self, slot: int, stop: int) -> Execution:
        """Run behind walls."""
        ending = self._attended(lambda process: self._behind_walls(process, slot), self.bounds, stop)
        if not ending.compiled and ending.said.startswith((b"bwrap:", b"setpriv:", b"prlimit:")):
            said = ending.said.decode(errors="replace").strip()
            raise VivaError(f"The sandbox could not be built around a {self.row.title} program: {said}")
        return self.verdict(ending)

    def _behind_walls(self, process: _Process, slot: int) -> Started:
        opened: list[int] = []

        def passed(content: bytes) -> str:
            opened.append(in_memory(content))
            return str(opened[-1])

        try:
            inside = shown()
            for name, content in self._files(process):
                inside += ["--file", passed(content), f"/box/{name}"]
            for name, archive in self.archives.items():
                opened.append(os.open(f"/proc/self/fd/{archive}", os.O_RDONLY | os.O_CLOEXEC))
                inside += ["--file", str(opened[-1]), f"/viva/{name}"]
            for name in process.harness:
                inside += ["--file", passed(harness_file(name).encode()), f"/viva/{name}"]
            for name, value in self._environment().items():
                inside += ["--setenv", name, value]
            if rules := syscall_filter(canonical(self.request.language)):
                inside += ["--seccomp", passed(rules)]
            command = walled(slot, disk=limits().disk, told=INFO, inside=inside)
            command += [*limited(self.bounds), "/bin/sh", "-c", process.commands]
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
            lambda process: zygote.start(request | {"mode": process.mode}, self._files(process), process.link),
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

            def start(process: _Process) -> Started:
                inside = folder / process.mode
                inside.mkdir()
                for name, content in self._files(process):
                    (inside / name).write_bytes(content)
                for name, archive in self.archives.items():
                    shutil.copyfile(f"/proc/self/fd/{archive}", harness / name)
                for name in process.harness:
                    (harness / name).write_text(harness_file(name), encoding="utf-8")
                command = [*limited(bounds), "/bin/sh", "-c", _moved(process.commands, harness)]
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
    return ["--ro-bind", str(folder), PACKAGES_INSIDE] if folder else []
