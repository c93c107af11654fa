"""Fields of structs as options: types, bounds, help, and conversion of values.

Click options, the keyword arguments of the Python API and the fields of a configuration file derive from it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct, ValidationError

from viva.errors import VivaError
from viva.plugins import moved
from viva.visible import one_line

S = TypeVar("S", bound=Struct)
_fields = cache(msgspec.structs.fields)  # cached: uncached it takes a sixth of a short command
_DEFAULT = re.compile(r"  \[default: [^]]*\]")


def note(text: str, *, metavar: str = "", spelled: tuple[str, ...] = (), argument: bool = False) -> Meta:
    """Return the metadata of a field: the help of its option.

    `spelled`: the option's names, where they differ from the field's. `argument`: whether it is positional.
    """
    return Meta(description=text, extra={"metavar": metavar, "spelled": spelled, "argument": argument})


def pick(kind: type[S], values: Mapping[str, object], **more: object) -> S:
    """Make the struct from a command's keyword arguments, also for nested structs; `more`: further fields."""
    arguments = dict(more)
    for field in _fields(kind):
        if field.name in more:
            continue
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            arguments[field.name] = pick(field.type, values)
        elif field.name in values:
            arguments[field.name] = values[field.name]
    return kind(**arguments)


def changed(options: Struct) -> dict[str, Any]:
    """Return the fields that differ from their defaults, also of nested structs, by name, as a file holds them."""
    values: dict[str, Any] = {}
    for field in _fields(type(options)):
        value = getattr(options, field.name)
        if isinstance(value, Struct):
            values |= changed(value)
        elif value != field.default:
            values[field.name] = written(value)
    return values


def written(value: Any) -> Any:
    """Return a value as a file holds it."""
    if isinstance(value, tuple):
        return [written(each) for each in value]
    return str(value) if isinstance(value, Path) else value


class Option(Struct, frozen=True):
    """One field of an option struct, looked up by name."""

    name: str
    annotation: Any
    """The type with bounds and description."""
    kind: Any
    default: Any
    description: str
    argument: bool = False
    """Whether it is a positional argument."""
    required: bool = False
    """Whether it must be given."""
    metavar: str = ""
    spelled: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.kind) is tuple and not self.fixed

    @property
    def fixed(self) -> int:
        """Number of values that it takes together, such as the two points of a line; 0 for most options."""
        parts = get_args(self.kind) if get_origin(self.kind) is tuple else ()
        return 0 if ... in parts else len(parts)

    def convert(self, value: object, where: str = "", *, lax: bool = False) -> Any:
        """Return the value as the struct's field holds it; `lax` reads numbers and truth values in texts.

        Raises VivaError, naming `where` (a file and line), option and value.
        """
        if value is None:
            return self.default
        given = [value] if self.several and (isinstance(value, str) or not isinstance(value, Iterable)) else value
        if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
            given = [*given]
        try:
            return msgspec.convert(_plain(given, self.kind), self.annotation, strict=not lax, dec_hook=_path)
        except ValidationError as problem:
            message = f"{where}{self.name}={value if lax else _shown(value)}: {_reason(problem, self.kind)}"
            wrong = VivaError(message)
            wrong.field = self.name
            raise wrong from None


def options(*kinds: type[Struct], without: Iterable[str] = (), inherited: Collection[str] = ()) -> dict[str, Option]:
    """Return the fields of option structs by name; of equal names, the first. Those `inherited` default to None, so
    that a run's values stay.
    """
    options_by_name: dict[str, Option] = {}
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        for field in _fields(kind):
            if field.name not in options_by_name and field.name not in without:
                required = field.default is NODEFAULT
                default = None if required else field.default
                plain, *notes = get_args(hints[field.name])  # an alias's own bounds come first
                meta = notes[-1]
                extra = meta.extra or {}
                text = meta.description or ""
                if field.name in inherited:
                    default, text = None, f"{_DEFAULT.sub('', text)}  [default: the run's]"
                known = (hints[field.name], plain, default, text)
                options_by_name[field.name] = Option(field.name, *known, required=required, **extra)
    return options_by_name


def convert(known: Mapping[str, Option], given: Mapping[str, object], where: str = "") -> dict[str, Any]:
    """Return every option by name, the given ones converted and checked, the others with their defaults.

    Raises VivaError: `limit=0: must be at least 1`. Callers must refuse unknown names (`unknown`).
    """
    values = {name: option.default for name, option in known.items()}
    return values | {name: known[name].convert(value, where) for name, value in given.items() if name in known}


def unknown(known: Iterable[str], given: Iterable[str], command: str = "run") -> str | None:
    """Return a message on the first name that is no option of a command, with the command that has it now or the
    nearest option; None where all are known.
    """
    names = [*known]
    for name in given:
        if name not in names:
            near = moved(command, name) or "".join(difflib.get_close_matches(name, names, 1))
            return f"there is no option {name!r}" + (f"; did you mean {near}?" if near else "")
    return None


def bounds(kind: Any) -> Meta | None:
    """Return the bounds of a type's numbers; None without any."""
    parts = get_args(kind)
    notes = (part for part in parts if isinstance(part, Meta) and {part.ge, part.gt, part.le, part.lt} != {None})
    return next(notes, None) or next(filter(None, map(bounds, parts)), None)


def _plain(value: object, kind: Any) -> object:
    """Return a path, or a number for a text option, as text, as a command line would give it."""
    if isinstance(value, PathLike):
        return fspath(value)
    if get_origin(kind) is tuple:
        return [_plain(each, get_args(kind)[0]) for each in value] if isinstance(value, list) else value
    if isinstance(value, int | float) and not isinstance(value, bool) and str in plain_types(kind):
        return str(value)
    return value


def plain_types(kind: Any) -> set[Any]:
    """Return the plain types within a type: str for a Literal of texts, the item's for a tuple."""
    if get_origin(kind) is Literal:
        return {type(value) for value in get_args(kind)}
    inner = [part for part in get_args(kind) if not isinstance(part, Meta) and part is not ...]
    return set().union(*map(plain_types, inner)) if inner else {kind}


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise ValidationError(f"Expected `path`, got `{type(value).__name__}`")


def _shown(value: object) -> str:
    return one_line(repr(value), 60)


_REASONS = {">=": "must be at least", "<=": "must be at most", ">": "must be above", "<": "must be below"}


_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "path": "a path"}


def _reason(problem: ValidationError, kind: Any) -> str:
    """Return msgspec's error for a value in words of the command line."""
    text = str(problem).partition(" - at ")[0]
    bound = re.fullmatch(r"Expected `(?:int|float)` ([<>]=?) (.+)", text)
    if bound:
        return f"{_REASONS[bound[1]]} {float(bound[2]):g}"
    expected = re.match(r"Expected `([^`]+)`( of length \d+)?", text)
    if text.startswith("Invalid enum value"):
        return f"must be {' or '.join(choices(kind))}"
    if expected:
        words = [_WORDS.get(word, word) for word in expected[1].split(" | ") if word != "null"]
        return f"must be {' or '.join(words).replace('array', 'a list')}{expected[2] or ''}"
    return text[:1].lower() + text[1:]


def choices(kind: Any) -> list[str]:
    """Return the values of a Literal of texts, also within another type; [] without one."""
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind) if value]
    return next(filter(None, map(choices, get_args(kind))), [])
