"""Reading YAML that strangers wrote: bounded, and with errors that say which file, which case and which key."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar, get_args

import msgspec

from viva.errors import DataError
from viva.io.bounded import yaml_value
from viva.types import Defect

MAX_TEXT = 1_000_000
"""Characters of one YAML file. The longest published one has 13,000."""
MAX_DEPTH = 50
MAX_NODES = 50_000
T = TypeVar("T", bound=msgspec.Struct)


def read_yaml(text: str, where: str) -> object:
    """Return a YAML 1.1 document as plain data. Raises DataError, naming `where`, line and column."""
    import yaml

    if len(text) > MAX_TEXT:
        raise DataError(f"{where} has {len(text):,} characters of YAML; the limit is {MAX_TEXT:,}")
    return yaml_value(text, where, getattr(yaml, "CSafeLoader", yaml.SafeLoader), MAX_NODES, MAX_DEPTH)


class Reading:
    """The reading of one case: where it stands, in which of the two readings, and what was found wrong with it.

    `published` reads as the authors' grader does; otherwise what is obviously meant is read, and noted as repaired.
    """

    def __init__(self, file: str, *, published: bool, case: str = "") -> None:
        self.file = file
        self.published = published
        self.case = case
        self.defects: list[Defect] = []
        self.invalid_gold = ""
        """Why the case cannot be graded; "" if it can."""

    def wrong(self, key: str, problem: str) -> DataError:
        """Return the error that names file, case and key."""
        case = f", case {self.case}" if self.case else ""
        return DataError(f"{self.file}{case}, {key}: {problem}")

    def quirk(self, kind: str, detail: str) -> None:
        """Something that the authors' grader reads as nobody meant: repaired, unless its reading is asked for."""
        self.defects.append(Defect(self.case, kind, detail, "noted" if self.published else "repaired"))

    def note(self, kind: str, detail: str) -> None:
        """Something odd that is left as it is."""
        self.defects.append(Defect(self.case, kind, detail, "noted"))

    def give_up(self, kind: str, detail: str) -> None:
        """The case cannot be graded."""
        self.invalid_gold = self.invalid_gold or detail
        self.defects.append(Defect(self.case, kind, detail, "unsound"))

    def mapping(self, value: object, key: str) -> dict[str, object]:
        """Return a mapping whose keys are texts."""
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise self.wrong(key, f"a mapping belongs here, not {shown(value)}")
        return value

    def sequence(self, value: object, key: str) -> list[object]:
        """Return a list that is not empty."""
        if not isinstance(value, list) or not value:
            raise self.wrong(key, f"a list with at least one entry belongs here, not {shown(value)}")
        return value

    def text(self, value: object, key: str) -> str:
        """Return a text. A number or `yes` without quotes is none."""
        if not isinstance(value, str):
            raise self.wrong(key, f"a text belongs here, not {shown(value)}; put it in quotes if it is one")
        return value

    def number(self, value: object, key: str) -> float:
        """Return a finite number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e9:
            raise self.wrong(key, f"a number belongs here, not {shown(value)}")
        return float(value)

    def flag(self, value: object, key: str) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            raise self.wrong(key, f"true or false belongs here, not {shown(value)}")
        return value

    def fields(self, value: object, kind: type[T], key: str, besides: Collection[str] = ()) -> T:
        """Return a mapping as a struct, each field checked by its type. Keys that neither it nor the caller reads
        (`besides`) are noted.
        """
        node = self.mapping(value, key)
        known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        for name in node.keys() - known.keys() - set(besides):  # a slip of the pen, usually
            self.note("unknown key", f"{key}.{name} is read by nothing")
        checks = {str: self.text, float: self.number, bool: self.flag, list[object]: self.sequence}
        given: dict[str, object] = {}
        for name, field in known.items():
            if name in node or field.required:
                types = [check for one, check in checks.items() if one in (field.type, *get_args(field.type))]
                given[field.name] = types[0](node.get(name), f"{key}.{name}") if types else node[name]
        return kind(**given)


def shown(value: object) -> str:
    """Return a value for an error message."""
    if value is None:
        return "nothing"
    if isinstance(value, float) and not math.isfinite(value):
        return "an infinite number"
    text = f"{value!r}" if isinstance(value, (str, bool, int, float)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
