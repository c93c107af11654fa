"""Which runs may be ranked together, and what they have in common, in words.

Rows share a board when everything in their signatures is the same but for what belongs to the model itself (its name,
its weights and how they were opened, its template) and the version of Viva, which by itself moves no score (a change
that could raises the benchmark's version, which is in the signature too).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence

from viva.files import shipped_table
from viva.languages import language_name

Settings = Mapping[str, str | int]

OF_THE_MODEL = frozenset({"model", "template", "weights", "dtype", "bits", "adapter", "viva"})
"""Parts of a signature that tell models apart, not ways of asking."""
OF_THE_REQUEST = frozenset({"temp", "top_p", "max_tokens", "reasoning", "reasoning_budget", "request"})
"""Parts on which no baseline depends: it answers by a rule."""
SELECTION = frozenset({"only", "limit", "questions", "shard", "seed"})
"""Parts that say how questions were chosen: where it is known which were asked (`asked`), these count instead."""

_NAMES = shipped_table(__file__, "settings.toml", dict[str, str])
_TITLED = ("settings", "lang", "shots", "cot", "only", "rationale", "vary")
"""What a board's title always says; what else differs between boards is added."""
_VARIED = {
    "prompt": "prompts",
    "order": "orders of options",
    "exemplars": "draws of exemplars",
    "system": "system texts",
}
_OF_JUDGES = {"panel", "verdict"}
"""What only judges have: a board without a judge is called so once."""
_HASHES = re.compile(r"@https?://[^\s+,()]*| \(data [0-9a-f]+\)|(?<=\()data [0-9a-f]+, ")
"""Addresses of judges and fingerprints, which a title leaves out where it says as much without them."""
_QUIET = {"none", "no", "server", "viva", "all", ""}
"""Values that mean "nothing special"; a title says them only where another board has something."""


def comparable(settings: Settings, asked: str = "") -> dict[str, str]:
    """Return the parts that two rows must share. A seed counts only where it chooses questions or exemplars: one that
    was sent along to a model gives other draws of the same thing. `asked`: a hash of the questions' names.
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


def for_baseline(parts: Mapping[str, str]) -> dict[str, str]:
    """Of the parts that two rows must share those that a baseline must share with them."""
    return {name: value for name, value in parts.items() if name not in OF_THE_REQUEST}


def differing(ways: Sequence[Mapping[str, str]]) -> str:
    """Return what is not the same in all ways of asking, with what it is in each: `longest reply: 2048 or 512`."""
    found = []
    for name in dict.fromkeys(name for parts in ways for name in parts):
        values = dict.fromkeys(_value(name, parts.get(name, "none")) for parts in ways)
        if len(values) > 1:
            found.append(f"{_NAMES.get(name, name)}: {' or '.join(values)}")
    return "; ".join(found)


def key_of(parts: Mapping[str, str]) -> str:
    """Return a short name for one way of asking, for addresses and files."""
    text = "\0".join(f"{name}\0{parts[name]}" for name in sorted(parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def in_words(parts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return all of them with the names that people use, in the order of the signature."""
    return tuple((_NAMES.get(name, name), _value(name, value)) for name, value in parts.items())


def titles(boards: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a title a board: language, shots, and what else differs between those of which that is the same, in
    words.
    """
    said = [
        ", ".join(filter(None, (_phrase(name, parts[name]) for name in _TITLED if name in parts))) for parts in boards
    ]
    found: list[str] = []
    for title, parts in zip(said, boards, strict=True):
        alike = [other for other_title, other in zip(said, boards, strict=True) if other_title == title]
        found.append(", ".join(filter(None, (title, *(_differing(name, parts) for name in _differences(alike))))))
    found = [
        f"{title} (asked {parts['asked']})" if found.count(title) > 1 and "asked" in parts else title
        for title, parts in zip(found, boards, strict=True)
    ]
    short = [_HASHES.sub("", title) for title in found]
    return short if len(set(short)) == len(set(found)) else found


def _differences(boards: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the parts that tell boards apart, data and questions first; what follows from these is left out."""
    kept: list[str] = []

    def count(names: Sequence[str]) -> int:
        return len({tuple(map(parts.get, names)) for parts in boards})

    for name in dict.fromkeys(("data", "n", *(name for parts in boards for name in parts))):
        if (name not in (*_TITLED, "asked") or name == "vary") and count([*kept, name]) > count(kept):
            kept.append(name)
    return kept


def _differing(name: str, parts: Mapping[str, str]) -> str:
    if name in _OF_JUDGES and parts.get("judge", "none") == "none":
        return ""
    if name not in parts:
        return f"no {_NAMES.get(name, name)}"
    if name == "n":
        return f"{_count(parts['n'])} questions"
    if parts[name] == "none":
        return {"limit": "not limited"}.get(name, f"no {_NAMES.get(name, name)}")
    if name == "data":
        return f"{_count(parts.get('n', '?'))} questions (data {_value(name, parts[name])})"
    return f"{_NAMES.get(name, name)} {_value(name, parts[name])}"


def _phrase(name: str, value: str) -> str:
    if name == "settings":
        return f"settings {value}"
    if name == "lang":
        return language_name(value)
    if name == "shots":
        return f"{value}-shot" if value != "0" else "zero-shot"
    if value in _QUIET:
        return ""
    if name == "vary":
        return f"varied over {_vary(value).partition(' (')[0]}"
    return {"cot": "chain of thought", "rationale": "with reasons"}.get(name, f"only {value}")


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
    """Return `prompt4.order2.in6.06e62da0`: what is varied, in how many combinations, and the fingerprint of it all."""
    *parts, fingerprint = value.split(".")
    factors = [re.fullmatch("([a-z]+)([0-9]+)", part) for part in parts]
    said = " × ".join(f"{one[2]} {_VARIED[one[1]]}" for one in factors if one and one[1] in _VARIED)
    some = [f", {one[2]} combinations of them" for one in factors if one and one[1] == "in"]
    return f"{said}{''.join(some)} ({fingerprint})" if said else value


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
