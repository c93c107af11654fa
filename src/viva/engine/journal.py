"""A stage's journal: JSONL, append-only, without partial lines.

Every answer is handed to the operating system with one write as soon as it comes, so that killing the process loses
only requests in flight. A line that a crash tore is set aside; so is one of other files of lines (`whole_lines`).

Also here: the key under which an answer is stored, a request's seed, and the nonce of a verdict. The key covers
everything that a reply depends on (provider, model, endpoint, prompt, sampling, seed, number of the sample) and nothing
else, so that exactly the answers to identical requests can be reused from earlier runs.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.errors import StorageError
from viva.files import UNREADABLE, lines, new_file, open_regular
from viva.keytable import KeyTable, read_key
from viva.secretkey import derived_key
from viva.types import (
    Choose,
    Failure,
    Generate,
    Likelihood,
    Message,
    Request,
    Response,
    Served,
    StopReason,
    Usage,
    VerdictFormat,
)

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
BALLAST = 4 << 20
"""Bytes of disk reserved during a run: on a full disk they make room for the answers still in flight."""
MOST_BALLAST = 1 << 30
"""Most bytes of the reserve, which grows with the requests in flight."""
MOST_SERVED = 1000
NOBODY, OTHERS = Served(), Served(model="(others)")
"""Stand for a reply that names no served model, and for those after the first MOST_SERVED of a journal."""


class Entry(Struct, kw_only=True, omit_defaults=True, gc=False):
    """One line: the reply to one request, or why there is none.

    `key` identifies the request by content, `reasoning` is what the model thought before its reply, `seconds` is the
    last attempt's latency, `first` that until something of a streamed reply came, `attempts` counts all of them, `at`
    is seconds since 1970, `reused` names the run that the answer was taken from, `batch` the provider's batch that it
    came in (its latency is then not known). `nonce` is what a judge's verdict must carry. `served` and `by` say who
    answered; see `ServedChanges`.
    """

    key: str
    benchmark: str
    model: str
    question: str
    sample: int = 0
    text: str = ""
    reasoning: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage | None = None
    error: Failure | None = None
    likelihoods: tuple[Likelihood, ...] = ()
    seconds: float = 0.0
    first: float = 0.0
    attempts: int = 1
    at: float = 0.0
    reused: str = ""
    batch: str = ""
    nonce: str = ""
    served: Served | None = None
    by: str = ""

    def response(self) -> Response:
        """Return the reply without its circumstances."""
        return Response(
            text=self.text,
            reasoning=self.reasoning,
            stop_reason=self.stop_reason,
            usage=self.usage,
            error=self.error,
            likelihoods=self.likelihoods,
        )


class ServedChanges:
    """Which served models answered the requests of a file. A line names its own where that differs from the model's
    previous line: in full, or by the digest (`by`) of an earlier line's.

    A reply without that information, after one with it, has an empty entry; a line without a reply has none.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, Served], Served] = {}
        """(model, served model) → the same, in the order of their first answers."""
        self._full: dict[str, Served] = {}
        self._last: dict[str, Served] = {}

    def resolve(self, entry: Entry) -> None:
        """Fill in which served model answered the next line."""
        if entry.served is not None:
            self._full[_digest(entry.served)] = entry.served
        elif entry.by:
            entry.served = self._full.get(entry.by, NOBODY)
        if entry.served is None:
            entry.served = self._last.get(entry.model)
        else:
            self._last[entry.model] = entry.served = self._kept(entry.model, entry.served)
        entry.by = ""

    def shortened(self, entry: Entry) -> Entry:
        """Return the next line as it is written."""
        served, last = entry.served or NOBODY, self._last.get(entry.model, NOBODY)
        if served != last:
            served = self._kept(entry.model, served)
        same = served == last or (entry.error and served == NOBODY)
        by = "" if same or (digest := _digest(served)) not in self._full else digest
        return msgspec.structs.replace(entry, served=None if same or by else served, by=by)

    def _kept(self, model: str, served: Served) -> Served:
        """Return the stored equal value, or `OTHERS` beyond MOST_SERVED: a server may name every reply differently."""
        if served != NOBODY and (model, served) not in self.known and len(self.known) >= MOST_SERVED:
            served = OTHERS
        return self.known.setdefault((model, served), served)


def _digest(served: Served) -> str:
    return hashlib.blake2b(msgspec.json.encode(served), digest_size=6).hexdigest()


class Requests:
    """A set of the keys of a journal's answered requests, or of those that only failed."""

    def __init__(self, keys: KeyTable, failures: bytearray, failed: bool) -> None:
        self._keys = keys
        self._failures = failures
        self._failed = failed
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __contains__(self, key: bytes) -> bool:
        number = self._keys.find(key)
        return number is not None and self._failures[number] == self._failed


