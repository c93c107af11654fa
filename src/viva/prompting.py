"""Prompt templates as plain data: loading, checking, filling; and a rough count of tokens.

Templates are TOML that a user may replace (`--prompts FILE`). They are filled by name only: `str.format` would let a
template reach into objects, and would stumble over the braces of code and LaTeX in a question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

from viva.errors import DataError
from viva.files import parse_toml, read_regular
from viva.types import Message, Prompt, Question

S = TypeVar("S")
LARGEST_PROMPTS = 4 << 20
"""Bytes of a file of prompts."""
_OPTIONAL = {"subject", "discipline", "group", "explanation", "why", "what"}
"""Placeholders that a user's template may leave out."""
BREAKS: Mapping[str, str] = {"task": "\n\n", "exemplar": "\n\n", "option": "\n", "answer": "\n", "lead": "\n"}
"""What separates the parts of a prompt: goes after the task and each exemplar, between options, before an exemplar's
answer and before the lead."""
_FIELD = re.compile(r"\{([a-z_]+)\}")
_VERDICT = re.compile(r"VERDICT(?= ?[:：])")
_MATERIAL = {"answer", "rationale"}
"""Placeholders of the examined model's text, which a judge must see only between fences."""
_FENCE_LINE = re.compile(r"^\{fence\}$", re.MULTILINE)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every `{name}` that `values` knows, once; what a value contains is never looked at again."""
    pieces = list(_pieces(template))
    for index in range(1, len(pieces), 2):  # re.split with one group alternates text and field names
        name = pieces[index]
        pieces[index] = values.get(name, "{" + name + "}")
    return "".join(pieces)


def verdict_places(template: str, values: Mapping[str, str]) -> tuple[int, ...]:
    """Return places in `fill(template, values)` that mention a verdict line: indices after each "VERDICT" before a
    colon.

    Only the template's own words count, not those in values.
    """
    places: list[int] = []
    offset = 0
    for index, piece in enumerate(_pieces(template)):
        if index % 2:
            offset += len(values.get(piece, "{" + piece + "}"))
        else:
            places.extend(offset + match.end() for match in _VERDICT.finditer(piece))
            offset += len(piece)
    return tuple(places)


@lru_cache(maxsize=4096)
def _pieces(template: str) -> tuple[str, ...]:
    return tuple(_FIELD.split(template))


def fence(text: str) -> str:
    """Return a fence line for a text that must not instruct its reader: it has a hash that the text cannot contain."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{'=' * 8} {digest} {'=' * 8}"


def with_system(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt with a system text before it; an existing one follows in the same message."""
    if isinstance(prompt, str):
        return f"{text}\n\n{prompt}"
    if prompt and prompt[0].role == "system":
        return (Message("system", f"{text}\n\n{prompt[0].content}"), *prompt[1:])
    return (Message("system", text), *prompt)


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages for a model without a system role: the system text begins the first message of the user."""
    if not messages or messages[0].role != "system":
        return messages
    text, rest = messages[0].content, messages[1:]
    if rest and rest[0].role == "user":
        return (Message("user", f"{text}\n\n{rest[0].content}"), *rest[1:])
    return (Message("user", text), *rest)


def replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which cannot be encoded, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


LONGEST_JUDGED = 16_000
"""Most characters of an answer that a judge is shown: a longer one would fill the context."""


def clip(text: str) -> str:
    """Replace the middle of a text longer than `LONGEST_JUDGED` by a visible mark."""
    text = text.strip()
    if len(text) <= LONGEST_JUDGED:
        return text
    head, tail = LONGEST_JUDGED * 3 // 4, LONGEST_JUDGED // 4
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters …]\n{text[-tail:]}"


def stops_before(template: str, separator: str) -> tuple[str, ...]:
    """Return the texts with which a base model would begin a next question, for use as stop strings."""
    head = _pieces(template)[0].strip()
    return (separator + head,) if head else ()


def fields(template: str) -> set[str]:
    """Return the names of a template's placeholders."""
    return set(_FIELD.findall(template))


def read_templates(path: Path) -> dict[str, object]:
    """Return a template file as nested plain data. Raises DataError with the parser's line and column."""
    try:
        return parse_toml(read_regular(path, LARGEST_PROMPTS, follow=True).decode("utf-8"))
    except FileNotFoundError:
        raise DataError(f"no prompt file at {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"cannot read the prompt file {path}: {problem}") from None
    except ValueError as problem:
        raise DataError(f"the prompt file {path} is not valid TOML: {problem}") from None


def merged(templates: dict[str, object] | None, over: dict[str, object]) -> dict[str, object] | None:
    """Merge two files of templates; entries of `over` replace those of the other."""
    if not over:
        return templates
    result = dict(templates or {})
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, dict) and isinstance(value, dict)
        result[key] = merged(cast("dict[str, object]", below), cast("dict[str, object]", value)) if both else value
    return result


