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
"""Placeholders that a template of one's own may leave out."""
BREAKS: Mapping[str, str] = {"task": "\n\n", "exemplar": "\n\n", "option": "\n", "answer": "\n", "lead": "\n"}
"""What separates the parts of a prompt: goes after the task and each exemplar, between options, before an exemplar's
answer and before the lead."""
_FIELD = re.compile(r"\{([a-z_]+)\}")
_VERDICT = re.compile(r"VERDICT(?= ?[:：])")
_MATERIAL = {"answer", "rationale"}
"""Placeholders of what an examinee wrote: a judge must see it between fences, and nowhere else."""
_FENCE_LINE = re.compile(r"^\{fence\}$", re.MULTILINE)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every `{name}` that `values` knows, once; what a value contains is never looked at again."""
    pieces = list(_pieces(template))
    for index in range(1, len(pieces), 2):  # re.split with one group alternates text and field names
        name = pieces[index]
        pieces[index] = values.get(name, "{" + name + "}")
    return "".join(pieces)


def verdict_places(template: str, values: Mapping[str, str]) -> tuple[int, ...]:
    """Return where `fill(template, values)` speaks of a verdict line: the characters after each "VERDICT" before a
    colon.

    Only the template's own words count: what a value says of verdicts is somebody else's.
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
    """Return a line to put around a text that must not instruct its reader: the text cannot contain its own
    hash.
    """
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{'=' * 8} {digest} {'=' * 8}"


def with_system(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt with a system text before it; one that is there already follows in the same message."""
    if isinstance(prompt, str):
        return f"{text}\n\n{prompt}"
    if prompt and prompt[0].role == "system":
        return (Message("system", f"{text}\n\n{prompt[0].content}"), *prompt[1:])
    return (Message("system", text), *prompt)


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages for a model that knows no system role: its text begins the first message of the user's."""
    if not messages or messages[0].role != "system":
        return messages
    text, rest = messages[0].content, messages[1:]
    if rest and rest[0].role == "user":
        return (Message("user", f"{text}\n\n{rest[0].content}"), *rest[1:])
    return (Message("user", text), *rest)


def replace_surrogates(text: str) -> str:
    """Return a text without halves of surrogate pairs, which cannot be written or sent: each becomes a question
    mark.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


LONGEST_JUDGED = 16_000
"""Characters of an answer that a judge is shown: a longer one is no better for it, and would fill the context."""


def clip(text: str) -> str:
    """Return a text with its middle left out, visibly, where it is longer than a judge is shown."""
    text = text.strip()
    if len(text) <= LONGEST_JUDGED:
        return text
    head, tail = LONGEST_JUDGED * 3 // 4, LONGEST_JUDGED // 4
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters …]\n{text[-tail:]}"


def stops_before(template: str, separator: str) -> tuple[str, ...]:
    """Return what a base model writes first that goes on with a next question: where to stop it, instead of paying
    on.
    """
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
    """Return two files of templates as one; what is in both, counts as in `over`."""
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

    A file given by the user lies over the bundled one, key by key, so that it needs to hold only what differs. Its
    table `breaks` replaces what separates the parts of a prompt (the argument has the names that there are, with their
    defaults); only where it does are they among the data, so that a prompt's hash says what was changed. `fenced`:
    whether what an examinee wrote must stand between fences where a judge sees it, as the authors of a set have it not.
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
        """Return the template at a dotted key."""
        return self._cache[key]

    def separator(self, name: str) -> str:
        """Return what separates one part of a prompt from the next."""
        return self._breaks[name]

    def before(self, name: str, part: str) -> str:
        """Return a part with what separates it from the part before it; nothing where the part is empty."""
        return self._breaks[name] + part if part else ""

    def after(self, name: str, part: str) -> str:
        """Return a part with what separates it from what follows; nothing where the part is empty."""
        return part + self._breaks[name] if part else ""


def _fenced(template: str) -> bool:
    """Return whether all that an examinee wrote stands between two fence lines. A template without any of it is no
    danger.
    """
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
    """Roughly how many tokens a text is, without a tokenizer: about 4 ASCII characters each, 1 for any other character.

    Errs on the high side for Chinese (current tokenizers need 0.6 to 1 per character), so that a prompt that is said
    to fit does fit, and money is not underestimated.
    """
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ascii_characters // 4 + (len(text) - ascii_characters) + 4


class Estimated:
    """A context measured without a tokenizer (`estimate_tokens`): what any prompt is taken to need."""

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Return whether it fits; everything does where no limit is known."""
        return limit is None or estimate_tokens(prompt_text(prompt)) + reply <= limit


ESTIMATED = Estimated()


def exemplar_length(shot: Question) -> int:
    """Return characters of an exemplar: its question and its options."""
    return len(shot.text) + sum(map(len, shot.options))


def gap_between(lead: str, answer: str) -> str:
    """Return the text between lead and answer in an exemplar's template: "Answer:" and "Answer: {answer}" give a
    blank.
    """
    return answer.removeprefix(lead).partition("{answer}")[0] if answer.startswith(lead) else ""


def chosen_text(shot: Question) -> str:
    """Return an exemplar's right option as a text, as it is shown where options compete by their texts."""
    return shot.options["ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(str(shot.answer))].strip()


def fit_to_context(
    shots: Sequence[S],
    render: Callable[[Sequence[S]], Prompt],
    length: Callable[[S], int],
    fits: Callable[[Prompt], bool],
) -> tuple[Prompt, int]:
    """Return a prompt with the exemplars that fit, and how many were left out: the longest go first, so that most
    stay.
    """
    left = shots
    prompt = render(left)
    while left and not fits(prompt):
        longest = max(left, key=length)
        left = [shot for shot in left if shot is not longest]
        prompt = render(left)
    return prompt, len(shots) - len(left)
