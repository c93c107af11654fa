"""The published sets: sources.toml with VIVA_SOURCES laid over it, and the folders of fetched files."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.files import UNREADABLE, cache_folder, read_regular, shipped_text, write_whole

HUB = "https://huggingface.co"
GITHUB = "https://raw.githubusercontent.com"
_HASH = re.compile(r"[0-9a-f]{64}|[0-9a-f]{40}|")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)?")
_MANIFEST = ".fetched.json"


class Source(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The files of a published set."""

    repository: str = ""
    """`hf:OWNER/NAME` (a data set of the Hugging Face hub), `gh:OWNER/NAME` (GitHub), or `https://…` (an address)."""
    commit: str = ""
    """40 hexadecimal digits; none for a plain address."""
    root: str = ""
    """The folder in the repository that contains `files`."""
    files: dict[str, str] = {}
    """Path below `root` → SHA-256 (64 digits), git blob SHA-1 (40), or "" where no hash is known yet."""
    names: dict[str, str] = {}
    """Path below `root` → its name here, if different."""
    licence: str = ""
    rows: int = 0
    """Number of questions asked; 0 if unknown."""
    size: int = 0
    """Bytes of all files; 0 if unknown."""
    second_hand: bool = False
    """Whether the hashes are from other projects' lists, not compared with the authors' files."""
    gated: bool = False
    """Whether the hub asks for an account that accepted the authors' terms."""
    card: str = ""
    """The card that reads the set, if its name is not the set's."""
    like: str = ""
    """Another set with the same files."""
    parts: list[str] = []
    """Sets with questions of other formats, which are asked together with this one."""
    note: str = ""

    @property
    def kind(self) -> Literal["hub", "github", "address"]:
        """Host of the repository."""
        if "://" in self.repository:
            return "address"
        return "github" if self.repository.startswith("gh:") else "hub"

    @property
    def plain_name(self) -> str:
        """The repository's name without its host."""
        return self.repository.removeprefix("gh:").removeprefix("hf:")

    @property
    def page(self) -> str:
        """Address of the web page."""
        if self.kind == "hub":
            return f"{HUB}/datasets/{self.plain_name}"
        return f"https://github.com/{self.plain_name}" if self.kind == "github" else self.repository

    @property
    def described(self) -> str:
        """Description with repository, commit and licence."""
        commit = f" at {self.commit[:8]}" if self.commit else ""
        only = ", for non-commercial use only" if re.search(r"\bNC\b", self.licence) else ""
        gated = ", gated" * self.gated + ", hash second-hand" * self.second_hand
        return f"{self.page}{commit}, licence {self.licence or 'not known'}{only}{gated}"

    def local(self, path: str) -> str:
        """Return the name of a file below the set's folder."""
        return self.names.get(path, path)

    def remote(self, path: str) -> str:
        """Return the path of a file in its repository."""
        return str(PurePosixPath(self.root, path))

    def addresses(self, path: str, mirror: str | None = None) -> list[str]:
        """Return a file's addresses, in the order to try: a mirror, HF_ENDPOINT, its own host."""
        remote = self.remote(path)
        resolve = f"datasets/{self.plain_name}/resolve/{self.commit}/{remote}"
        given = os.environ.get("HF_ENDPOINT", "").rstrip("/")
        if given and not given.startswith(("http://", "https://")):
            raise DataError(f"HF_ENDPOINT={given} is no address: write http://{given} or https://{given}")
        own = {
            "address": f"{self.repository.rstrip('/')}/{remote}",
            "hub": f"{HUB}/{resolve}",
            "github": f"{GITHUB}/{self.plain_name}/{self.commit}/{remote}",
        }[self.kind]
        # the hash verifies the file, whatever server it comes from
        served = f"{given}/{resolve}" if given and self.kind != "address" else own
        return list(dict.fromkeys((f"{mirror.rstrip('/')}/{path}" if mirror else served, served, own)))


class Kept(Struct, frozen=True):
    """A file's state when its hash was compared."""

    hash: str
    """The pin that it was compared with, or the SHA-256 recorded without a pin."""
    size: int


class _Manifest(Struct, frozen=True):
    files: dict[str, Kept] = {}


def sources() -> Mapping[str, Source]:
    """Return name → set. Raises DataError for an invalid file in VIVA_SOURCES."""
    overlay = os.environ.get("VIVA_SOURCES", "")
    return _read(overlay, Path(overlay).stat().st_mtime_ns if overlay and Path(overlay).exists() else 0)


