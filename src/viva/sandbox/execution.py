"""From a request to a command with files and limits, and from its ending to a verdict."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from viva.errors import VivaError
from viva.sandbox.calls import CallConversation
from viva.sandbox.cgroups import group_for
from viva.sandbox.drivers import DRIVERS
from viva.sandbox.isolation import slot_uid, syscall_filter, walled
from viva.sandbox.languagetables import (
    PACKAGES_INSIDE,
    Language,
    canonical,
    environment,
    harness_file,
    limits,
    package_folder,
    shown,
)
from viva.sandbox.launch import (
    COMPILE_FAILED,
    FORBIDDEN,
    INFO,
    Bounds,
    Ending,
    Spawned,
    Started,
    Watching,
    abandon,
    furnished,
    limited,
    resource_limits,
    script,
    wall_seconds,
)
from viva.sandbox.prepared import prepared
from viva.sandbox.proof import Conversation
from viva.sandbox.separable import shared_reason
from viva.sandbox.warm import Zygote
from viva.types import Execute, Execution, Isolation, Verdict

_MB = 1024 * 1024
_ANOTHER_EACH_TIME = re.compile(r"\b0x[0-9a-fA-F]{9,16}\b|(?<=<)[0-9a-f]{32}(?=>:0)")
"""Output that differs in every run: memory addresses, and Mono's names of programs that it has compiled."""


class _Process(msgspec.Struct, frozen=True):
    """A process to start: its script, the files in its folder and Viva's own, its end of the link."""

    mode: str
    commands: str
    sources: Mapping[str, bytes]
    harness: tuple[str, ...]
    link: tuple[int, ...] = ()


