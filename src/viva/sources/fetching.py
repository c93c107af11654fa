"""Fetching a published set: sources tried in order, downloads resumed, files verified by hash and never partial.

The wire is the Hugging Face hub's (`/datasets/NAME/resolve/COMMIT/PATH`): redirects to storage on another host,
`Range`, `X-Linked-Etag` (SHA-256 of a large file), `X-Error-Code`, `RateLimit` and `Retry-After`. Plain addresses and
GitHub's raw files are asked alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from viva.errors import DataError, MissingExtraError, StorageError, flag
from viva.files import reading
from viva.sources.sourcelist import (
    HUB,
    Kept,
    Source,
    fetched_folder,
    find_source,
    hub_cache,
    is_whole,
    offline,
    read_manifest,
    set_folder,
    set_folders,
    write_manifest,
)
from viva.version import __version__
from viva.visible import one_line, plural

if TYPE_CHECKING:
    import aiohttp

Tell = Callable[[str], None]
Accept = Callable[[str], bool]
"""A function from a question about a file without a pin to whether its hash may be recorded."""
MOST_REDIRECTS, MOST_TRIES = 10, 5
LARGEST = 8 << 30
"""Most bytes of a file of a set."""
LONGEST_WAIT = 60.0
"""Most seconds to wait on a server's request; for longer ones, fetching fails and the user decides."""
SILENCE = 60
LARGE = 20 << 20
"""Bytes from which a file is announced before it comes."""


class Fetched(Struct, frozen=True):
    """The result of fetching a set."""

    folder: Path
    size: int
    """Bytes of all its files."""
    asked: int
    """Number of files that came over the network."""


class _Failed(Exception):  # noqa: N818 - a place that did not give the file: the next one is asked
    """A source's failure to give a file, as a sentence that says what to do."""

    def __init__(self, why: str, *, again: float | None = None) -> None:
        super().__init__(why)
        self.again = again
        """Seconds after which another attempt may succeed; None where none can."""


def ensure(name: str, tell: Tell, accept: Accept | None = None) -> Path:
    """Return the folder of a set, fetching it first if missing. Raises DataError, StorageError."""
    if (there := fetched_folder(name)) is not None:
        return there
    refuse_unreadable(find_source(name))
    coroutine = fetch(name, tell=tell, accept=accept)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine).folder
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:  # does not block a notebook's event loop
        return thread.submit(asyncio.run, coroutine).result().folder


def refuse_unreadable(source: Source) -> None:
    """Raise MissingExtraError for files that this installation cannot read, before any of them is fetched."""
    parquet = next((path for path in source.files if path.endswith(".parquet")), "")
    if parquet and find_spec("polars") is None:
        raise MissingExtraError(f"{parquet} is Parquet, which needs polars: pip install 'viva[analysis]'")


def ask_on_terminal(question: str) -> bool:
    """Ask and return whether the user agrees. Call it only where `terminal` is true."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def terminal() -> bool:
    """Return whether a user can be asked on a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


