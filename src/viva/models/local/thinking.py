"""Thoughts of local models before their answers: variables of chat templates, and the end of a thought.

A chat template may open a thought, or close an empty one, by its variables; otherwise the model may open one itself.
Marks of thoughts are single tokens or plain text; one opens a thought only at the beginning of a reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from viva.errors import VivaError, option
from viva.models.sending import decoded
from viva.providers import RequestOptions
from viva.scorers.lexicon import CLOSINGS, OPENINGS

SWITCHES = ("enable_thinking", "thinking")
"""Variables of chat templates that switch thinking: of Qwen3, SmolLM3, GLM; of DeepSeek, Granite."""
LEVEL = "reasoning_effort"
CLOSING = dict(zip(OPENINGS, CLOSINGS, strict=False))
"""Opening mark → closing mark."""
_BLOCK = re.compile(r"\{[%{].*?[%}]\}", re.DOTALL)
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")

State = Literal["pending", "none", "open", "closed"]


def variables(template: str, options: RequestOptions, name: str) -> dict[str, Any]:
    """Return the chat template's variables for the user's options. Raises VivaError where it has none."""
    own = decoded(options.template_options)
    if (own or options.effort) and not template:
        field = "template_option" if own else "reasoning_effort"
        raise VivaError(f"is for a model's own chat template, and {name} is not asked by one", field=field)
    if not options.effort:
        return own
    code = " ".join(_LITERAL.sub("", block) for block in _BLOCK.findall(template))
    known = [name_in_code for name_in_code in (*SWITCHES, LEVEL) if re.search(rf"(?<![\w.]){name_in_code}\b", code)]
    values: dict[str, Any] = {switch: options.effort != "none" for switch in known if switch != LEVEL}
    if LEVEL in known and options.effort != "none":
        values[LEVEL] = options.effort
    if not values:
        names = ", ".join(SWITCHES if options.effort == "none" else (*SWITCHES, LEVEL))
        raise VivaError(
            f"{options.effort}: the chat template of {name} has no variable for it ({names}); "
            f"{option('template_option', 'NAME=JSON')} sets another",
            field="reasoning_effort",
        )
    return values | own


def opened_by(text: str) -> str:
    """Return the mark of a thought that a prompt ends with; "" for none."""
    end = text.rstrip()
    return next((mark for mark in OPENINGS if end.endswith(mark)), "")


def closed(text: str, otherwise: Callable[[], str]) -> str:
    """Return a prompt after which the answer begins at once, its thought closed and empty.

    `otherwise` is the prompt with the template's switches off.
    """
    if mark := opened_by(text):
        return f"{text.rstrip()}\n\n{CLOSING[mark]}\n\n"
    if text.rstrip().endswith(CLOSINGS):
        return text
    off = otherwise()
    return off if off.rstrip().endswith(CLOSINGS) else text


class Marks:
    """A tokenizer's marks of thoughts. `tokens`: token → mark, for marks that are single tokens."""

    def __init__(self, decode: Callable[[Sequence[int]], str], tokens: Mapping[int, str]) -> None:
        self.decode = decode
        self.tokens = tokens
        self._may_end: dict[int, bool] = {}

    def may_end(self, token: int, mark: str) -> bool:
        """Tell whether a token can end a mark, which saves decoding the text for every token."""
        if token not in self._may_end:
            self._may_end[token] = mark[-1] in self.decode([token])
        return self._may_end[token]


class Thought:
    """The thought at the beginning of one reply. `opened`: the mark at the end of the prompt."""

    def __init__(self, marks: Marks, opened: str) -> None:
        self._marks = marks
        self.mark = opened
        self.state: State = "open" if opened else "pending"
        self._ids: list[int] = []
        self.count = 0
        """Tokens of the thought, with its closing mark."""
        self.text = ""
        self.rest = ""
        """Text after the closing mark in its last token."""

    def add(self, token: int) -> State:
        """Take one more token; return the new state."""
        if self.state == "pending":
            self._begin(token)
        elif self.state == "open":
            self._go_on(token)
        return self.state

    def _begin(self, token: int) -> None:
        self.count += 1
        if self._marks.tokens.get(token) in CLOSING:
            self.mark, self.state = self._marks.tokens[token], "open"
            return
        self._ids.append(token)
        text = self._marks.decode(self._ids).lstrip()
        opening = next((mark for mark in OPENINGS if text.startswith(mark)), "")
        if opening:
            self.mark, self.state = opening, "open"
        elif text and not any(mark.startswith(text) for mark in OPENINGS):
            self.state, self.count = "none", 0

    def _go_on(self, token: int) -> None:
        self.count += 1
        closing = CLOSING[self.mark]
        if self._marks.tokens.get(token) == closing:
            self._close(self._marks.decode(self._ids), "")
            return
        self._ids.append(token)
        if self._marks.may_end(token, closing):
            text, ending, rest = self._marks.decode(self._ids).partition(closing)
            if ending:
                self._close(text, rest)

    def _close(self, text: str, rest: str) -> None:
        self.text, self.rest, self.state = self._bare(text), rest, "closed"

    def so_far(self) -> str:
        """Return the thought so far."""
        return self._bare(self._marks.decode(self._ids)) if self.state == "open" else self.text

    def _bare(self, text: str) -> str:
        return text.lstrip().removeprefix(self.mark).strip()
