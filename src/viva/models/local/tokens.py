"""Prompts as token numbers, exactly as the model reads them, and the tokens that continue a prompt.

The token of an option's letter depends on the text before it: a SentencePiece tokenizer has one "A" that begins a
word and one that goes on, a byte-level one has "A" with and without a blank, and some join "：A" into one. So a letter
is never looked up: prompt and letter are encoded together, and what follows the prompt's own tokens is taken, or the
tokenizer is refused.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from viva.errors import VivaError, option
from viva.models import templates
from viva.models.local import rendering
from viva.models.local.thinking import SWITCHES, Marks, closed, opened_by, variables
from viva.models.weightfiles import PANIC
from viva.prompting import replace_surrogates
from viva.providers import RequestOptions
from viva.scorers.lexicon import CLOSINGS, OPENINGS
from viva.types import Message, Prompt
from viva.visible import escape_invisible, one_line

NOTHING_SAID = RequestOptions()
_KEPT = 64
"""Most prompts whose tokens are cached, since each is counted, encoded and continued in turn."""
_TODAY = datetime.datetime(2024, 7, 26)
"""The date given to chat templates that ask for it: Llama's default without a clock."""
_CLOCK = (
    "{%- macro strftime_now(format) -%}{{ format"
    + "".join(f".replace('%{code}', '{_TODAY.strftime(f'%{code}')}')" for code in "aAbBdjmyYHIMSpw")
    + " }}{%- endmacro %}\n"
)
"""Put before such a template: transformers lets no function through to it. Blocks swallow the line feed behind them."""


