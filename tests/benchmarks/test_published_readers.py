"""The authors' readers of CMMLU and CS-Bench under --as-published, against a second reading of their specifications."""

import gzip
import itertools
import json
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.handmade import opened
from benchmarks.published_readers import (
    cmmlu_letter,
    cmmlu_scores,
    cmmlu_stored,
    csbench_blank,
    csbench_letter,
    csbench_points,
)
from rows import each_row
from viva.benchmarks.cmmlu import cmmlu as cmmlu_published
from viva.benchmarks.csbench.csbench import blank_mark, first_letter, open_points
from viva.types import Response
from within import within

PIECES = [
    *"ABCDEFabcdeＡ是为选择项答案故正确应该符合题意当不而，。：: \n\r\t()（）*_.1éß",
    *("答案", "选项", "正确", "当选", "符合题意", "答案是", "答案为", "答案选项为", "选择答案", "正确的选项是", "应该"),
    *("故选", "不是", "is", "The answer is", "not A but", "\\boxed{", "désolé", "\u2028"),
]
REPLIES = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
VERDICTS = st.lists(st.sampled_from([*"0123456789./:- \n_é分", "VERDICT: ", "10", "11", "8/10", "a"]), max_size=10).map(
    "".join
)


def read(reply: str) -> str | None:
    found = cmmlu_published.published_letter(reply)
    return found[0] if found else None


MISSING = [
    *sorted(cmmlu_published.MISSING),
    "NAN",
    "nan.",
    " NA",
    "NA ",
    "N/A\n",
    "\nNone",
    "inf",
    "1e5",
    "True",
    '"NA"',
    "None of A",
]


@given(
    st.lists(st.tuples(REPLIES | st.sampled_from(MISSING), st.sampled_from("ABCD")), min_size=1, max_size=8),
)
def test_cmmlus_scores_are_those_of_the_authors_pipeline_files_included(answers: list[tuple[str, str]]) -> None:
    replies = [reply.replace("\r", "") for reply, _ in answers]
    exam = opened("cmmlu", as_published=True)
    question = next(iter(exam.questions()))
    scores = [
        exam.score(replace(question, answer=gold), Response(text=reply)).value
        for reply, (_, gold) in zip(replies, answers, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        assert scores == cmmlu_scores(replies, [gold for _, gold in answers], Path(folder) / "arts.csv")


def test_every_text_that_pandas_takes_for_missing_is_read_as_by_the_pipeline() -> None:
    from pandas._libs.parsers import STR_NA_VALUES

    assert [read(reply) for reply in MISSING] == [cmmlu_letter(reply) for reply in cmmlu_stored(MISSING)]
    assert cmmlu_published.MISSING == STR_NA_VALUES


def test_a_carriage_return_splits_a_row_of_the_pipelines_file_and_is_a_character_here() -> None:
    assert len(cmmlu_stored(["答案是\rB", "C"])) == 3
    assert read("答案是\rB") == "B"


@given(REPLIES)
def test_letters_are_read_as_the_specification_says(reply: str) -> None:
    assert first_letter(reply) == csbench_letter(reply)


@given(VERDICTS)
def test_verdicts_are_read_as_the_specification_says(verdict: str) -> None:
    assert open_points(verdict) == csbench_points(verdict)
    assert blank_mark(verdict) == csbench_blank(verdict)


def replies(data: Path, every: int) -> Iterator[str]:
    """What models really wrote: each reply whole, and cut in the middle."""
    for path, key in [(data / "gaokao" / "replies_gpt-4-0314.jsonl.gz", max(1, every // 500))] + [
        (path, every) for path in sorted((data / "mmlupro" / "replies").glob("*.jsonl.gz"))
    ]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in islice(lines, 0, None, key):
                reply = json.loads(line)["reply"] or ""
                yield reply
                yield reply[len(reply) // 2 :]


def agree(data: Path, every: int) -> int:
    seen = 0
    for reply in replies(data, every):
        seen += 1
        assert "\r" in reply or read(reply) == cmmlu_letter(*cmmlu_stored([reply])), reply
        assert first_letter(reply) == csbench_letter(reply), reply
    return seen


@pytest.mark.slow
def test_what_models_really_wrote_is_read_as_the_specifications_say(published: Path) -> None:
    assert agree(published, 20) > 10_000


def test_some_of_what_models_really_wrote_is_read_as_the_specifications_say(published: Path) -> None:
    assert agree(published, 12_000) > 100


STAGES = [
    ("D", ("D", 0)),
    ("Because…", ("B", 0)),
    (" D", ("D", 4)),
    ("答案选项是： C，不是A", ("C", 1)),
    ("答案是选项B，而A错", ("B", 1)),
    ("因此选择：B，不选A", ("B", 1)),
    ("所以A 选项正确，B错误", ("A", 1)),
    ("正确选项为 C，A和B错误", ("C", 1)),
    ("答案应该是D，而A不对", ("D", 1)),
    ("答案应该是：D，而A不对", ("D", 3)),
    ("选项 B 正确，A错误", ("B", 1)),
    ("我选择答案 C而非A", ("C", 1)),
    ("答：C，而A错", ("C", 1)),
    ("答案： C，而A错", None),  # no blank in the ninth phrase
    ("只有B项符合题意，A不符合", ("B", 1)),
    ("答案选项： D，A错", ("D", 1)),
    ("答案为第一个，即C，而A错", ("C", 1)),
    ("答案为\nC，而A错", ("C", 1)),
    ("正确的选项是\nC，而不是 A", ("C", 1)),
    ("答案为：\n\nD. 10～30°C", ("D", 1)),
    ("若A错，故B当选", ("B", 2)),
    ("即A、B、C都正确", ("C", 2)),
    ("有A\n正确的有B和C", ("A", 2)),
    ("这是A，那是B", ("A", 3)),
    ("这不是A，那是B", ("B", 3)),
    ("是A，B不对", None),  # nothing before 是
    ("\n\n也许\nC\n", ("C", 4)),
    ("\nB or C", ("B", 0)),
    ("NA", None),
    ("Ｄ", None),
    ("b", None),
    ("", None),
]


@each_row(*STAGES)
def test_each_stage_of_cmmlus_reader(reply: str, found: tuple[str, int] | None) -> None:
    assert cmmlu_published.published_letter(reply) == found


@each_row(
    *itertools.product(
        ("答案为", "A", "A正", "选", "是", "答案", "B ", "答案选项", "1", "故", "C选项是"), ("", "X", "\n当选")
    )
)
def test_long_replies_take_no_more_than_their_length(piece: str, end: Any) -> None:
    with within(5):
        reply = "z" + piece * 30_000 + end
        cmmlu_published.published_letter(reply)
        first_letter(reply)
        open_points(reply)
        blank_mark(reply)
