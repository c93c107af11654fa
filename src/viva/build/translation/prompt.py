"""What a model is asked to translate, and what of its reply is the translation.

Only words are sent: the letter of a choice, the truth value of an assertion, ids and tags never leave, and a field with
nothing to translate (`1100 1010`, `O(n^2)`) is copied. That is where the published German and French files went wrong.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from viva.benchmarks.csbench.recordfiles import NAMES, TEXTS, Raw, text
from viva.build.drafting import drafting_request, texts_of
from viva.build.files import toml_of
from viva.build.translation.checks import HAN
from viva.files import shipped_text
from viva.scorers.lexicon import after_thinking
from viva.types import Generate, Language, Sampling

Each = Literal["question", "field"]
LONGEST = 100_000
"""Characters of a reply that are read."""
_PLAIN = re.compile(
    r"\\\(.*?\\\)|\\\[.*?\\\]|\$[^$\n]*\$|[A-Za-z_]\w*(?:->|\.)\w+|\w*\d\w*|\w*[_^=<>*/+]\w*|\b[A-Z]{2,}\b", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_FENCED = re.compile(r"\A\s*```[a-z]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


class Templates(Struct, frozen=True):
    """The texts of translating.toml."""

    names: dict[str, str]
    translate: dict[str, str]


@cache
def bundled() -> bytes:
    """translating.toml as a new project gets it."""
    return shipped_text(__file__, "translating.toml").encode()


def read_templates(content: bytes, name: str) -> Templates:
    """Return a project's templates over the bundled ones. Raises DataError for a key that is not known."""
    standard = tomllib.loads(bundled().decode())
    given = texts_of(toml_of(content, name), name, standard)
    return Templates(**{table: {**texts, **given.get(table, {})} for table, texts in standard.items()})


def to_translate(record: Raw) -> dict[str, str]:
    """Field → text, of those that hold words to translate."""
    found: dict[str, str] = {}
    for field in TEXTS:
        if field == "Answer" and record["Format"] in ("Multiple-choice", "Assertion"):
            continue
        content = text(record.get(field))
        if isinstance(record.get(field), str) and has_words(content):
            found[field] = content
    return found


def has_words(content: str) -> bool:
    """Return whether a text holds words of a language, not only figures, formulas, code and abbreviations."""
    return bool(HAN.search(content) or _WORD.search(_PLAIN.sub(" ", content)))


def requests(
    name: str,
    record: Raw,
    languages: tuple[Language, Language],
    each: Each,
    templates: Templates,
    sampling: Sampling,
    remarks: Sequence[str] = (),
) -> Iterator[Generate]:
    """Yield what is asked about one question: all its texts at once, or each by itself. `remarks`: why it is asked
    again.
    """
    wanted = to_translate(record)
    asked: dict[str, dict[str, str]] = {}
    if each == "field":
        asked = {f"{name}/{field}": {"field": field, "text": content} for field, content in wanted.items()}
    elif wanted:
        asked = {name: {"fields": json.dumps(wanted, ensure_ascii=False, indent=1)}}
    source, target = (templates.names[language] for language in languages)
    texts = templates.translate
    for called, content in asked.items():
        material = {**content, "remarks": "\n".join(remarks) or "none", "source": source, "target": target}
        user = "whole" if each == "question" else "single"
        yield drafting_request(called, texts, material, sampling, user=user, again=bool(remarks), notes=texts["notes"])


def read_fields(reply: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the translations in a reply about a whole question: those of the fields that were asked for; {} for
    none.
    """
    start, unfinished = after_thinking(reply[:LONGEST])
    if unfinished:
        return {}
    body = reply[start:LONGEST]
    first, last = body.find("{"), body.rfind("}")
    if first < 0 or last < first:
        return {}
    try:
        found = json.loads(body[first : last + 1], strict=False)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {field: _clean(found[field]) for field in wanted if isinstance(found.get(field), str)}


def read_text(reply: str, original: str) -> str:
    """Return the translation in a reply about one text: without a fence around it that the original does not have."""
    start, unfinished = after_thinking(reply[:LONGEST])
    if unfinished:
        return ""
    body = reply[start:LONGEST]
    fenced = _FENCED.match(body)
    return _clean(fenced[1] if fenced and "```" not in original else body)


def _clean(content: str) -> str:
    """Without what no text may hold: halves of surrogate pairs and control characters."""
    whole = content.encode("utf-8", "replace").decode()
    return "".join(c for c in whole if c in "\n\t" or c.isprintable() or c in "\u00a0\u202f\u3000").strip()


def translated(record: Raw, fields: Mapping[str, str], target: Language) -> Raw:
    """Return the record with its translated fields: everything else is as it was."""
    found = {key: fields.get(key, value) for key, value in record.items()}
    if "Language" in found:
        found["Language"] = NAMES[target]
    return found