class Templates:
    """Nested templates with dotted look-up: `templates.text("en.choice.ask")`.

    A user's file replaces the bundled one key by key, so that it needs only the differences. Its table `breaks`
    replaces separators between parts of a prompt (the argument `breaks` has all names with defaults); they are among
    the data only if replaced, so that a prompt's hash shows changes. `fenced`: whether a judge must see the examined
    model's text between fences, which authors' own prompts lack.
    """

    def __init__(
        self,
        bundled: Mapping[str, object],
        over: Mapping[str, object] | None = None,
        breaks: Mapping[str, str] = BREAKS,
        *,
        fenced: bool = True,
    ) -> None:
        given = dict(over or {})
        own = {"breaks": given.pop("breaks")} if breaks and "breaks" in given else {}
        broken = _overlay({"breaks": dict(breaks)}, own, "")["breaks"]
        self._breaks = cast("dict[str, str]", broken)
        self.data: dict[str, object] = _overlay(bundled, given, "")
        for key, template in _leaves(self.data):
            original = _look_up(bundled, key)
            unknown = fields(template) - fields(original if isinstance(original, str) else "")
            if unknown:
                known = ", ".join("{" + name + "}" for name in sorted(fields(str(original)))) or "none"
                raise DataError(
                    f"prompt template {key!r} has the placeholder {{{sorted(unknown)[0]}}}; known here: {known}"
                )
            missing = fields(str(original)) - fields(template)
            lacked = missing - _OPTIONAL - (set() if fenced else {"fence"})
            if lacked:
                lost = sorted(lacked)[0]
                raise DataError(f"prompt template {key!r} lacks {{{lost}}}: the model would not see it")
            if fenced and "fence" in fields(str(original)) and not _fenced(template):
                raise DataError(
                    f"prompt template {key!r} must have two lines {{fence}}, and what the examinee wrote between them "
                    "alone: outside, it could instruct the judge"
                )
        self._cache: dict[str, str] = dict(_leaves(self.data))
        self.data |= own

    def text(self, key: str) -> str:
        """Return the template at a dotted key. Raises DataError for one that the benchmark's files lack."""
        if key not in self._cache:
            raise DataError(f"the prompts have no text {key!r}; they have: {', '.join(self._cache)}")
        return self._cache[key]

    def separator(self, name: str) -> str:
        """Return a separator between parts of a prompt."""
        return self._breaks[name]

    def before(self, name: str, part: str) -> str:
        """Return a part after its separator; "" for an empty part."""
        return self._breaks[name] + part if part else ""

    def after(self, name: str, part: str) -> str:
        """Return a part before its separator; "" for an empty part."""
        return part + self._breaks[name] if part else ""


def _fenced(template: str) -> bool:
    """Return whether all of the examined model's text is between two fence lines; true for a template without any."""
    if not fields(template) & _MATERIAL:
        return True
    parts = _FENCE_LINE.split(template)
    return (
        len(parts) == 3
        and not any("{fence}" in part for part in parts)
        and not ((fields(parts[0]) | fields(parts[2])) & _MATERIAL)
    )


def _overlay(bundled: Mapping[str, object], over: Mapping[str, object], prefix: str) -> dict[str, object]:
    merged = dict(bundled)
    for key, value in over.items():
        name = f"{prefix}{key}"
        if key not in bundled:
            raise DataError(f"prompt file: unknown key {name!r}; known here: {', '.join(sorted(bundled))}")
        if isinstance(bundled[key], dict) != isinstance(value, dict) or not isinstance(value, (str, dict)):
            raise DataError(
                f"prompt file: {name!r} should be a {'table' if isinstance(bundled[key], dict) else 'text'}"
            )
        if isinstance(value, dict):
            below = cast("Mapping[str, object]", bundled[key])
            merged[key] = _overlay(below, cast("Mapping[str, object]", value), f"{name}.")
        else:
            merged[key] = value
    return merged


def _leaves(data: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(cast("Mapping[str, object]", value), f"{prefix}{key}.")
        elif isinstance(value, str):
            yield f"{prefix}{key}", value


def _look_up(data: Mapping[str, object], key: str) -> object:
    value: object = data
    for part in key.split("."):
        value = cast("Mapping[str, object]", value)[part]
    return value


def prompt_text(prompt: Prompt) -> str:
    """Return a prompt as one text, for people and for counting."""
    if isinstance(prompt, str):
        return prompt
    if len(prompt) == 1:
        return prompt[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in prompt)


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens without a tokenizer: one for about 4 ASCII characters, one for any other character.

    High for Chinese (current tokenizers need 0.6 to 1 per character), so that a prompt judged to fit does fit, and
    costs are not underestimated.
    """
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ascii_characters // 4 + (len(text) - ascii_characters) + 4


class Estimated:
    """A context window measured by `estimate_tokens`, without a tokenizer."""

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Return whether prompt and reply fit; always, without a `limit`."""
        return limit is None or estimate_tokens(prompt_text(prompt)) + reply <= limit


ESTIMATED = Estimated()


def exemplar_length(shot: Question) -> int:
    """Return the number of characters of an exemplar's question and options."""
    return len(shot.text) + sum(map(len, shot.options))


def gap_between(lead: str, answer: str) -> str:
    """Return the text between lead and answer in an exemplar's template: "Answer:" and "Answer: {answer}" give a
    blank.
    """
    return answer.removeprefix(lead).partition("{answer}")[0] if answer.startswith(lead) else ""


def chosen_text(shot: Question) -> str:
    """Return an exemplar's right option as text, for exams in which options compete by their texts."""
    return shot.options["ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(str(shot.answer))].strip()


def fit_to_context(
    shots: Sequence[S],
    render: Callable[[Sequence[S]], Prompt],
    length: Callable[[S], int],
    fits: Callable[[Prompt], bool],
) -> tuple[Prompt, int]:
    """Return a prompt with the exemplars that fit, and the number left out: the longest first, so that most stay."""
    left = shots
    prompt = render(left)
    while left and not fits(prompt):
        longest = max(left, key=length)
        left = [shot for shot in left if shot is not longest]
        prompt = render(left)
    return prompt, len(shots) - len(left)
