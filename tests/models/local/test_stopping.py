"""Where a reply stops, and what its text is: stop strings that almost fit, characters spread over tokens."""

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.local.tiny import TEXT, TOKENIZERS, make_tokenizer
from rows import each_row, tabled
from viva.models.local.generating import BROKEN, Reply
from viva.models.local.tokens import Tokens


def spelt(vocabulary: Sequence[bytes]) -> Callable[[Sequence[int]], str]:
    """Decoding as byte-level BPE does it: bytes one after the other, and what is no character is replaced."""
    return lambda ids: b"".join(vocabulary[number] for number in ids).decode("utf-8", "replace")


def encoded(pieces: Sequence[str | bytes]) -> list[bytes]:
    return [piece if isinstance(piece, bytes) else piece.encode() for piece in pieces]


def run(pieces: Sequence[str | bytes], stops: Sequence[str]) -> tuple[str, int, bool]:
    """The text, the tokens taken, and whether a stop string ended it, where each piece is a token."""
    return fed(spelt(encoded(pieces)), range(len(pieces)), stops)


def fed(decode: Callable[[Sequence[int]], str], ids: Sequence[int], stops: Sequence[str]) -> tuple[str, int, bool]:
    reply = Reply(decode, stops)
    for count, number in enumerate(ids, 1):
        if reply.add(number):
            return reply.text(), count, True
    return reply.text(), len(ids), False


def test_stop_strings() -> None:
    replies: tuple[tuple[list[str | bytes], list[str], str | None, int | None], ...] = (
        (["\n\n", "more"], ["\n\n"], "", 1),  # at the very beginning
        (["a", "ST", "OP", "b"], ["STOP"], "a", 3),  # over two tokens
        (["a", "S", "T", "O", "P", "b"], ["STOP"], "a", 5),
        (["a", "xxSTOPyy", "b"], ["STOP"], "axx", 2),  # within one, with more behind it
        (["aS", "TOPyy", "b"], ["STOP"], "a", 2),
        (["a", "STO", "STOP"], ["STOP"], "aSTO", 3),  # almost, then really
        (["SSTO", "P"], ["STOP"], "S", 2),
        (["aba", "bac"], ["abac"], "ab", 2),  # a candidate that overlaps itself
        (["x", "aab", "aabaaa"], ["abaaba"], "xa", 3),
        (["one two three"], ["three", "two"], "one ", 1),  # several: the earliest wins
        (["abcd"], ["bcd", "ab", "c"], "", 1),
        (["ab", "cd"], ["abcd", "b"], "a", 1),  # and the one that is there before the other is complete
        (["a", "。".encode()[:1], "。".encode()[1:2], "。".encode()[2:], "b"], ["。"], "a", 4),
        (["a", b"x\xe3", b"\x80\x82yy"], ["。y"], "ax", 3),
        (["好", "答案", "。\n题"], ["。\n"], "好答案", 3),
        (["stop"], ["STOP"], None, None),  # near misses
        (["ST OP"], ["STOP"], None, None),
        (["STO"], ["STOP"], None, None),
        (["ＳＴＯＰ"], ["STOP"], None, None),
        (["\n", "a\n"], ["\n\n"], None, None),
        (["anything"], [""], None, None),  # an empty one stops nothing
        (["anything"], [], None, None),
    )
    for (pieces, stops, text, count), row in tabled(*replies):
        with row:
            whole = b"".join(encoded(pieces)).decode()
            assert run(pieces, stops) == ((whole, len(pieces), False) if text is None else (text, count, True))


@each_row(0, 1, 50, 1000)
def test_a_stop_string_far_into_the_reply(before: int) -> None:
    assert run([*["word "] * before, "EN", "D!"], ["END"]) == ("word " * before, before + 2, True)
    assert run([*["好"] * before, "EN", "D!"], ["END"]) == ("好" * before, before + 2, True)
    assert run([*[b"\xff"] * before, "EN", "D!"], ["END"]) == (BROKEN * before, before + 2, True)


