"""Calls of a program's functions: the form of values, equality, and conversations with arbitrary responders."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table, tabled, tables_beside
from sandbox.conftest import Run, request, run_all
from viva.engine.evidence import program_key
from viva.sandbox.calls import MAX_LINE, CallConversation
from viva.sandbox.plainvalues import MAX_DEPTH, Malformed, form, matches, read_json, read_words, words
from viva.types import Call

TABLES = tables_beside(__file__)

NAN, INF = {"$float": "nan"}, {"$float": "inf"}
PAIRS = [
    (2117, 2117.0, True),
    (1, True, False),
    (0, False, False),
    (0, None, False),
    ("", None, False),
    ("a", "a", True),
    ("1", 1, False),
    (10**400, 10**400, True),
    (10**400, 1.0, False),
    (0.1, 0.1 + 1e-12, False),
    (NAN, NAN, True),
    (INF, INF, True),
    (INF, {"$float": "-inf"}, False),
    ([1, 2], [2, 1], False),
    ([1, 2], {"$tuple": [1, 2]}, True),
    ({"$tuple": [1, 2]}, [1, 2], False),
    ({"$tuple": [1, 2]}, {"$tuple": [1.0, 2]}, True),
    ([[1, 2]], {"$array": [[1.0, 2.0]]}, True),
    ({"$set": [1, [2]]}, {"$set": [{"$tuple": [2]}, 1.0, 1]}, True),
    ({"$set": [1]}, [1], False),
    ({"$set": [1]}, {"$set": [True]}, False),
    ({"$set": [NAN]}, {"$set": [NAN]}, True),
    ({"a": 1}, {"$map": [["a", 1]]}, True),
    ({"$map": [[1, "x"]]}, {"$map": [[1.0, "x"]]}, True),
    ({"$map": [[1, "x"]]}, {"1": "x"}, False),
    ({"$$a": 1}, {"$map": [["$a", 1]]}, True),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    ({"$bytes": "eA=="}, {"$bytes": "eA=="}, True),
    ({"$bytes": "eA=="}, "x", False),
    ([], {}, False),
]
DEEP = MAX_DEPTH + 2
WRONG = [b"", b"{", b"NaN", b"[Infinity]", b"\xff", b"1" * 5000, b"[" * 100_000, b"[" * DEEP + b"]" * DEEP,
         b"[" + b"[]," * 1_000_000 + b"1]"]  # fmt: skip
UNWORDED = [*b" i z s6 sx r1x m1_s61 l2_i1 i1_i1".replace(b"_", b"\t").split(b" "), b"i" + b"1" * 5000,
            b"l1 " * DEEP + b"n", b"l1000001" + b" l0" * 1_000_001]  # fmt: skip
UNTAGGED = [
    {"$bytes": "é"}, {"$bytes": 1}, {"$bytes": "x"}, {"$float": "1"}, {"$float": []}, {"$tuple": 1}, {"$set": {}},
    {"$map": [1]}, {"$map": [[1, 2, 3]]}, {"$ref": 1}, {"$tuple": [], "a": 1}, [{"$x": 1}], {"a": {"$x": 1}},
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab$é"),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text("ab"), inner) | st.lists(inner).map(lambda one: {"$tuple": one})
    ),
    max_leaves=20,
)


def test_values_are_equal_by_value() -> None:
    for (expected, found, equal), row in tabled(*PAIRS):
        with row:
            assert matches(form(expected), form(found)) is equal
    assert matches(form(0.1), form(0.1 + 1e-12), 1e-9)
    assert not matches(form(10**400), form(0.5), 1e-9)


def test_what_is_no_value_is_malformed() -> None:
    with table() as row:
        for reads, unread in ((read_json, WRONG), (read_words, UNWORDED), (form, UNTAGGED)):
            for each in unread:
                with row(str(each)[:20]), pytest.raises(Malformed):
                    reads(each)


@given(VALUES)
def test_a_value_equals_itself_and_nothing_longer(value: Any) -> None:
    for again in (read_json(json.dumps(value).encode()), read_words(words(value).encode())):
        assert matches(form(value), form(again))
        assert not matches(form([value]), form([again, again]))


def talked(calls: tuple[Call, ...], *said: bytes) -> CallConversation:
    conversation = CallConversation(calls)
    for chunk in said:
        conversation.heard(chunk)
    return conversation


TWO = (Call(call="f", args=(1,), returns=2), Call(call="f", args=(2,), raises="ValueError"))
ONE = b'{"id": 1, "returns": 2}\n'
RAISED = b'{"id": 2, "raises": {"type": "ValueError", "message": "x"}}\n'
BAD = [
    (b"run\n" + ONE,),
    (ONE,),
    (b"run\n", b'{"id": 1, "returns": 3}\n'),
    (b"run\n", b'{"id": 2, "returns": 2}\n'),
    (b"run\n", b'{"id": true, "returns": 2}\n'),
    (b"run\n", b'{"id": 1, "returns": 2, "x": 1}\n'),
    (b"run\n", b'{"id": 1}\n'),
    (b"run\n", b"[1]\n"),
    (b"run\n", b"\n"),
    (b"run\n", ONE + ONE),
    (b"run\n", ONE + b"["),
    (b"run\n", ONE, b'{"id": 2, "returns": 2}\n'),
    (b"run\n", ONE, b'{"id": 2, "raises": {"type": "KeyError"}}\n'),
    (b"run\n", ONE, b'{"id": 2, "raises": {"type": 1}}\n'),
    (b"run\n", ONE, b'{"id": 2, "raises": "ValueError"}\n'),
    (b"run\n", ONE, b'{"id": 2, "missing": "f"}\n'),
    (b"run\n", ONE, b'{"id": 2, "unknown": "f"}\n'),
    (b"run\n", ONE, RAISED, b"\n"),
    (b"run\n", b"x" * (MAX_LINE + 1)),
    (b"run\n", b"[" * 500_000 + b"\n"),
]


def test_only_the_right_replies_in_their_turn_prove_anything() -> None:
    right = talked(TWO, b"ru", b"n\n", ONE[:5], ONE[5:], RAISED)
    assert right.proved
    assert right.finished
    assert b"ValueError" not in right.to_send
    assert [json.loads(line)["args"] for line in right.to_send.splitlines()[1:]] == [[1], [2]]
    for said, row in tabled(*BAD):
        with row:
            conversation = talked(TWO, *said)
            assert not conversation.proved
            assert conversation.failure
            assert conversation.finished
            conversation.heard(b"run\n" + ONE + RAISED)
            assert not conversation.proved
    assert not talked(TWO, b"run\n", ONE).proved


@given(st.lists(st.sampled_from([b"run\n", ONE, RAISED, b"\n", b"{", b'"', b"x"]) | st.binary(max_size=30), max_size=6))
def test_a_conversation_takes_any_bytes(chunks: list[bytes]) -> None:
    conversation = talked(TWO, *chunks)
    assert not conversation.proved or b"".join(chunks).startswith(b"run\n" + ONE + RAISED)


PROGRAM = """
import asyncio, numpy
def solve(n):
    if n < 0: raise ValueError("negative")
    return 2117