async def fetch(
    name: str, to: Path | None = None, *, mirror: str | None = None, tell: Tell, accept: Accept | None = None
) -> Fetched:
    """Fetch the missing files of a set into `to`/NAME (by default Viva's cache) and verify all files.

    `accept` is called before the hash of a file without a pin is recorded; without it such a file is refused. Raises
    DataError with what to do, StorageError for a folder that cannot be written.
    """
    source = find_source(name)
    folder = set_folder(name, to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if is_whole(source, folder, unpinned=accept is not None):
                tell(f"{name} is in {folder} already")
                return Fetched(folder, sum(entry.size for entry in read_manifest(folder).values()), 0)
            return await _Fetch(name, source, folder, mirror, tell, accept).all()
    except asyncio.CancelledError:
        tell(f"{name}: what came is kept, and `viva fetch {name}` goes on from there")
        raise
    except OSError as problem:
        other = flag("to") if to else "VIVA_CACHE"
        raise StorageError(
            f"cannot write to {folder}: {problem.strerror or problem}; {other} names another folder"
        ) from None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against fetching by other processes; wait for one that does. Raises OSError."""
    with (folder / ".lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Fetch:
    """The fetching of one set."""

    def __init__(
        self, name: str, source: Source, folder: Path, mirror: str | None, tell: Tell, accept: Accept | None
    ) -> None:
        self.name, self.source, self.folder = name, source, folder
        self._mirror, self._tell, self._accept = mirror, tell, accept
        terms = f"; {_WHAT_TO_DO['gated'].format(page=source.page)}" * (source.gated and not os.environ.get("HF_TOKEN"))
        self._to_record = f"`viva fetch {name} {flag('accept_hash')}` fetches and records it{terms}"
        self._kept = {**read_manifest(set_folder(name)), **read_manifest(folder)}
        self._places = list(dict.fromkeys((folder, *set_folders(name))))

    async def all(self) -> Fetched:
        """Get every file, from this machine if present, else from the network."""
        import aiohttp

        source = self.source
        missing = [path for path in source.files if not self._take(path)]
        if self._accept is None:
            unpinned = [path for path in missing if not self._pin(path)]
            missing = [path for path in missing if path not in unpinned]
            if unpinned and not any(source.files.values()):
                raise DataError(
                    f"{self.name}: no hash of {unpinned[0]} is known, so nothing can verify it: {self._to_record}"
                )
            if unpinned:
                self._tell(f"{self.name}: without {', '.join(unpinned)}, of which no hash is known: {self._to_record}")
        if missing and offline():
            raise DataError(self._by_hand(missing[0], "HF_HUB_OFFLINE forbids to ask for it"))
        if missing:
            some = len(missing) < len(source.files)
            size = f", {_bytes(source.size)}" if source.size and not some else ""
            files = f"{len(missing)} of " * some + plural(len(source.files), "file")
            given = os.environ.get("HF_ENDPOINT")
            by = f", by way of {given}" if given and source.kind != "address" else ""
            self._tell(f"{self.name}: fetching {files}{size} from {source.described}{by}")
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=SILENCE)
            headers = {"User-Agent": f"viva/{__version__}", "Accept-Encoding": "identity"}
            async with aiohttp.ClientSession(timeout=timeout, trust_env=True, headers=headers) as session:
                for path in missing:
                    await self._ask(session, path)
        known = {path: entry for path, entry in read_manifest(self.folder).items() if path in source.files}
        total = sum(entry.size for entry in known.values())
        self._tell(f"{self.name}: {len(known)} verified, {_bytes(total)}, in {self.folder}")
        return Fetched(self.folder, total, len(missing))

    def _pin(self, path: str) -> str:
        """Return the hash that a file must have: its pin, or the one recorded for it."""
        known = self._kept.get(path)
        return self.source.files[path] or (known.hash if known else "")

    def _keep(self, path: str, pin: str) -> None:
        place = self.folder / self.source.local(path)
        self._kept[path] = Kept(pin, place.stat().st_size)
        write_manifest(self.folder, {**read_manifest(self.folder), path: self._kept[path]})

    def _take(self, path: str) -> bool:
        """Put a file that is on this machine into the set's folder; return whether there is one."""
        pin = self._pin(path)
        place = self.folder / self.source.local(path)
        local = [folder / self.source.local(path) for folder in self._places]
        if not pin:
            there = next((file for file in local if file.is_file()), None) if self._accept is not None else None
            if there is None:
                return False
            self._record(path, there, "")
            pin = self._pin(path)
        known = read_manifest(self.folder).get(path)
        if known and known.hash == pin and place.is_file() and place.stat().st_size == known.size:
            return True
        for candidate in [*local, *_hub_cache(self.source, path, pin)]:
            if _is(candidate, pin):
                if candidate != place:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _copy(candidate.resolve(), place)
                self._keep(path, pin)
                return True
            if candidate.is_file():
                self._tell(
                    f"{self.name}: {candidate} is not used: {_unequal(hash_of(candidate, pin), self.source, pin)}"
                )
        return False

    async def _ask(self, session: aiohttp.ClientSession, path: str) -> None:
        """Fetch a file from the first source that has it. Raises DataError with each source's reason."""
        source, pin = self.source, self._pin(path)
        place = self.folder / source.local(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f".{place.name}.partial")
        problems: list[str] = []
        for address in source.addresses(path, self._mirror):
            try:
                claimed = await self._download(session, address, partial, pin, path)
            except _Failed as failed:
                problems.append(f"{urlsplit(address).netloc}: {failed}" if problems else f"{address}: {failed}")
                continue
            if not pin:
                try:
                    self._record(path, partial, claimed)
                except DataError:
                    _remove(partial)
                    raise
                pin = self._pin(path)
            partial.replace(place)
            _remove(partial)
            self._keep(path, pin)
            return
        if kept := _size(partial):
            problems.append(f"{_bytes(kept)} of it are kept, and `viva fetch {self.name}` goes on from there")
        raise DataError(self._by_hand(path, "; ".join(problems)))

    def _record(self, path: str, file: Path, claimed: str) -> None:
        """Ask whether the hash of a file without a pin is right. Raises DataError unless that is accepted."""
        digest = hash_of(file, "0" * 64)
        size = file.stat().st_size
        if claimed and claimed != digest:
            raise DataError(f"{self.name}: {path} came damaged: the server names another SHA-256; fetch it again")
        same = " (the server says the same)" if claimed == digest else ""
        question = (
            f"{self.name}: {path} has {size:,} bytes and the SHA-256 {digest}{same}. No hash of it was known before. "
            "Record this one?"
        )
        if self._accept is None or not self._accept(question):
            raise DataError(f"{self.name}: the hash of {path} was not accepted, and the file is not used")
        self._tell(f"{self.name}: {path}: recorded SHA-256 {digest}")
        self._kept[path] = Kept(digest, size)

    async def _download(self, session: aiohttp.ClientSession, address: str, partial: Path, pin: str, path: str) -> str:
        """Fetch one address into `partial`, resuming a cut download. Returns the SHA-256 that the server claims.

        Raises _Failed.
        """
        tries = most = 0
        while True:
            before = _size(partial)
            most = max(most, before)
            try:
                claimed = await self._attempt(session, address, partial, pin, path)
                if not pin or hash_of(partial, pin) == pin:
                    return claimed
                wrong = _unequal(hash_of(partial, pin), self.source, pin)
                _remove(partial)
                if not before:  # a resumed file may have begun with another version: once more from the start
                    raise _Failed(wrong)
            except _Failed as failed:
                if failed.again is None or tries + 1 >= MOST_TRIES:
                    raise
                await asyncio.sleep(failed.again)
            tries = 0 if _size(partial) > most else tries + 1
            if tries >= MOST_TRIES:
                raise _Failed("its hash is not the pinned one")

    async def _attempt(self, session: aiohttp.ClientSession, address: str, partial: Path, pin: str, path: str) -> str:
        import aiohttp

        begun = "" if pin else _version_of(partial)
        if not (pin or begun):
            _remove(partial)  # without a version the rest may be another file's
        offset = _size(partial)
        claimed = commit = ""
        token, origin = _token(address), _origin(address)
        tag = begun.partition(" ")[2]
        ranged = {"Range": f"bytes={offset}-"} | ({} if not tag or tag.startswith("W/") else {"If-Range": tag})
        try:
            for _ in range(MOST_REDIRECTS + 1):
                own = {"Authorization": f"Bearer {token}"} if token and _origin(address) == origin else {}
                headers = own | (ranged if offset else {})  # the token is sent to its own host only
                async with session.get(address, headers=headers, allow_redirects=False) as reply:
                    linked = reply.headers.get("X-Linked-Etag", "").strip('W/"').lower()
                    claimed = claimed or linked * (len(linked) == 64)
                    commit = commit or reply.headers.get("X-Repo-Commit", "")
                    if claimed and len(pin) == 64 and claimed != pin:
                        raise _Failed(f"the set has moved: {_unequal(claimed, self.source, pin)}")
                    if reply.status in (301, 302, 303, 307, 308) and "Location" in reply.headers:
                        address = urljoin(address, reply.headers["Location"])
                        if urlsplit(address).scheme not in ("http", "https"):
                            raise _Failed("it redirects to what is no web address")
                        continue
                    if reply.status == 416 and offset:
                        _remove(partial)
                        raise _Failed("it has less than what came before", again=0)
                    if reply.status not in (200, 206):
                        raise _refused(self.source, reply, has_token=bool(token))
                    if not pin:
                        _refuse_another(reply, partial, begun, claimed, commit)
                    with partial.open("ab") as out:
                        _begin(out, reply, offset)
                        length = reply.content_length or 0
                        if length > LARGE:
                            self._tell(f"{self.name}: {path}, {_bytes(length)}" + (" more" if out.tell() else ""))
                        await _take(reply, out, partial)
                return claimed
        except aiohttp.InvalidURL:
            raise _Failed("that is no web address") from None
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise _unreached(problem) from None
        raise _Failed(f"it redirects more than {MOST_REDIRECTS} times")

    def _by_hand(self, path: str, why: str) -> str:
        return (
            f"cannot fetch {path} of {self.name}: {why}. By hand: get the files from {self.source.page} on a machine "
            f"with access, as {self.name}/{self.source.local(path)}, and point VIVA_DATA at the folder that has "
            f"{self.name}/ in it"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unreached(problem: Exception) -> _Failed:
    """Return the failure for a missing or incomplete answer."""
    import aiohttp

    cut = isinstance(problem, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError)
    why = "the connection was cut" if cut else one_line(str(problem), 200) or type(problem).__name__
    return _Failed(why, again=None if isinstance(problem, aiohttp.ClientConnectorError) else 0.2)


def _beside(partial: Path) -> Path:
    """Return the path of the note on the version of a partial file without a pin."""
    return partial.with_suffix(".version")


def _version_of(partial: Path) -> str:
    """Return that version: a server's SHA-256, else its commit and ETag (or date), joined by a space, or ""."""
    version = _beside(partial)
    return version.read_text(encoding="utf-8").partition("\n")[0] if version.exists() else ""


def _refuse_another(reply: aiohttp.ClientResponse, partial: Path, begun: str, claimed: str, commit: str) -> None:
    """Note the version of a file. Raises _Failed where the partial file is of another one."""
    tag = reply.headers.get("ETag") or reply.headers.get("Last-Modified", "")
    version = claimed or f"{commit} {tag}".rstrip()
    if reply.status == 206 and version != begun:
        _remove(partial)
        raise _Failed("it has another file now than the one that was begun", again=0)
    _beside(partial).write_text(version, encoding="utf-8")


def _remove(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _beside(partial).unlink(missing_ok=True)


def _begin(out: IO[bytes], reply: aiohttp.ClientResponse, offset: int) -> None:
    """Seek to the place of the reply's body: the end of the partial file, or its start. Raises _Failed."""
    begins = 0
    if reply.status == 206:
        match = re.match(r"bytes (\d+)-", reply.headers.get("Content-Range", ""))
        begins = int(match[1]) if match else -1
    if begins not in (0, offset):
        raise _Failed("it sends another part than the one asked for")
    out.truncate(begins)
    out.seek(begins)


def _unequal(digest: str, source: Source, pin: str) -> str:
    of = ", which is second-hand: where this file is the right one, pin it in a file for VIVA_SOURCES"
    changed = of if source.second_hand else ": it was changed since, or is another file"
    return f"its hash is {digest if source.second_hand else f'{digest[:12]}…'}, not the pinned {pin[:12]}…{changed}"


async def _take(reply: aiohttp.ClientResponse, out: IO[bytes], partial: Path) -> None:
    """Write the body. Raises _Failed beyond a bound, so that no server can fill a disk."""
    async for part in reply.content.iter_chunked(1 << 18):
        if out.tell() + len(part) > LARGEST:
            _remove(partial)
            raise _Failed(f"it is longer than {LARGEST >> 20:,} MiB")
        out.write(part)


_NEW_PLACE = "name its new place in a file for VIVA_SOURCES"
_WHAT_TO_DO = {
    "gated": "its authors ask for an account that accepted their terms: accept them at {page}, then set HF_TOKEN",
    "gated, token": "the account of HF_TOKEN has not accepted its authors' terms, or waits for their leave: see {page}",
    "401": "HTTP 401: there is no such repository, or it is closed; set HF_TOKEN to a token that may read {page}",
    "401, token": "HTTP 401: the token in HF_TOKEN is not valid there, or there is no such repository ({page})",
    "403": "HTTP 403: the server, or a proxy before it, refuses this machine, or {page} needs a token: set HF_TOKEN",
    "403, token": "HTTP 403: the server, or a proxy before it, refuses this machine, or HF_TOKEN may not read {page}",
    "EntryNotFound": "HTTP 404: the commit has no such file: the set has moved; " + _NEW_PLACE,
    "RevisionNotFound": "HTTP 404: the repository has no such commit any more: " + _NEW_PLACE,
    "404": "HTTP 404: there is no such repository or file: if the set has moved, " + _NEW_PLACE,
}


def _refused(source: Source, reply: aiohttp.ClientResponse, *, has_token: bool) -> _Failed:
    """Return the failure for an unsuccessful status, with what to do."""
    status, code = reply.status, reply.headers.get("X-Error-Code", "")
    if status == 429 or status >= 500:
        wait = _wait(reply)
        limits = "it limits requests" if status == 429 else "the server fails"
        if wait > LONGEST_WAIT:
            more = "" if has_token or status != 429 else ", or set HF_TOKEN, which allows more"
            return _Failed(f"HTTP {status}: {limits} and asks to wait {wait:.0f} s: try again then{more}")
        return _Failed(f"HTTP {status}: {limits}: try again later", again=wait)
    if status not in (401, 403, 404):
        return _Failed(f"HTTP {status}{f' ({one_line(code, 60)})' if code else ''}")
    kind = code if status == 404 and code in _WHAT_TO_DO else str(status)
    if status != 404:
        gated = (source.gated or code == "GatedRepo") and (status == 403 or not has_token)
        kind = ("gated" if gated else kind) + ", token" * has_token
    return _Failed(_WHAT_TO_DO[kind].format(page=source.page))


def _wait(reply: aiohttp.ClientResponse) -> float:
    """Return seconds until another request may succeed: `Retry-After` (as seconds or a date), else the `t` or `reset`
    of `RateLimit`, else a second.
    """
    after = reply.headers.get("Retry-After", "")
    if re.fullmatch(r"\d{1,7}", after):
        return float(after)
    if date := email.utils.parsedate_tz(after):
        now = email.utils.parsedate_tz(reply.headers.get("Date", ""))
        return max(0.0, email.utils.mktime_tz(date) - (email.utils.mktime_tz(now) if now else time.time()))
    limit = re.search(r"\b(?:t|reset)=(\d{1,7})\b", reply.headers.get("RateLimit", ""))
    return float(limit[1]) if limit else 1.0


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.casefold()


def _token(address: str) -> str:
    """Return HF_TOKEN if the address is on its host: HF_ENDPOINT's if set, else the hub; "" otherwise."""
    home = os.environ.get("HF_ENDPOINT") or HUB
    return os.environ.get("HF_TOKEN", "").strip() if _origin(address) == _origin(home) else ""


def _hub_cache(source: Source, path: str, pin: str) -> list[Path]:
    """Return the paths of a file in an existing cache of the Hugging Face hub."""
    if source.kind != "hub":
        return []
    folder = hub_cache("datasets", source.plain_name)
    return [folder / "snapshots" / source.commit / source.remote(path), folder / "blobs" / pin]


def hash_of(path: Path, pin: str) -> str:
    """Return a file's hash of the pin's kind: SHA-256 (64 digits), or the SHA-1 of its git blob. Raises OSError."""
    with reading(path, follow=True) as file:
        begun = (
            hashlib.sha256()
            if len(pin) == 64
            else hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        )
        return hashlib.file_digest(file, lambda: begun).hexdigest()


def _is(path: Path, pin: str) -> bool:
    """Return whether a file can be read and has this hash."""
    try:
        return path.is_file() and hash_of(path, pin) == pin
    except OSError:
        return False


def _copy(path: Path, place: Path) -> None:
    """Make a hard link to a file, or a copy across disks, atomically. Raises OSError."""
    partial = place.with_name(f".{place.name}.copy")
    partial.unlink(missing_ok=True)
    try:
        os.link(path, partial)
    except OSError:
        shutil.copyfile(path, partial)
    partial.replace(place)


def _bytes(size: int) -> str:
    """Return a size in words."""
    power = min(len(str(size)) - 1, 9) // 3
    return f"{size / 1000**power:,.{min(power, 1)}f} {('bytes', 'kB', 'MB', 'GB')[power]}"