class Journal:
    """One stage's file, indexed by request key. Opened for writing only under the run folder's lock."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path = path
        self._keys = KeyTable()
        self._offsets, self._lengths = array("Q"), array("I")
        self._failures = bytearray()
        """By a key's number: offset of its line, its length in bytes, and whether it is a failure."""
        self._changes = ServedChanges()
        self._served: list[Served | None] = []
        """By a key's number: the served model that answered."""
        self.answered, self.failed = (Requests(self._keys, self._failures, failed) for failed in (False, True))
        self.full = False
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Entry).decode
        self._ballast = path.with_name(f".{path.stem}.ballast")
        self._kept = 0
        self._written = self._lines = self._longest = 0
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY
            self._file = open_regular(path, flags)
        except FileNotFoundError:
            self._file = -1
            self._end = 0
            return
        except OSError as problem:
            raise StorageError(f"cannot open {path}: {problem.strerror}") from None
        self._end = self._index()
        if write:
            set_torn_tail_aside(self._file, self._end, self.path.with_suffix(".torn"))
            self._reserve()

    def _index(self) -> int:
        """Read every line, so that damage is found before anything is asked; return the end of the last whole line."""
        offset = 0
        for number, line in whole_lines(self._file, self.path):
            try:
                entry = self._decode(line)
                key = read_key(entry.key)
            except UNREADABLE as problem:
                raise StorageError(
                    f"{self.path}, line {number} is damaged ({problem}); remove that line to go on without it"
                ) from None
            self._remember(key, entry, offset, len(line))
            offset += len(line)
        return offset

    def _remember(self, key: bytes, entry: Entry, offset: int, length: int) -> None:
        error = entry.error
        self._changes.resolve(entry)
        number = self._keys.add(key)
        if number == len(self._failures):
            self._offsets.append(offset)
            self._lengths.append(length)
            self._served.append(entry.served)
            self._failures.append(error is not None)
            (self.answered if error is None else self.failed).count += 1
        elif error is None or self._failures[number]:  # a later failure does not replace an answer
            self._offsets[number], self._lengths[number], self._served[number] = offset, length, entry.served
            if error is None and self._failures[number]:
                self._failures[number] = False
                self.answered.count += 1
                self.failed.count -= 1

    def _reserve(self) -> None:
        try:
            self._keep(BALLAST)
        except OSError as problem:
            self._ballast.unlink(missing_ok=True)
            raise StorageError(
                f"{self.path.parent} has no room for a run ({problem.strerror}); free some space, then `viva resume` "
                "goes on"
            ) from None

    def _keep(self, size: int) -> None:
        blocks = -(-(size - self._kept) >> 16)
        with self._ballast.open("ab") if self._kept else new_file(self._ballast) as file:
            file.write(os.urandom(1 << 16) * blocks)  # random: no file system can shrink it
        self._kept += blocks << 16

    def keep_reserve(self, in_flight: int) -> None:
        """Size the ballast for the answers in flight by those that came; set `full` where the disk lacks room."""
        if self.full or not self._lines:
            return
        needed = min(MOST_BALLAST, 3 * in_flight * self._written // (2 * self._lines) + self._longest)
        if needed <= self._kept:
            return
        for size in (2 * needed, needed):  # generously, lest it is asked for with every answer
            try:
                self._keep(size)
            except OSError as problem:
                if problem.errno not in _FULL:
                    raise StorageError(f"cannot write {self._ballast}: {problem.strerror}") from None
                os.truncate(self._ballast, self._kept)
            else:
                return
        self.full = True
        self._ballast.unlink(missing_ok=True)

    def append(self, entry: Entry) -> bool:
        """Write one line. On a full disk the ballast makes room, and `full` tells the caller to stop.

        Returns whether the served model is new for this model.
        """
        known = len(self._changes.known)
        entry = self._changes.shortened(entry)
        line = self._encode(entry) + b"\n"
        try:
            append_whole(self._file, line, self._end)
        except OSError as problem:
            if problem.errno not in _FULL or self.full:
                raise StorageError(f"cannot write {self.path}: {problem.strerror}") from None
            self.full = True
            self._ballast.unlink(missing_ok=True)
            try:
                append_whole(self._file, line, self._end)
            except OSError as again:
                raise StorageError(f"cannot write {self.path}: {again.strerror}; free some space") from None
        self._remember(bytes.fromhex(entry.key), entry, self._end, len(line))
        self._end += len(line)
        self._lines += 1
        self._written += len(line)
        self._longest = max(self._longest, len(line))
        return len(self._changes.known) > known

    def read(self, key: bytes) -> Entry | None:
        """Return the answer to a request, or its latest failure, or None."""
        number = self._keys.find(key)
        return None if number is None else self._entry(number)

    def _entry(self, number: int) -> Entry:
        entry = self._decode(os.pread(self._file, self._lengths[number], self._offsets[number]))
        entry.served, entry.by = self._served[number], ""
        return entry

    def served(self, model: str) -> list[Served]:
        """Return all served models that answered for a model, in the order of their first answers."""
        return [served for name, served in self._changes.known if name == model]

    def lines(self) -> Iterator[Entry]:
        """Yield every line, also those that a later one replaces, since they were paid for, too."""
        changes = ServedChanges()
        for _, line in whole_lines(self._file, self.path) if self._file >= 0 else ():
            entry = self._decode(line)
            changes.resolve(entry)
            yield entry

    def entries(self) -> Iterator[Entry]:
        """Yield the latest line on every request, in the order of the first ones."""
        for number in range(len(self._keys)):
            yield self._entry(number)

    def close(self) -> None:
        """Flush to the disk, close the file and remove the ballast."""
        if self._file >= 0:
            if self._ballast.exists():
                os.fsync(self._file)
                self._ballast.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def whole_lines(file: int, name: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) of an open file; an unfinished last line is left out.

    Raises StorageError where it cannot be read, or a line is too long.
    """
    try:
        with os.fdopen(os.dup(file), "rb") as content:
            content.seek(0)
            for number, line in enumerate(lines(content, name), 1):
                if not line.endswith(b"\n"):
                    break
                yield number, line
    except OSError as problem:
        raise StorageError(f"cannot read {name}: {problem.strerror}") from None


def append_whole(file: int, content: bytes, end: int, *, sync: bool = False) -> None:
    """Append to an open file that ends at `end`; where that fails, take back what was written and raise OSError."""
    written = 0
    try:
        while written < len(content):
            written += os.write(file, content[written:] if written else content)
        if sync:
            os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise


def set_torn_tail_aside(file: int, end: int, aside: Path) -> None:
    """Move what follows the last complete line, which ends at `end`, to the file `aside`."""
    size = os.fstat(file).st_size
    if size > end:
        torn = os.pread(file, size - end, end)
        with os.fdopen(open_regular(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as kept:
            kept.write(torn + b"\n")
        os.ftruncate(file, end)


class Keys:
    """Keys of one model's requests. Requests of different `scope` never share an answer."""

    def __init__(self, identity: Mapping[str, str], scope: str) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._start = hashlib.blake2b(
            self._encode([sorted(identity.items()), scope]),
            digest_size=16,
        )

    def of(self, request: Request, *, own_question: bool = True) -> bytes:
        """Return the key of one request: 16 bytes, written as hexadecimal digits.

        A judge's requests leave the question out (`own_question=False`): identical answers are judged once.
        """
        key = self._start.copy()
        question = request.question if own_question else ""
        if isinstance(request, Choose):
            asked: tuple[object, ...] = (question, request.sample, request.prompt, request.by, request.continuations)
        else:
            asked = (question, request.sample, request.prompt, request.sampling)
            if request.drawn is not None:
                asked = (*asked, request.drawn)
        key.update(self._encode(asked))
        return key.digest()


def with_seed(request: Generate, base: int, about: object) -> Generate:
    """Return the request with a seed of 31 bits, drawn from the run's `base`, what is asked `about`, and the sample.

    Servers that start their random numbers from it would otherwise draw the answers to all questions alike. Where an
    exam sets the request's seed (a level of a design), that counts in place of the sample.
    """
    number = base + request.sample if request.seed is None else request.seed
    digest = hashlib.blake2b(msgspec.json.encode((base, number, about)), digest_size=4).digest()
    return msgspec.structs.replace(request, drawn=int.from_bytes(digest) >> 1)


_DIGITS = 10
"""Hexadecimal digits: an answer has room for some thousand guesses of a million million."""
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("reasons", "code", "verdict")},
        "required": ["reasons", "code", "verdict"],
        "additionalProperties": False,
    }
).decode()
_AS_JSON = (
    'Reply with a JSON object in place of the text and its last line: "reasons" is your explanation, "code" is '
    '"{nonce}", and "verdict" is the mark alone, or "none", as text.'
)
_AS_LINE = "End your reply with one line: VERDICT {nonce}: and the mark."