class Tokens:
    """One tokenizer with one way to write messages: `template` is "" (its chat template), "raw" or a family.

    A text to continue is always encoded as it is. For a chat template it is always 26 July 2024: one that writes the
    day into its prompts (Llama 3's "Today Date") would ask something else when a run is gone on with. `ends` are tokens
    that end a text besides the tokenizer's own (`Opened.ends`); `said`: what the user says of thinking and of the chat
    template's variables. May be used by several threads: a fast tokenizer alone may not. Raises VivaError where the
    template does not have what is said.
    """

    def __init__(
        self, tokenizer: Any, template: str = "", ends: Iterable[int] = (), said: RequestOptions = NOTHING_SAID
    ) -> None:
        problem = templates.unknown(template) if template not in ("", "raw") else ""
        if problem:
            raise VivaError(problem)
        self._tokenizer = tokenizer
        self._template = template
        self._lock = threading.Lock()
        self._kept: dict[tuple[Prompt, bool], list[int]] = {}
        self.name = one_line(str(getattr(tokenizer, "name_or_path", "") or "this model"), 200)
        self._bos: int | None = tokenizer.bos_token_id
        self._eos: int | None = tokenizer.eos_token_id
        self._tail = 0
        self._tail = self._added_behind()
        own = "" if template or not tokenizer.chat_template else str(tokenizer.get_chat_template())
        self._variables = variables(own, said, self.name)
        self.marks = Marks(self.decode, self._mark_tokens())
        tokens = {self._eos, *ends, *self._end_of_turn()}
        self.stop_ids: frozenset[int] = frozenset(token for token in tokens if token is not None)
        """Tokens that end what a model writes: the end of the text, and of its turn where one is marked."""

    def ids(self, prompt: Prompt, *, answer_next: bool = False) -> list[int]:
        """Return the prompt's tokens. At least one: BOS or EOS for an empty text.

        A text gets the special tokens that the tokenizer adds by itself, but no second BOS where it begins with one,
        and none at its end. Messages are written by the chat template, up to where the model answers, or begins to
        think: where the answer must be `answer_next`, behind a thought that is closed and empty. Raises VivaError where
        there is no template, or where it begins with two BOS.
        """
        kept = self._kept.get((prompt, answer_next))
        if kept is None:
            text, special = self._text(prompt, answer_next=answer_next)
            kept = self._encode([text], special=special)[0] or [self._first(text)]
            if not isinstance(prompt, str) and not special and kept[:2] == [self._bos] * 2:
                raise VivaError(
                    f"the chat template of {self.name} begins with BOS twice, and no model was trained so: mend it "
                    f"(chat_template.jinja or tokenizer_config.json), or name a family with {option('template')}"
                )
            self._kept[prompt, answer_next] = kept
            for oldest in list(self._kept)[:-_KEPT]:
                self._kept.pop(oldest, None)
        return list(kept)

    def count(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt."""
        return len(self.ids(prompt))

    def next_tokens(self, prompt: Prompt, continuations: Sequence[str]) -> list[int]:
        """Return each continuation's single token after `ids(prompt)`, in order.

        Raises VivaError where one is not exactly one token there, where writing it changes the prompt's own tokens, or
        where two are the same token.
        """
        # Everything is encoded again with every continuation, a few milliseconds for a long prompt. Encoding the end of
        # the prompt alone would be quicker and is not the same in general: a unigram model or a pattern that cuts words
        # may split differently far to the left, and such tokenizers are those that have to be found out.
        before = self.ids(prompt, answer_next=True)
        text, special = self._text(prompt, answer_next=True)
        continuation_of: dict[int, str] = {}
        for continuation, after in zip(
            continuations,
            self._encode([text + replace_surrogates(more) for more in continuations], special=special),
            strict=True,
        ):
            token = self._one(text, before, continuation, after)
            if token in continuation_of:
                raise VivaError(
                    f"for the tokenizer of {self.name}, {_quoted(continuation_of[token])} and "
                    f"{_quoted(continuation)} are the same token after {_end(text)}{_otherwise()}"
                )
            continuation_of[token] = continuation
        return list(continuation_of)

    def _one(self, text: str, before: list[int], continuation: str, after: list[int]) -> int:
        own = after[len(before) :]
        if after[: len(before)] != before:
            blank = " (let the prompt end without its blank)" if text[-1:].isspace() else ""
            raise VivaError(
                f"the tokenizer of {self.name} joins {_quoted(continuation)} with the end of the prompt, {_end(text)}, "
                f"so there is no next token to choose{blank}{_otherwise()}"
            )
        if len(own) != 1:
            raise VivaError(
                f"for the tokenizer of {self.name}, {_quoted(continuation)} is {len(own)} tokens and not one after "
                f"{_end(text)}{_otherwise()}"
            )
        if own[0] == self._tokenizer.unk_token_id:
            raise VivaError(f"the tokenizer of {self.name} does not know {_quoted(continuation)}{_otherwise()}")
        return own[0]

    def continued(self, prompt: Prompt, continuation: str) -> tuple[list[int], list[int]]:
        """Return tokens of the prompt and of its continuation, as lm-evaluation-harness splits them.

        Blanks at the prompt's end belong to the continuation; both are encoded together. All behind as many tokens
        as the prompt has alone is the continuation's, also where a tokenizer splits the prompt's end differently.
        Raises VivaError where nothing is.
        """
        text, special = self._text(prompt, answer_next=True)
        rest = text.rstrip()
        more = text[len(rest) :] + replace_surrogates(continuation)
        if not rest and special:
            bare = self._encode([more], special=False)[0]
            first = self._first(more)
            before, own = [first], bare[1:] if bare[:1] == [first] else bare
        else:
            before, after = self._encode([rest, rest + more], special=special)
            own = after[len(before) :]
        if not own:
            raise VivaError(
                f"the tokenizer of {self.name} has no token for {_quoted(continuation)} after {_end(rest)}: leave "
                f"{option('answer_by')} out and read the answer from what the model writes"
            )
        return before or [self._first(text)], own

    def text(self, text: str) -> tuple[list[int], int]:
        """Return a text's tokens after BOS, if the tokenizer has one, and the index of the first that can be scored.

        Without a BOS the first token has no probability: scores begin with the second.
        """
        bare = self._encode([replace_surrogates(text)], special=False)[0]
        if self._bos is None:
            return bare, min(1, len(bare))
        return (bare if bare[:1] == [self._bos] else [self._bos, *bare]), 1

    def decode(self, ids: Sequence[int]) -> str:
        """Decode a model's reply: special tokens left out, blanks unchanged, also the first."""
        # Decoded alone, a SentencePiece text would lose its first blank.
        with self._lock:
            guard = self._tokenizer.encode("A", add_special_tokens=False)
            text, alone = (
                str(self._tokenizer.decode(row, skip_special_tokens=True, clean_up_tokenization_spaces=False))
                for row in ([*guard, *ids], list(guard))
            )
        return text.removeprefix(alone)

    def plain(self, text: str) -> list[int]:
        """Return the tokens of a text that goes on with another."""
        return self._encode([text], special=False)[0]

    def thought_opened(self, prompt: Prompt) -> str:
        """Return the mark of the thought that the chat template opens for an answer; "" where it opens none."""
        return "" if isinstance(prompt, str) or self._template else opened_by(self._chat(prompt))

    def thinks(self) -> bool:
        """Tell whether the chat template has the model think: it opens a thought, or closes an empty one if told to."""
        if self._template or not self._tokenizer.chat_template:
            return False
        question = (Message("user", "A"),)
        try:
            text = self._chat(question)
            return text != closed(text, lambda: self._chat(question, off=True))
        except VivaError:
            return False

    def _mark_tokens(self) -> dict[int, str]:
        added = {str(token): int(number) for number, token in self._tokenizer.added_tokens_decoder.items()}
        return {added[mark]: mark for mark in (*OPENINGS, *CLOSINGS) if mark in added}

    # --- how a prompt becomes a text

    def _text(self, prompt: Prompt, *, answer_next: bool = False) -> tuple[str, bool]:
        """Return the text to encode, and whether the tokenizer is to add its special tokens."""
        if isinstance(prompt, str):
            return replace_surrogates(prompt), True
        if self._template == "raw":
            return replace_surrogates("\n".join(message.content for message in prompt)), True
        if self._template:
            return replace_surrogates(templates.render(self._template, prompt)), True
        text = self._chat(prompt)
        if answer_next:
            text = closed(text, lambda: self._chat(prompt, off=True))
        return replace_surrogates(text), False

    def _chat(self, messages: Sequence[Message], *, off: bool = False) -> str:
        """Return messages by the chat template; `off`: with its switches for thinking off."""
        if not self._tokenizer.chat_template:
            raise VivaError(
                f"{self.name} has no chat template: ask it as a base model ({option('form', 'base')}), or name how "
                "messages are "
                f"written ({option('template', 'raw')}, qwen, llama3, ...)"
            )
        system = "\n".join(message.content for message in messages if message.role == "system")
        others = [message for message in messages if message.role != "system"]
        try:
            text = self._rendered(messages, off=off)
            if not system or system.strip() in text:
                return text
        except VivaError:
            if not system or not others:
                raise
        # A template that refuses system messages, or drops them: what they say goes before the first message.
        joined = Message(others[0].role, f"{system}\n{others[0].content}") if others else Message("user", system)
        return self._rendered([joined, *others[1:]], off=off)

    def _rendered(self, messages: Sequence[Message], *, answer: bool = True, off: bool = False) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            template = self._tokenizer.get_chat_template()
            if "strftime_now" in template:
                template = _CLOCK + template
            told = self._variables | (dict.fromkeys(SWITCHES, False) if off else {})
            special = self._tokenizer.special_tokens_map
            return rendering.render(template, turns, special, answer=answer, variables=told)
        except Exception as cause:  # a template is a program, and raises what it likes
            reason = str(cause) if isinstance(cause, rendering.TemplateError) else f"{type(cause).__name__}: {cause}"
            why = one_line(reason, 200)
            raise VivaError(
                f"the chat template of {self.name} does not take these messages ({why}): ask it as a base model "
                f"({option('form', 'base')}), or name how messages are written ({option('template', 'raw')}, qwen, "
                "llama3, ...)"
            ) from cause

    # --- the tokenizer

    def _encode(self, texts: list[str], *, special: bool) -> list[list[int]]:
        if not texts:
            return []
        with self._lock:
            try:
                encoded: list[list[int]] = self._tokenizer(
                    texts,
                    add_special_tokens=special,
                    truncation=False,
                    padding=False,
                    return_attention_mask=False,
                    return_token_type_ids=False,
                    verbose=False,
                )["input_ids"]
            except BaseException as cause:
                if type(cause).__name__ != PANIC:
                    raise
                why = one_line(str(cause), 200)
                raise VivaError(f"the tokenizer of {self.name} fails at a text ({why}): is its file damaged?") from None
        if not special:
            return encoded
        if self._tail:
            encoded = [row[: -self._tail] for row in encoded]
        twice = [self._bos] * 2
        return [row[1:] if self._bos is not None and row[:2] == twice else row for row in encoded]

    def _added_behind(self) -> int:
        """Return how many tokens the tokenizer puts behind a text (an EOS): a prompt to continue must not end so."""
        (full,), (bare,) = (self._encode(["A"], special=special) for special in (True, False))
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return len(full) - len(bare) - start
        return 0

    def _end_of_turn(self) -> list[int]:
        """Return the special token that ends a turn: what the chat template writes behind an answer, a family behind a
        user.

        Behind a user's blank or line feed comes what begins the answer, and that ends nothing.
        """
        mark = "viva"
        if self._template and self._template != "raw":
            behind = templates.families()[self._template].rpartition("{user}")[2]
        elif self._template or not self._tokenizer.chat_template:
            return []
        else:
            try:
                text = self._rendered([Message("user", "A"), Message("assistant", mark)], answer=False)
            except VivaError:
                return []
            behind = text.rpartition(mark)[2].lstrip()
        tokens = self._encode([behind], special=False)[0][:1]
        special = {*self._tokenizer.all_special_ids, *self._tokenizer.added_tokens_decoder}
        return [token for token in tokens if token in special]

    def _first(self, text: str) -> int:
        """Return the token that precedes an empty text: BOS, else EOS. Raises VivaError without either."""
        first = self._bos if self._bos is not None else self._eos
        if first is None:
            raise VivaError(f"{self.name} has neither BOS nor EOS, so nothing can stand before {_quoted(text)}")
        return first


def _quoted(text: str) -> str:
    return f"“{escape_invisible(text, limit=40)}”"


def _end(text: str) -> str:
    return f"“…{escape_invisible(text[-12:])}”".replace("\n", "⏎")


def _otherwise() -> str:
    out = f"leave {option('answer_by')} out and read the answer from what the model writes"
    return f"; use {option('answer_by', 'likelihood')}, or {out}"
