"""What a model thought, apart from what it replied; why that ended, and the tokens that it took.

Servers that know the model put its thoughts into a field of their own; others leave them in the text, between tags or,
where the chat template wrote the first tag, with a closing tag alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.scorers.fold import CLOSINGS, OPENINGS, after_thinking
from viva.types import StopReason, Usage

LARGEST_COUNT = 1_000_000_000
"""No request takes more tokens, and no batch has more requests."""


def separate_thoughts(
    text: str, reasoning: str, stop: StopReason, *, thought: bool, quoting: bool
) -> tuple[str, str, StopReason]:
    """Reply, thoughts and why it ended, of what came back.

    `reasoning` is what the server kept apart, `thought` whether it counted tokens of thinking. Of a reply that may be
    `quoting` others (a judge's) only tags count that it begins with: a tag in its midst is the quoted text's.
    """
    if not reasoning:
        text, reasoning = _split(text, quoting=quoting, cut=stop == "length")
    if stop == "length" and not text.strip() and (reasoning or thought):
        stop = "thinking"
    return text, reasoning, stop


def _split(text: str, *, quoting: bool, cut: bool) -> tuple[str, str]:
    if not any(mark in text for mark in "<[◁"):
        return text, ""
    body = text.lstrip()
    opened = next((tag for tag in OPENINGS if body.startswith(tag)), "")
    if opened:
        ends = [(at, tag) for tag in CLOSINGS if (at := body.find(tag)) >= 0]
        if ends:
            at, tag = min(ends)
            return body[at + len(tag) :].lstrip(), body[len(opened) : at].strip()
        return ("", body[len(opened) :].strip()) if cut else (text, "")
    if quoting:
        return text, ""
    start, unfinished = after_thinking(text)
    if not start or unfinished:
        return text, ""
    thoughts = text[:start]
    closed = next(tag for tag in CLOSINGS if thoughts.endswith(tag))
    return text[start:].lstrip(), thoughts.removesuffix(closed).strip()


def stop_reason(word: object, known: Mapping[str, StopReason]) -> StopReason:
    """Return why a reply ended, by the server's `word` for it, in whatever form; one without a word just ended."""
    return "stop" if word is None else known.get(word, "other") if isinstance(word, str) else "other"


def read_usage(counts: object, input: Sequence[str], output: Sequence[str], reasoning: object = None) -> Usage | None:
    """Return what a server wrote under these names, added up, in whatever form: `12`, `12.0`, `"12"`.

    None, which is "not counted", where none of the names is there, or one of them has what is no number of tokens.
    """
    sums, known = [0, 0], counts if isinstance(counts, dict) else {}
    there = [(at, known[name]) for at, names in enumerate((input, output)) for name in names if name in known]
    for at, value in there:
        count = read_count(value)
        if count is None:
            return None
        sums[at] += count
    return Usage(sums[0], sums[1], read_count(reasoning) or 0) if there else None


def read_count(value: object) -> int | None:
    """Return a number as a server counts; None for what is no such number."""
    if type(value) is int and 0 <= value <= LARGEST_COUNT:  # in nearly every reply
        return value
    if isinstance(value, str) and len(value) < 32:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_COUNT or value % 1:
        return None
    return int(value)


def cut_at(text: str, stops: Sequence[str], stop: StopReason) -> tuple[str, StopReason]:
    """Return a reply up to the first of the texts that should have ended it, where the server does not do that."""
    ends = [at for one in stops if one and (at := text.find(one)) >= 0]
    return (text[: min(ends)], "stop") if ends else (text, stop)