async def later(n):
    await asyncio.sleep(0.01)
    return n, {n}
class Shop:
    stock = []
    @staticmethod
    def add(thing): Shop.stock.append(thing); return Shop.stock
def grid(): return numpy.eye(2)
def itself(): return itself
"""
RIGHT = (
    Call(call="solve", args=(3,), returns=2117),
    Call(call="solve", args=(-1,), raises="ValueError"),
    Call(call="solve", args=(-1,), raises="Exception"),
    Call(call="later", args=(3,), returns={"$tuple": [3, {"$set": [3]}]}),
    Call(call="Shop.add", args=("a",), returns=["a"]),
    Call(call="Shop.add", args=("b",), returns=["a", "b"]),
    Call(call="grid", returns=[[1, 0], [0, 1]]),
    Call(call="itself"),
)
FALSE = (
    Call(call="solve", args=(3,), returns=2118),
    Call(call="solve", args=(3,), raises=True),
    Call(call="solve", args=(-1,), raises="KeyError"),
    Call(call="nothing"),
    Call(call="itself", returns=1),
)


@pytest.mark.sandbox
def test_a_python_program_is_called_and_viva_compares(run: Run) -> None:
    requests = [request("python", PROGRAM, calls=RIGHT)]
    requests += [request("python", PROGRAM, calls=(call,)) for call in FALSE]
    requests += [request("python", program, calls=(RIGHT[0],)) for program in TABLES["forgeries"]]
    right, *wrong = run(*requests)
    assert (right.verdict, right.isolation) == ("passed", "separate"), right.detail
    assert {(one.verdict, one.isolation) for one in wrong} == {("failed", "separate")}, wrong
    assert max(one.cpu for one in wrong) < 8, "it is ended soon after it has failed"
    (host,) = run_all(requests[0], unsafe_host_execution=True)
    assert host.verdict == "passed", host.detail


def test_a_program_with_other_calls_is_another_program() -> None:
    plain, *others = (
        request("python", PROGRAM, calls=calls) for calls in ((), TWO, TWO[:1], (Call(call="f", args=(10**30,)),))
    )
    assert len({program_key(one) for one in (plain, *others)}) == 4
    assert pickle.loads(pickle.dumps(others)) == others
