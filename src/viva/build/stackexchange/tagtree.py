"""The tag tree: language and area of a question by its tags.

    tree = read_tree(None)
    tree.languages[tree.place(("html", "javascript"))].name   # "html": the first tag that is a language

The paper made its tree from the 200 most frequent tags and did not publish it; `tagtree.toml` is Viva's.
"""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.files import parse_toml
from viva.visible import one_line

NONE, SEVERAL = "none", "several"
"""Names of the places of questions without a language and, with several="drop", with more than one."""
MAX_TREE = 1_000_000
MAX_LANGUAGES = 200
_BUNDLED = "tagtree.toml"


class Area(Struct, frozen=True, forbid_unknown_fields=True):
    """An area that a set covers; `share` in per cent of the set."""

    name: str
    share: float


class Language(Struct, frozen=True, forbid_unknown_fields=True):
    """A programming language; `tags` name the language, `tools` its libraries and tools."""

    name: str
    area: str
    tags: tuple[str, ...]
    title: str = ""
    tools: tuple[str, ...] = ()


class Excluded(Struct, frozen=True, forbid_unknown_fields=True):
    """An excluded language: it describes data or serves one domain."""

    name: str
    tags: tuple[str, ...]


class _File(Struct, forbid_unknown_fields=True):
    areas: tuple[Area, ...]
    languages: tuple[Language, ...]
    excluded: tuple[Excluded, ...] = ()


class TagTree:
    """A checked tree. Places are numbers: languages, then excluded ones, then SEVERAL and NONE."""

    def __init__(self, file: _File, fingerprint: str, several: Literal["first", "drop"] = "first") -> None:
        self.areas = file.areas
        self.languages = file.languages
        self.excluded = file.excluded
        self.fingerprint = fingerprint
        self._drop = several == "drop"
        self._own = {tag: place for place, language in enumerate(file.languages) for tag in language.tags}
        self._tools = {tag: place for place, language in enumerate(file.languages) for tag in language.tools}
        first = len(file.languages)
        self._excluded = {tag: first + place for place, group in enumerate(file.excluded) for tag in group.tags}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the places."""
        return (
            *(language.name for language in self.languages),
            *(group.name for group in self.excluded),
            SEVERAL,
            NONE,
        )

    def place(self, tags: Sequence[str]) -> int:
        """Return the place of a question with these tags, which are in the dump's order."""
        for meant in (self._own, self._tools, self._excluded):
            places = [meant[tag] for tag in tags if tag in meant]
            if not places:
                continue
            if self._drop and meant is not self._excluded and len(set(places)) > 1:
                return len(self.names) - 2
            return places[0]
        return len(self.names) - 1


def read_tree(path: Path | None, several: Literal["first", "drop"] = "first") -> TagTree:
    """Read a tree from a TOML file, the bundled one for None. Raises DataError that names the problem."""
    name = _BUNDLED if path is None else str(path)
    try:
        content = (importlib.resources.files(__package__) / _BUNDLED if path is None else path).read_bytes()
    except OSError as problem:
        raise DataError(f"cannot read the tag tree {name}: {problem.strerror or problem}") from None
    if len(content) > MAX_TREE:
        raise DataError(f"the tag tree {name} has {len(content):,} bytes; the limit is {MAX_TREE:,}")
    try:
        file = msgspec.convert(parse_toml(content.decode()), _File)
    except ValueError as problem:
        raise DataError(f"the tag tree {name} is no TOML: {one_line(str(problem), 200)}") from None
    except msgspec.ValidationError as problem:
        raise DataError(f"the tag tree {name}: {one_line(str(problem), 200)}") from None
    _check(file, name)
    canonical = msgspec.json.encode(file)
    return TagTree(file, hashlib.sha256(canonical).hexdigest()[:12], several)


def _check(file: _File, name: str) -> None:
    areas = [area.name for area in file.areas]
    names = [*(language.name for language in file.languages), *(entry.name for entry in file.excluded)]
    if not file.languages or len(names) > MAX_LANGUAGES:
        raise DataError(f"the tag tree {name} has {len(names):,} languages; it needs 1 to {MAX_LANGUAGES}")
    for what in (areas, [*names, SEVERAL, NONE]):
        twice = next((word for number, word in enumerate(what) if word in what[:number] or not word.strip()), None)
        if twice is not None:
            raise DataError(
                f"the tag tree {name}: the name {twice!r} stands twice, is empty or has a meaning of its own"
            )
    total = sum(area.share for area in file.areas)
    if any(not 0 <= area.share <= 100 for area in file.areas) or abs(total - 100) > 1e-6:
        raise DataError(f"the tag tree {name}: the areas' shares make {total:g}; they must make 100 per cent")
    owners: dict[str, str] = {}
    for language in file.languages:
        if language.area not in areas:
            raise DataError(
                f"the tag tree {name}: {language.name} is of the area {language.area!r}; there are {', '.join(areas)}"
            )
    meant = [(language.name, (*language.tags, *language.tools)) for language in file.languages]
    for owner, tags in (*meant, *((group.name, group.tags) for group in file.excluded)):
        for tag in tags:
            if tag in owners:
                raise DataError(f"the tag tree {name}: the tag {tag!r} belongs to {owners[tag]} and to {owner}")
            owners[tag] = owner
