"""The parts: the filter, the conversation, the clock, the table."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.sandbox.cgroups import Clock, Footprint
from viva.sandbox.isolation import syscall_filter
from viva.sandbox.launch import script, wall_seconds
from viva.sandbox.proof import Conversation

ALLOW, KILL = 0x7FFF0000, 0x80000000


def judged(rules: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the filter answers: a small machine for the few instructions that it is made of."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("=HBBI", rules, at * 8)
        at += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            true = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if true else if_false


CALLS = [
    ("x86_64", 0xC000003E, 0, (), True),  # read
    ("x86_64", 0xC000003E, 59, (), True),  # execve
    ("x86_64", 0xC000003E, 101, (), False),  # ptrace
    ("x86_64", 0xC000003E, 64, (), False),  # semget
    ("x86_64", 0xC000003E, 206, (), False),  # io_setup
    ("x86_64", 0xC000003E, 319, (), False),  # memfd_create
    ("x86_64", 0xC000003E, 9999, (), False),  # not made yet
    ("x86_64", 0xC000003E, 272, (), False),  # unshare
    ("x86_64", 0xC000003E, 435, (), False),  # clone3
    ("x86_64", 0xC000003E, 56, (0x01200011,), True),  # clone, as fork
    ("x86_64", 0xC000003E, 56, (0x10000011,), False),  # clone, new user namespace
    ("x86_64", 0xC000003E, 41, (1,), True),  # socket, Unix
    ("x86_64", 0xC000003E, 41, (2,), True),
    ("x86_64", 0xC000003E, 41, (10,), True),
    ("x86_64", 0xC000003E, 41, (16,), False),  # netlink
    ("x86_64", 0xC000003E, 41, (38,), False),  # the kernel's cryptography
    ("x86_64", 0xC000003E, 16, (0, 0x5401), True),  # ioctl TCGETS
    ("x86_64", 0xC000003E, 16, (0, 0x5412), False),  # TIOCSTI
    ("x86_64", 0xC000003E, 0x40000000, (), False),  # the x32 table
    ("x86_64", 0x40000003, 0, (), False),  # 32-bit calls
    ("aarch64", 0xC00000B7, 63, (), True),
    ("aarch64", 0xC00000B7, 117, (), False),
    ("aarch64", 0xC00000B7, 220, (0x10000011,), False),
    ("aarch64", 0xC00000B7, 198, (16,), False),
    ("aarch64", 0xC00000B7, 198, (2,), True),
]


@each_row(*CALLS)
def test_the_filter_refuses_what_the_table_says(
    machine: str, arch: int, number: int, arguments: tuple[int, ...], allowed: bool
) -> None:
    assert (judged(syscall_filter("python", machine), arch, number, *arguments) == ALLOW) is allowed


@given(number=st.integers(0, 1000), family=st.integers(0, 100))
def test_the_filter_ends_for_every_call(number: int, family: int) -> None:
    assert judged(syscall_filter("python", "x86_64"), 0xC000003E, number, family) in {ALLOW} | {
        0x00050000 | n for n in range(200)
    }


def test_an_unknown_processor_has_no_filter() -> None:
    assert syscall_filter("python", "vax") == b""


def said(conversation: Conversation) -> bytes:
    sent, conversation.to_send = conversation.to_send, b""
    return sent


def test_the_secret_is_given_for_the_key_and_proves_when_it_comes_back() -> None:
    conversation = Conversation(proved=True, program=b"one", test=b"three")
    assert said(conversation) == b"go\n"
    conversation.heard(b"run\n")
    header, _, sources = said(conversation).partition(b"\n")
    key = header.split()[0]
    assert header.split()[1:] == [b"3", b"5"]
    assert sources == b"onethree"
    conversation.heard(key + b"\n")
    secret = said(conversation)
    assert secret not in {b"", key + b"\n"}
    assert not conversation.proved
    conversation.heard(secret)
    assert conversation.proved
    conversation.heard(b"x")
    assert not conversation.proved


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_who_does_not_know_the_key_gets_no_secret(words: list[bytes]) -> None:
    conversation = Conversation(proved=True)
    conversation.heard(b"run\n")
    said(conversation)
    for word in words:
        conversation.heard(word)
    assert not conversation.proved
    assert said(conversation) == b""


def test_one_wrong_word_is_the_last() -> None:
    conversation = Conversation(proved=True)
    conversation.heard(b"run\n")
    key = said(conversation)[3:].split()[0]
    conversation.heard(b"?")
    conversation.heard(key + b"\n")
    assert said(conversation) == b""
    assert not conversation.proved


def test_as_published_nothing_is_asked_or_told() -> None:
    conversation = Conversation(proved=False)
    said(conversation)
    conversation.heard(b"run\n")
    assert conversation.compiled
    assert said(conversation) == b""


def footprint(cpu: float, **waited: float) -> Footprint:
    tasks = {int(name[1:]): seconds for name, seconds in waited.items()}
    return Footprint(tasks=1, memory=0, cpu=cpu, waited=tasks, runnable=False, processes=(1,))


def test_waiting_for_a_busy_processor_costs_nothing_and_sleeping_does() -> None:
    clock = Clock()
    assert clock.own(1.0, footprint(0.5, t1=0.5)) == pytest.approx(0.5)
    assert clock.own(2.0, footprint(0.6, t1=1.4)) == pytest.approx(0.6)
    assert clock.own(5.0, footprint(0.6, t1=1.4)) == pytest.approx(3.6)


def test_of_tasks_that_wait_together_the_longest_counts_once() -> None:
    clock = Clock()
    assert clock.own(2.0, footprint(0.0, t1=1.0, t2=1.0)) == pytest.approx(1.0)
    assert clock.own(4.0, footprint(9.0, t1=2.0, t2=1.5)) == pytest.approx(9.0)


def test_by_the_clock_a_program_gets_three_times_its_limit_or_ten_seconds_more() -> None:
    assert wall_seconds(1) == 11
    assert wall_seconds(10) == 30


def test_the_script_quotes_what_it_is_given() -> None:
    text = script(["cc", "a; rm -rf b"], ["./main"], proved=False)
    assert "'a; rm -rf b'" in text
    assert text.endswith("exec ./main 3<&- 4>&-")