def nonces() -> Callable[[bytes], str]:
    """Return the function from a request's key to its nonce. Raises StorageError where the user's secret is not to be
    had."""
    secret = derived_key(b"verdict nonce")
    return lambda key: hmac.digest(secret, key, hashlib.sha256).hex()[:_DIGITS]


def with_nonce(request: Generate, nonce: str, form: VerdictFormat) -> Generate:
    """Return the request as it is sent: with the nonce in every mention of the verdict line.

    A prompt without a mention (a rubric of the user's) gets it at its end.
    """
    if not nonce or isinstance(request.prompt, str):
        return request
    messages = list(request.prompt)
    if form == "json":
        last = messages[-1]
        messages[-1] = Message(last.role, f"{last.content}\n\n{_AS_JSON.format(nonce=nonce)}")
        return msgspec.structs.replace(request, prompt=tuple(messages), json_schema=_SCHEMA)
    for index, place in sorted(request.verdict_at, reverse=True):
        text = messages[index].content
        messages[index] = Message(messages[index].role, f"{text[:place]} {nonce}{text[place:]}")
    if not request.verdict_at:
        last = messages[-1]
        messages[-1] = Message(last.role, f"{last.content}\n\n{_AS_LINE.format(nonce=nonce)}")
    return msgspec.structs.replace(request, prompt=tuple(messages), verdict_at=())