def test_a_character_that_was_cut_in_two_is_held_back() -> None:
    replies: tuple[tuple[list[str | bytes], str, str], ...] = (
        (["ab", b"\xe5\xa5"], "ab", "ab" + BROKEN),
        ([b"ab\xe5"], "ab", "ab" + BROKEN),
        (["ab", "好"], "ab好", "ab好"),
        (["ab", b"\xf0", b"\x9f", b"\x98"], "ab", "ab" + BROKEN),
        (["ab", b"\xf0", b"\x9f", b"\x98", b"\x80"], "ab😀", "ab😀"),
        ([b"\xe5"], "", BROKEN),
        (["a" + BROKEN + "b"], "a" + BROKEN + "b", "a" + BROKEN + "b"),
        ([], "", ""),
    )
    for (pieces, cut_off, ended), row in tabled(*replies):
        with row:
            reply = Reply(spelt(encoded(pieces)))
            for number in range(len(pieces)):
                reply.add(number)
            assert reply.text(complete=False) == cut_off
            assert reply.text() == ended


@cache
def tokenizer(kind: str) -> Any:
    return make_tokenizer(kind)


@cache
def decoding(kind: str) -> Callable[[Sequence[int]], str]:
    return Tokens(tokenizer(kind)).decode


def plainly(decode: Callable[[Sequence[int]], str], ids: Sequence[int], stops: Sequence[str]) -> tuple[str, int, bool]:
    """The same, with everything decoded anew after every token."""
    text = ""
    for count in range(1, len(ids) + 1):
        text = decode(ids[:count])
        places = [text.find(stop) for stop in stops if stop and stop in text]
        if places:
            return text[: min(places)], count, True
    return text, len(ids), False


@pytest.mark.torch("transformers")
@settings(max_examples=len(TOKENIZERS) * settings.default.max_examples)
@given(kind=st.sampled_from(TOKENIZERS), data=st.data())
def test_it_stops_where_decoding_everything_would(kind: str, data: st.DataObject) -> None:
    decode = decoding(kind)
    start = data.draw(st.integers(0, len(TEXT) - 1))
    writing = data.draw(
        st.one_of(
            st.just(tokenizer(kind).encode(TEXT[start : start + 300], add_special_tokens=False)),
            st.lists(st.integers(0, len(tokenizer(kind)) - 1), max_size=120),  # mostly no UTF-8
            st.text(max_size=60).map(lambda text: tokenizer(kind).encode(text, add_special_tokens=False)),
        )
    )
    whole = decode(writing)
    place = data.draw(st.integers(0, max(len(whole) - 1, 0)))
    stops = [whole[place : place + data.draw(st.integers(1, 12))], data.draw(st.text(min_size=1, max_size=3))]
    stops = [stop for stop in stops if BROKEN not in stop]
    assert fed(decode, writing, stops) == plainly(decode, writing, stops)


@pytest.mark.torch("transformers")
@each_row(*itertools.product(TOKENIZERS, ("the queue gives back ", "好 ", "😀", "\n")))
def test_the_cost_of_looking_for_stop_strings_is_linear(kind: str, unit: Any) -> None:
    decode, decoded = decoding(kind), 0

    def counting(ids: Sequence[int]) -> str:
        nonlocal decoded
        decoded += len(ids)
        return decode(ids)

    ids = tokenizer(kind).encode(unit * 300, add_special_tokens=False)[:1000]
    fed(counting, ids, ["\nQuestion:", "<|end|>"])
    assert decoded < 150 * len(ids)  # 1,000 times as many if all were decoded every time


@pytest.mark.torch("transformers")
def test_bytes_that_spoil_what_was_spelt_before_them_are_held_back() -> None:
    """A run of byte tokens is no text at all while its last character is incomplete."""
    ids = tokenizer("sentencepiece").encode("A 魑魅魍魎", add_special_tokens=False)
    decode = decoding("sentencepiece")
    reply = Reply(decode)
    for number in ids[:-1]:
        reply.add(number)
    assert BROKEN in decode(ids[:-1])
    assert reply.text(complete=False) == " A 魑魅魍"
