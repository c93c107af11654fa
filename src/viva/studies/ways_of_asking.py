"""Ways of asking and grading: their differences in words, and which results may be ranked together.

A way is the parts of a run's signature by name (`viva.engine.folder.settings`).

Rows share a board when everything in their signatures is the same but for what belongs to the model itself (its name,
its weights and how they were opened, its template) and the version of Viva, which by itself moves no score (a change
that could raises the benchmark's version, which is in the signature too).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from viva.files import shipped_table
from viva.languages import language_name
from viva.visible import one_line

Settings = Mapping[str, str | int]
Way = Mapping[str, str]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a signature, in words."""

    name: str = ""
    factor: str = ""
    called: dict[str, str] = {}
    titled: dict[str, str] = {}
    unfair: str = ""


PARTS = shipped_table(__file__, "ways_of_asking.toml", dict[str, Part])
FACTORS = tuple(dict.fromkeys(part.factor for part in PARTS.values() if part.factor))
"""Values of --between."""
OF_THE_MODEL = frozenset({"viva", *(name for name, part in PARTS.items() if part.factor == "models")})
"""Parts of a signature that identify models, not ways of asking."""
OF_THE_REQUEST = frozenset({"temp", "top_p", "max_tokens", "reasoning", "reasoning_budget", "request"})
"""Parts irrelevant to baselines, which answer by a rule."""
SELECTION = frozenset({"only", "limit", "questions", "shard", "seed"})
"""Parts that say how questions were chosen; replaced by the questions themselves where these are known (`asked`)."""

_TITLED = ("settings", "lang", "shots", "cot", "only", "rationale", "vary")
"""Parts that a board's title always has; others are added where boards differ in them."""
_VARIED = {
    "prompt": "prompts",
    "order": "orders of options",
    "exemplars": "draws of exemplars",
    "system": "system texts",
}
_OF_JUDGES = {"panel", "verdict"}
"""Parts of judges only: a title says once that a board has no judge."""
_HASHES = re.compile(r"@https?://[^\s+,()]*| \((?:data )?[0-9a-f]{4,}\)|(?<=\()data [0-9a-f]+, ")
"""Addresses of judges and fingerprints, left out of a title unless boards differ in them."""


def comparable(settings: Settings, asked: str = "") -> dict[str, str]:
    """Return the parts that two rows must share. A seed counts only where it chooses questions or exemplars: a seed
    sent to a model only varies its samples. `asked`: a hash of the questions' names.
    """
    parts = {name: str(value) for name, value in settings.items() if name not in OF_THE_MODEL}
    if asked:
        kept = {"seed"} if parts.get("shots", "0") != "0" else set[str]()
        parts = {name: value for name, value in parts.items() if name not in SELECTION - kept} | {"asked": asked}
        parts |= {"limit": "none"} if kept else {}
    if "seed" in parts:
        parts["seed"] = parts["seed"].partition(".")[0]
        if parts.get("shots", "0") == "0" and parts.get("limit", "none") == "none":
            del parts["seed"]
    return parts


def of_baseline(settings: Settings) -> bool:
    """Return whether a baseline was asked."""
    return str(settings.get("model", "")).startswith("baseline/")


def for_baseline(parts: Way) -> dict[str, str]:
    """Return, of the parts that two rows must share, those that a baseline must share with them."""
    return {name: value for name, value in parts.items() if name not in OF_THE_REQUEST}


def apart(ways: Sequence[Way], names: Iterable[str] = PARTS) -> list[str]:
    """Return the parts in which ways differ; a part missing from one (a table of scores) is no difference."""
    return [name for name in names if len({way[name] for way in ways if name in way}) > 1]


def factors_between(*ways: Way) -> frozenset[str]:
    """Return the factors in which ways differ, parts missing from one aside."""
    return frozenset(PARTS[name].factor for name in apart(ways)) - {""}


def telling(ways: Sequence[Way], names: Iterable[str], kept: Sequence[str] = ()) -> list[str]:
    """Return the kept parts, and in order each part that distinguishes further ways."""
    told = list(kept)

    def count(names: Sequence[str]) -> int:
        return len({tuple(map(way.get, names)) for way in ways})

    for name in names:
        if count([*told, name]) > count(told):
            told.append(name)
    return told


def called(way: Way, names: Iterable[str]) -> str:
    """Return a contestant's name from these parts: `openai/x · 5-shot`."""
    return " · ".join(_called(name, way[name]) for name in names if name in way)