def _laid_over(shipped: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a set's table with a user's fields; paths may be below `root` or of the whole repository."""
    files, root = own.get("files"), shipped.get("root", "")
    if not isinstance(files, dict):
        return {**shipped, **own}
    inside = {path.removeprefix(f"{root}/"): pin for path, pin in files.items()}
    listed = {"root": root, "files": inside} if inside.keys() & shipped.get("files", {}).keys() else {"root": ""}
    return {**shipped, "second_hand": False, "size": 0, **own, **({} if "root" in own else listed)}


@cache
def _read(overlay: str, _changed: int) -> dict[str, Source]:
    tables: dict[str, dict[str, Any]] = tomllib.loads(shipped_text(__file__, "sources.toml"))
    place = overlay or "sources.toml"
    if overlay:
        try:
            own = tomllib.loads(read_regular(Path(overlay), follow=True).decode("utf-8-sig"))
        except OSError as problem:
            raise DataError(f"cannot read VIVA_SOURCES={overlay}: {problem.strerror or problem}") from None
        except UNREADABLE as problem:
            raise DataError(f"VIVA_SOURCES={overlay} is no TOML: {problem}") from None
        for name, table in own.items():
            if not isinstance(table, dict):
                raise DataError(f"VIVA_SOURCES={overlay}: {name!r} must be a table [NAME] of a set")
            tables[name] = _laid_over(tables.get(name, {}), table)
    listed: dict[str, Source] = {}
    for name, table in tables.items():
        base = {key: value for key, value in tables.get(str(table.get("like", "")), {}).items() if key != "parts"}
        if "like" in table and not base:
            raise DataError(f"{place}: [{name}] is like {table['like']!r}, which is no set")
        shared = all(table.get(key) in (None, base.get(key)) for key in ("repository", "commit", "root", "files"))
        try:
            source = msgspec.convert({**base, **table, "like": table.get("like", "") if shared else ""}, Source)
        except msgspec.ValidationError as problem:
            raise DataError(f"{place}: [{name}]: {problem}") from None
        _refuse_unfit(source, name, place)
        listed[name] = source
    return listed


def _refuse_unfit(source: Source, name: str, place: str) -> None:
    """Raise DataError for an invalid path in a repository, or one outside of the set's folder."""
    paths = [*source.files, *source.names.values(), *([source.root] if source.root else [])]
    problems = (
        (not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", name), "a name is lower-case letters, digits and hyphens"),
        (
            source.kind != "address" and not _REPOSITORY.fullmatch(source.plain_name),
            f"`repository` is {source.repository!r}; it is hf:OWNER/NAME, gh:OWNER/NAME or an address",
        ),
        (
            source.kind != "address" and not _COMMIT.fullmatch(source.commit),
            f"`commit` is {source.commit!r}; it has 40 hexadecimal digits, since a branch moves",
        ),
        (not source.files, "`files` is missing: paths and their hashes"),
        (
            any(
                path.startswith("/") or "\\" in path or not path.isprintable() or ".." in PurePosixPath(path).parts
                for path in paths
            ),
            "a path in it leaves the set's folder",
        ),
        (
            not all(map(_HASH.fullmatch, source.files.values())),
            'a hash is a SHA-256 (64 digits), a git blob SHA-1 (40 digits), or "" where none is known',
        ),
    )
    for wrong, why in problems:
        if wrong:
            raise DataError(f"{place}: [{name}]: {why}")


def find_source(name: str) -> Source:
    """Return a set by its name. Raises DataError, which proposes the nearest name."""
    known = sources()
    if name not in known:
        hint = f"did you mean {near}?" if (near := nearest(name, known)) else f"there are: {', '.join(known)}"
        raise DataError(f"nothing to fetch for {name!r}; {hint}")
    return known[name]


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known name most similar to `name`, else those with a common beginning (`arc`: arc-easy, …), or ""."""
    name = name.casefold()
    begun = [
        candidate
        for candidate in known
        if candidate[:3] == name[:3] and (candidate.startswith(name) or name.startswith(candidate))
    ]
    return ", ".join(difflib.get_close_matches(name, known, 1) or begun[:5])


def set_folder(name: str, root: Path | None = None) -> Path:
    """Return a set's folder below `root` (by default Viva's cache); sets with the same files share one."""
    return (root or cache_folder()) / (find_source(name).like or name)


def set_folders(name: str) -> list[Path]:
    """Return a set's possible folders on this machine: in Viva's cache, and in VIVA_DATA (else the cache again)."""
    given = os.environ.get("VIVA_DATA")
    return [set_folder(name), set_folder(name, Path(given) if given else None)]


def offline() -> bool:
    """Tell whether the hub is switched off (HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE)."""
    value = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return value.upper() in ("1", "ON", "YES", "TRUE")


def hub_cache(kind: Literal["datasets", "models"], name: str) -> Path:
    """Return the folder in which the hub's client caches a repository."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    cached = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    return cached / f"{kind}--{name.replace('/', '--')}"


def read_manifest(folder: Path) -> dict[str, Kept]:
    """Return path → state of a folder's verified files; {} without a manifest."""
    try:
        return msgspec.json.decode(read_regular(folder / _MANIFEST), type=_Manifest).files
    except (OSError, *UNREADABLE):
        return {}


def write_manifest(folder: Path, files: Mapping[str, Kept]) -> None:
    """Write which files were verified. Raises OSError."""
    write_whole(folder / _MANIFEST, msgspec.json.format(msgspec.json.encode(_Manifest(dict(files))), indent=1))


def fetched_folder(name: str) -> Path | None:
    """Return a set's folder whose files were all verified with the present pins; None if a file is missing.

    It is in VIVA_DATA, if made there by `viva fetch --to`, or in Viva's cache.
    """
    if name not in sources():
        return None
    return next((folder for folder in reversed(set_folders(name)) if is_whole(sources()[name], folder)), None)


def data_folder(given: Path | str | None, name: str) -> Path | None:
    """Return a set's data folder: the given one, VIVA_DATA, or the fetched copy; None for the bundled sample."""
    chosen = given or os.environ.get("VIVA_DATA")
    return Path(chosen) if chosen else fetched_folder(name)


def is_whole(source: Source, folder: Path, *, unpinned: bool = False) -> bool:
    """Return whether a folder has a set's files unchanged since their hashes were compared.

    Without `unpinned`, files without a pin may be missing if any file has one: they are exemplars then.
    """
    kept = read_manifest(folder)
    wanted = {path: pin for path, pin in source.files.items() if pin or unpinned} or source.files
    for path, pin in wanted.items():
        known = kept.get(path)
        try:
            size = (folder / source.local(path)).stat().st_size
        except OSError:
            return False
        if known is None or size != known.size or (pin and known.hash != pin):
            return False
    return True