class Plan:
    """One request: its command, its files, and the verdict on its ending."""

    def __init__(self, request: Execute, row: Language) -> None:
        self.request, self.row = request, row
        self.proved = request.proof == "completion" or bool(request.calls)
        self.entry = "v" + secrets.token_hex(12)
        self.words = {"{entry}": self.entry, "{packages}": PACKAGES_INSIDE}
        words = dict.fromkeys(re.findall(r"\w+", request.test))
        self.words["{words}"] = " ".join(words)
        its_own = re.findall(r"\b(?:class|struct|record|enum|interface)\s+(\w+)", request.test)
        self.words["{reserved}"] = " ".join(name for name in row.reserved if name in words and name not in its_own)
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
        self.bounds = Bounds(
            own=request.seconds,
            wall=wall_seconds(request.seconds),
            memory=row.memory * _MB,
            tasks=row.processes,
            inodes=limits().inodes,
            address_space=row.address_space * _MB,
        )

    @property
    def isolation(self) -> Isolation:
        """Whether the verdict is decided in another process than the program's."""
        if self.request.calls or (self.separate and not self.conversation.asked):
            return "separate"
        return "shared" if self.proved else ""

    def _texts(self) -> dict[str, str]:
        """Return the program (with its test if they are one file), the files next to it, and its calls' driver."""
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
            lines = meant(row.imported, request.test)
            imports = "".join(f'import "{name}"\n' for name in lines)
            texts[f"{self.entry}_names.go"] = f"package main\n\n{imports}{''.join(lines.values())}"
        driver = DRIVERS.get(canonical(request.language))
        if driver is not None and request.calls:
            texts |= driver(program, request.calls, self.entry)
        return texts

    def _joined(self, program: str, test: str) -> str:
        """Join program and test in one file, so that an open comment or string cannot swallow the test."""
        if not self.row.renamed or not re.search(self.row.renamed, test):
            program = self._renamed(program)
        else:
            test = self._renamed(test)
        return f"{program}\n{self.row.separator}\n{test}"

    def _renamed(self, text: str) -> str:
        """Return a text with its entry point renamed to what the harness calls."""
        return re.sub(self.row.renamed, self._filled(self.row.renamed_to), text) if self.row.renamed else text

    def _filled(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def _commands(self) -> str:
        way = self.way
        return script(
            list(map(self._filled, way.compile)),
            list(map(self._filled, way.run)),
            proved=self.proved,
            remove=self._removed() if way is self.row.shared and way.compile else [],
            check=self._filled(way.check),
        )

    def _removed(self) -> list[str]:
        """Return the files that are removed before the program starts."""
        needed = self.way.prepared is not None and self.way.prepared.kept
        return [name for name in (*self.sources, *(() if needed else self.prepared)) if self.entry in name]

    def _attended(self, begin: Callable[[_Process], Started], bounds: Bounds, stop: int) -> Execution:
        """Start by `begin`, in a control group where this user may make one, and watch until the end.

        The group's memory limit has room for full folders and full processes, its limit of tasks for the sandbox's
        own: the program's are limited by `prlimit` and polling. Raises OSError where the warm interpreter cannot fork,
        VivaError where isolation breaks down.
        """
        capacity = 3 * limits().disk * _MB
        group = group_for(memory=self.bounds.memory + capacity, tasks=4 * self.row.processes + 16)

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
        ending = Watching(started, bounds, self.conversation, stop, group).attend()
        complaint = "" if ending.compiled else ending.said.decode(errors="replace").strip()
        if complaint.startswith("zygote:"):
            raise OSError(complaint)
        if complaint.startswith(("bwrap:", "setpriv:", "prlimit:")):
            raise VivaError(f"The sandbox could not be built around a {self.row.title} program: {complaint}")
        verdict, detail = self._verdict(ending)
        return Execution(verdict, detail, round(ending.seconds, 4), round(ending.cpu, 4), self.isolation)

    def _started(self, start: Callable[[_Process], Started]) -> list[Started]:
        """Start the program, or its test and the program with pipes between them."""
        separate = self.separate
        if separate is None:
            mode = "calls" if self.request.calls else self.request.proof
            return [start(_Process(mode, self._commands(), self.sources, self.way.harness))]
        started: list[Started] = []
        descriptors = [_moved_up(end) for end in (*os.pipe(), *os.pipe())]
        reading, answering, asked, asking = descriptors
        try:
            for role, words, link, sources in (
                ("program", separate.program, (asked, answering), self.sources),
                ("test", separate.test, (reading, asking), {}),
            ):
                self.words["{incoming}"], self.words["{outgoing}"] = map(str, link)
                commands = script([], list(map(self._filled, words)), proved=role == "test")
                started.append(start(_Process(role, commands, sources, separate.harness, link)))
        except BaseException:
            for process in started:
                abandon(process)
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        program, test = started
        with suppress(OSError):  # it may have ended already, which the test's conversation reports
            os.write(program.source, b"go\n")
        program.close_source()
        return [test, program]

    def _files(self, process: _Process) -> dict[str, bytes]:
        """Return the files in the program's folder."""
        given = {name: _encoded(content) for name, content in self.request.files}
        return {**process.sources, **self.prepared, **given}

    def _all_files(self, process: _Process) -> dict[str, bytes | int]:
        """Return these files and the harness's own by path; archives are descriptors."""
        own = {name: harness_file(name).encode() for name in process.harness}
        parts: dict[str, Mapping[str, bytes | int]] = {"/box": self._files(process), "/viva": {**self.archives, **own}}
        return {f"{folder}/{name}": content for folder, files in parts.items() for name, content in files.items()}

    def isolated(self, slot: int, stop: int) -> Execution:
        """Run in a new sandbox."""

        def begin(process: _Process) -> Started:
            opened: list[int] = []
            try:
                rules = syscall_filter(canonical(self.request.language))
                inside = [*shown(), *furnished(self._all_files(process), environment(self.row), rules, opened)]
                command = walled(slot, disk=limits().disk, told=INFO, inside=inside)
                command += [*limited(self.bounds), "/bin/sh", "-c", process.commands]
                uid = slot_uid(slot)
                if uid is not None:  # as launch.Spawned does with its own
                    for descriptor in process.link:
                        os.fchown(descriptor, uid, uid)
                return Spawned(command, keep_open=(*opened, *process.link), owner=uid)
            finally:
                for descriptor in opened:
                    os.close(descriptor)

        return self._attended(begin, self.bounds, stop)

    def forked(self, zygote: Zygote, stop: int) -> Execution:
        """Run in a fork of the warm interpreter. Raises OSError where it cannot fork."""
        request = {
            "disk": limits().disk * _MB,
            "inodes": self.bounds.inodes,
            "environment": environment(self.row),
            "limits": resource_limits(self.bounds),
        }
        return self._attended(
            lambda process: zygote.start(request | {"mode": process.mode}, self._files(process), process.link),
            self.bounds,
            stop,
        )

    def on_the_host(self, stop: int) -> Execution:
        """Run without isolation, in a temporary folder, under the limits of single processes."""
        with tempfile.TemporaryDirectory(prefix="viva-unsafe-", ignore_cleanup_errors=True) as folder:
            self.words["{packages}"] = str(package_folder() or "/nonexistent")
            variables = environment(self.row, self.words["{packages}"]) | {"HOME": folder, "TMPDIR": folder}
            bounds = msgspec.structs.replace(self.bounds, tasks=0, inodes=0)  # they would count this user's others

            def moved(text: str, mode: str) -> str:
                """Return a command, path or setting with the sandbox's folders replaced by those on the host."""
                return re.sub(r"(?<![\w/])/(viva|box)/", rf"{folder}/{mode}/\1/", text)

            def begin(process: _Process) -> Started:
                for name in ("box", "viva"):
                    Path(folder, process.mode, name).mkdir(parents=True)
                for path, content in self._all_files(process).items():
                    place = Path(moved(path, process.mode))
                    place.write_bytes(
                        Path(f"/proc/self/fd/{content}").read_bytes() if isinstance(content, int) else content
                    )
                own = {name: moved(value, process.mode) for name, value in variables.items()}
                command = [*limited(bounds), "/bin/sh", "-c", moved(process.commands, process.mode)]
                return Spawned(command, keep_open=process.link, environment=own, folder=f"{folder}/{process.mode}/box")

            return self._attended(begin, bounds, stop)

    def _verdict(self, ending: Ending) -> tuple[Verdict, str]:  # noqa: PLR0911  a list of cases
        """Return the verdict on an ending, and the reason."""
        text = self._repeatable(ending.output)
        if ending.failure:
            failure = self._repeatable(ending.failure.encode(errors="replace"))
            return "failed", f"{failure}; {text}".rstrip("; ")
        killed = ending.status in {128 + 24, 137} and ending.cpu >= self.request.seconds
        if stopped := ending.stopped or ("time" if ending.compiled and killed else ""):
            why = limits().stopped.get(stopped, stopped)
            why = why.format(
                seconds=self.request.seconds,
                wall=self.bounds.wall,
                memory=self.row.memory,
                output=limits().output,
                processes=self.row.processes,
                inodes=self.bounds.inodes,
            )
            return "timeout" if stopped in {"time", "wall"} else "limit", f"stopped: {why}"
        if not ending.compiled:
            if ending.status in {COMPILE_FAILED, FORBIDDEN}:
                return "compile" if ending.status == COMPILE_FAILED else "failed", text
            return "failed", f"ended with status {ending.status} before it ran: {self._repeatable(ending.said)} {text}"
        if ending.status == 128 + 25:
            return "limit", f"stopped: it wrote a file larger than {limits().process['FSIZE'][0] // _MB} MB"
        if ending.status != 0:
            return "failed", f"ended with status {ending.status}: {text}"
        if ending.proved or not self.proved:
            return "passed", text
        return "failed", f"it ended before its test did; {text}"

    def _repeatable(self, output: bytes) -> str:
        """Return the output without what differs in every run: the harness's one-time name, addresses."""
        text = output.decode(errors="replace").strip().replace(self.entry, "viva")
        return _ANOTHER_EACH_TIME.sub("…", text)


def meant(packages: Mapping[str, str], test: str) -> dict[str, str]:
    """Return for each standard package that a test uses by its own name a line of Go that uses it, too."""
    used = {name: item for name, item in packages.items() if re.search(rf"\b{name}\s*\.\s*[A-Z]", test)}
    return {name: f"\nvar _ = {name}.{item}\n" for name, item in used.items()}


def _moved_up(descriptor: int) -> int:
    """Move a descriptor to a number that no shell script uses."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(descriptor)
    return high


def _encoded(text: str) -> bytes:
    """Encode a text as UTF-8; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", errors="replace")