def _called(name: str, value: str) -> str:
    shown = one_line(value.removesuffix(".sent"), 60 if name == "model" else 40)  # with requests; nobody is called so
    words = PARTS[name].called
    return words.get(value, words.get("else", f"{name} {{value}}")).replace("{value}", shown)


def differing(ways: Sequence[Way]) -> str:
    """Return the parts in which ways of asking differ, with their values: `longest reply: 2048 or 512`."""
    differences = []
    for name in dict.fromkeys(name for parts in ways for name in parts):
        values = dict.fromkeys(_value(name, parts.get(name, "none")) for parts in ways)
        if len(values) > 1:
            differences.append(f"{_name(name)}: {' or '.join(values)}")
    return "; ".join(differences)


def key_of(parts: Way) -> str:
    """Return a short name for one way of asking, for URLs and files."""
    text = "\0".join(f"{name}\0{parts[name]}" for name in sorted(parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def in_words(parts: Way) -> tuple[tuple[str, str], ...]:
    """Return all parts as (label, value), in the order of the signature."""
    return tuple((_name(name), _value(name, value)) for name, value in parts.items())


def titles(boards: Sequence[Way]) -> list[str]:
    """Return a title for each board, in words: language, shots, and other parts in which boards with equal titles
    differ.
    """
    described = [_joined(_titled(name, parts) for name in _TITLED if name in parts) for parts in boards]
    titled: list[str] = []
    for title, parts in zip(described, boards, strict=True):
        alike = [other for other_title, other in zip(described, boards, strict=True) if other_title == title]
        # Data and questions first; parts that follow from these are left out.
        names = dict.fromkeys(("data", "n", *(name for other in alike for name in other)))
        told = telling(alike, [name for name in names if name not in (*_TITLED, "asked")])
        titled.append(_joined([title, *(_titled(name, parts) for name in told)]))
    titled = [
        f"{title} (asked {parts['asked']})" if titled.count(title) > 1 and "asked" in parts else title
        for title, parts in zip(titled, boards, strict=True)
    ]
    short = [_HASHES.sub("", title) for title in titled]
    return short if len(set(short)) == len(set(titled)) else titled


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(filter(None, parts))


def _titled(name: str, parts: Way) -> str:
    """Return a part in the words of a title."""
    if name in _OF_JUDGES and parts.get("judge", "none") == "none":
        return ""
    value = parts.get(name, "none")
    words = PARTS[name].titled if name in PARTS and name in parts else {}
    usual = "no {name}" if value == "none" else "{name} {value}"
    text = words.get(value, words.get("else", usual))
    return text.format(name=_name(name), value=_value(name, value), n=_count(parts.get("n", "?")))


def _name(part: str) -> str:
    return (part in PARTS and PARTS[part].name) or part


def _value(name: str, value: str) -> str:
    if name in _WORDED:
        return _WORDED[name](value)
    return "the server's default" if value == "server" else value


def _data(value: str) -> str:
    fingerprint, _, sample = value.partition(".")
    return fingerprint + (", Viva's bundled sample" if sample else "")


def _samples(value: str) -> str:
    samples, _, repeats = value.partition("x")
    return samples if repeats in ("", "1") else f"{samples}, {repeats} times over"


def _vary(value: str) -> str:
    """Return `prompt4.order2.in6.06e62da0` in words: what is varied, in how many combinations, and the fingerprint."""
    *parts, fingerprint = value.split(".")
    factors = [re.fullmatch("([a-z]+)([0-9]+)", part) for part in parts]
    factor_text = " × ".join(
        f"{factor[2]} {_VARIED[factor[1]]}" for factor in factors if factor and factor[1] in _VARIED
    )
    some = [f", {factor[2]} combinations of them" for factor in factors if factor and factor[1] == "in"]
    return f"{factor_text}{''.join(some)} ({fingerprint})" if factor_text else value


def _count(value: str) -> str:
    return f"{int(value):,}" if value.isdecimal() else value


_WORDED: dict[str, Callable[[str], str]] = {
    "lang": language_name,
    "shots": lambda value: "none (zero-shot)" if value == "0" else value,
    "n": _count,
    "data": _data,
    "samples": _samples,
    "max_tokens": lambda value: "raised for models that reason" if value == "room" else value,
    "vary": _vary,
    "judge": lambda value: re.sub(r"x1(?=\+|$)", "", value),  # verdicts that each of them gave: mostly one
    "extract": lambda value: "by Viva's rules" if value == "viva" else value.replace("-", " "),
}
