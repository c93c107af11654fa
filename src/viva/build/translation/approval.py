"""What people decided about translations, folded from the audit trail: pure, and the only way into the set.

A translation is shown as one text with a heading for each field, `[Question]`, `[A]`, ...: that is what is edited and
decided about, as viva.build.approval says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from viva.build.approval import Event, State, replay


def item_key(question: str, source: str, shown: str) -> str:
    """32 hexadecimal digits for a text about a question; another source or translation is another item."""
    content = json.dumps([question, source, shown]).encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def fold(texts: Sequence[tuple[str, str, str]], events: Sequence[Event]) -> dict[str, State]:
    """Question → where its translation stands. `texts`: question, source text, translation ("" for none)."""
    histories, _ = replay([(start, partial(item_key, question, source)) for question, source, start in texts], events)
    return {question: history.state() for (question, *_), history in zip(texts, histories, strict=True)}


_HEADING = re.compile(r"^(\[+)(Question|A|B|C|D|Answer|Explanation)(\]+)$", re.MULTILINE)


def headed(fields: Mapping[str, str]) -> str:
    """Fields as one text: each below its heading, which has as many brackets as no line of a text has."""
    if not fields:
        return ""
    most = max((len(found[1]) for value in fields.values() for found in _HEADING.finditer(value)), default=0)
    left, right = "[" * (most + 1), "]" * (most + 1)
    return "\n\n".join(f"{left}{name}{right}\n{value}" for name, value in fields.items())


def unheaded(shown: str, wanted: Iterable[str]) -> dict[str, str] | None:
    """The fields of such a text again; None where the headings are not those that are wanted, each once."""
    first = _HEADING.match(shown.replace("\r\n", "\n").strip())
    if first is None:
        return None
    pattern = re.compile(rf"^{re.escape(first[1])}([A-Z][a-z]*){re.escape(first[3])}[ \t]*$", re.MULTILINE)
    parts = pattern.split(shown.replace("\r\n", "\n").strip())
    names, values = parts[1::2], [value.strip() for value in parts[2::2]]
    if len(first[1]) != len(first[3]) or parts[0].strip() or names != list(wanted):
        return None
    return dict(zip(names, values, strict=True))
