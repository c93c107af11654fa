"""A shard of an exam asks its questions as the whole exam does, and all shards together ask every question once."""

from functools import cache

import pytest

from rows import each_row, tables_beside
from viva.benchmarks import open_exam
from viva.benchmarks.wrapper import MOST, Shard, read_shard, unsharded
from viva.contracts import Exam
from viva.engine.journal import Keys
from viva.errors import VivaError
from viva.types import ExamSpec, Sampling

EXAMS: dict[str, dict[str, object]] = {
    "cmmlu": {"benchmark": "cmmlu", "language": "zh", "shots": 3, "limit": 40},
    "csbench": {"benchmark": "csbench", "shots": 2, "chain_of_thought": True},
    "explained": {"benchmark": "csbench", "rationale": True},
    "chosen": {"benchmark": "csbench", "choose": "likelihood"},
    "infibench": {"benchmark": "infibench", "limit": 6},
}


@cache
def opened(name: str, shard: str = "") -> Exam:
    return open_exam(ExamSpec(**EXAMS[name], shard=shard), None, None)  # type: ignore[arg-type]


def keys(exam: Exam) -> list[bytes]:
    """Of the requests, as they are journaled."""
    made = Keys({"provider": "test"}, exam.spec.benchmark)
    return [made.of(exam.request(question, 1, Sampling())) for question in exam.questions()]


@each_row(*((name, 3) for name in EXAMS), ("cmmlu", 1), ("cmmlu", 7), ("cmmlu", 40))
def test_shards_are_dealt_in_turn_and_asked_as_in_the_whole_exam(name: str, of: int) -> None:
    whole = opened(name)
    asked = [question.id for question in whole.questions()]
    for number in range(1, of + 1):
        exam = opened(name, f"{number}/{of}")
        dealt = [question.id for question in exam.questions()]
        assert (dealt, len(exam)) == (asked[number - 1 :: of], len(dealt))
        assert keys(exam) == keys(whole)[number - 1 :: of]
        assert (exam.fingerprint, exam.templates) == (whole.fingerprint, whole.templates)
        assert (exam.layouts(), exam.headline()) == (whole.layouts(), whole.headline())
        assert (unsharded(exam).spec.shard, len(unsharded(exam))) == (exam.spec.shard, len(whole))


@each_row(*tables_beside(__file__)["no_shards"])
def test_what_is_no_shard_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(VivaError, match="I/N"):
        read_shard(text)
    assert (read_shard("2/3"), str(read_shard(f"1/{MOST}"))) == (Shard(of=3, number=2), f"1/{MOST}")


def test_more_shards_than_questions_are_refused_in_every_shard_alike() -> None:
    for shard in ("1/41", "41/41"):
        with pytest.raises(VivaError, match="has 40 questions"):
            opened("cmmlu", shard)
    assert len(opened("cmmlu", "40/40")) == 1
