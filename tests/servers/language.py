"""A tiny language model with known probabilities: a tokenizer and the true probability of every next token.

The next token depends on the last three tokens and the sum of all, by random tables. Tokens are all bytes and some
words: so Chinese is mostly bytes, and a letter can be written with and without a blank before it.
"""

import operator
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LETTERS = "ABCD"
WORDS = (
    *(f" {letter}" for letter in LETTERS),
    *("As", " As", " the", " and", "One", " two", ",", "答案", "是", "：", "题目", "\n\n", "True", " True", " False"),
)
LIKELY = {*LETTERS, *(f" {letter}" for letter in LETTERS)}
"""Tokens made more probable, so that replies contain answers."""
TABLES = 89


class Language:
    """The model. `joined`: further tokens of the vocabulary, such as one of a prompt's end and a letter."""

    def __init__(self, joined: Sequence[str] = ()) -> None:
        words = [word.encode() for word in (*WORDS, *joined)]
        self.vocabulary = list(dict.fromkeys([*(bytes([byte]) for byte in range(256)), *words]))
        self.end = len(self.vocabulary)
        """The token that ends a text, and precedes it."""
        self._numbers = {token: number for number, token in enumerate(self.vocabulary)}
        self._longest = max(map(len, self.vocabulary))
        self._known: dict[int, NDArray[np.float64]] = {}

    @cached_property
    def _tables(self) -> NDArray[np.float64]:
        tables = np.random.default_rng(7).normal(0.0, 1.6, (TABLES, self.end + 1))
        likely = [number for token, number in self._numbers.items() if token.decode("utf-8", "replace") in LIKELY]
        tables[:, likely] += 3.0
        tables[:, self.end] -= 2.0
        return tables

    def encode(self, text: str) -> list[int]:
        """Tokenize a text, longest token first."""
        content, place, found = text.encode("utf-8", "replace"), 0, []
        while place < len(content):
            for length in range(self._longest, 0, -1):
                number = self._numbers.get(content[place : place + length])
                if number is not None and length <= len(content) - place:
                    found.append(number)
                    place += length
                    break
        return found

    def number(self, token: str) -> int:
        """Return the number of a token."""
        return self._numbers[token.encode()]

    def bytes_of(self, number: int) -> bytes:
        """Return the bytes of a token; none for the end."""
        return b"" if number == self.end else self.vocabulary[number]

    def after(self, context: Sequence[int]) -> NDArray[np.float64]:
        """Return the natural logarithm of each token's probability after a context."""
        place = (sum(context) + sum(map(operator.mul, context[-3:], (7, 31, 101)))) % TABLES
        if place not in self._known:
            logits = self._tables[place]
            self._known[place] = logits - np.log(np.exp(logits).sum())
        return self._known[place]

    def of(self, tokens: Sequence[int], start: int = 0) -> list[float]:
        """Return the log-probability of each token from `start` on, given those before it."""
        return [float(self.after(tokens[:place])[tokens[place]]) for place in range(start, len(tokens))]


def chat_text(messages: Sequence[dict[str, str]]) -> str:
    """Return messages as the model's input text."""
    return "".join(f"[{message['role']}]\n{message['content']}\n" for message in messages) + "[assistant]\n"
