"""Reading of untrusted YAML: bounded, with errors that name file, case and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal, TypeVar, get_args

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.io.bounded import yaml_value
from viva.types import Defect

MAX_TEXT = 1_000_000
"""Characters of one YAML file. The longest published one has 13,000."""
MAX_DEPTH = 50
MAX_NODES = 50_000
T = TypeVar("T", bound=Struct)


def read_yaml(text: str, where: str) -> object:
    """Return a YAML 1.1 document as plain data. Raises DataError, naming `where`, line and column."""
    import yaml

    if len(text) > MAX_TEXT:
        raise DataError(f"{where} has {len(text):,} characters of YAML; the limit is {MAX_TEXT:,}")
    return yaml_value(text, where, getattr(yaml, "CSafeLoader", yaml.SafeLoader), MAX_NODES, MAX_DEPTH)


class Reading:
    """The reading of one case: its place, which of the two readings it is, and its defects.

    `published` reads as the authors' grader does; otherwise the obvious intention is read, and noted as repaired.
    """

    def __init__(self, file: str, *, published: bool, case: str = "") -> None:
        self.file = file
        self.published = published
        self.case = case
        self.defects: list[Defect] = []
        self.invalid_gold = ""
        """Why the case cannot be graded; "" if it can."""
        self.fetch: Callable[[Place], str] = Place.text
        """A place that names a file → the file's text, as soon as it is known where the files are."""

    def document(self, text: str, called: str) -> Place:
        """Return a YAML document that is a mapping."""
        value = read_yaml(text, self.file)
        return Place(self, Place(self, value, called).mapping(), "")

    def wrong(self, key: str, problem: str) -> DataError:
        """Return the error that names file, case and key."""
        case = f", case {self.case}" if self.case else ""
        return DataError(f"{self.file}{case}, {key}: {problem}")

    def quirk(self, kind: str, detail: str) -> None:
        """Note what the authors' grader reads in an unintended way: repaired, unless its reading is asked for."""
        self.note(kind, detail, "noted" if self.published else "repaired")

    def note(self, kind: str, detail: str, action: Literal["repaired", "unsound", "noted"] = "noted") -> None:
        """Note an oddity; it is left as it is, unless `action` says otherwise."""
        self.defects.append(Defect(self.case, kind, detail, action))

    def give_up(self, kind: str, detail: str) -> None:
        """Mark the case as impossible to grade."""
        self.invalid_gold = self.invalid_gold or detail
        self.note(kind, detail, "unsound")


class Place(Struct, frozen=True):
    """A value of a case, the keys that lead to it, and the reading that it is a part of."""

    of: Reading
    value: object
    key: str

    def wrong(self, problem: str) -> DataError:
        """Return the error that names file, case and key."""
        return self.of.wrong(self.key, problem)

    def mapping(self) -> dict[str, object]:
        """Return a mapping whose keys are texts."""
        if not isinstance(self.value, dict) or not all(isinstance(name, str) for name in self.value):
            raise self.wrong(f"a mapping belongs here, not {shown(self.value)}")
        return self.value

    def at(self, name: str) -> Place:
        """Return the value under a name of a mapping; null where it has none."""
        return Place(self.of, self.mapping().get(name), f"{self.key}.{name}" if self.key else name)

    def sequence(self) -> list[Place]:
        """Return the entries of a list that is not empty."""
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong(f"a list with at least one entry belongs here, not {shown(self.value)}")
        return [Place(self.of, entry, f"{self.key}[{number}]") for number, entry in enumerate(self.value)]

    def text(self) -> str:
        """Return a text; a number or `yes` without quotes is an error."""
        if not isinstance(self.value, str):
            raise self.wrong(f"a text belongs here, not {shown(self.value)}; put it in quotes if it is one")
        return self.value

    def number(self) -> float:
        """Return a finite number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e9:
            raise self.wrong(f"a number belongs here, not {shown(value)}")
        return float(value)

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong(f"true or false belongs here, not {shown(self.value)}")
        return self.value

    def file(self) -> str:
        """Return the text of the file that is named here."""
        return self.of.fetch(self)

    def fields(self, kind: type[T], besides: Collection[str] = ()) -> T:
        """Return a mapping as a struct, each field checked by its type. Keys that neither it nor the caller reads
        (`besides`) are noted.
        """
        node = self.mapping()
        known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        for name in node.keys() - known.keys() - set(besides):  # usually a typing error
            self.of.note("unknown key", f"{self.key}.{name} is read by nothing")
        given: dict[str, object] = {}
        for name, field in known.items():
            if name in node or field.required:
                read = next((_CHECKS[check] for check in (field.type, *get_args(field.type)) if check in _CHECKS), None)
                given[field.name] = read(self.at(name)) if read else self.at(name)
        return kind(**given)


_CHECKS: dict[object, Callable[[Place], object]] = {
    str: Place.text, float: Place.number, bool: Place.flag, list[Place]: Place.sequence,
}  # fmt: skip


def shown(value: object) -> str:
    """Return a value for an error message."""
    if value is None:
        return "nothing"
    if isinstance(value, float) and not math.isfinite(value):
        return "an infinite number"
    text = f"{value!r}" if isinstance(value, (str, bool, int, float)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
