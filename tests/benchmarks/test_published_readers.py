"""The authors' readers of CMMLU and CS-Bench under --as-published: rule by rule, and on real replies."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from rows import each_row
from viva.benchmarks.cmmlu.cmmlu import MISSING, published_letter
from viva.benchmarks.csbench.csbench import blank_mark, first_letter, open_points
from within import within


def test_every_text_that_pandas_takes_for_missing_is_taken_so() -> None:
    from pandas._libs.parsers import STR_NA_VALUES

    assert MISSING == STR_NA_VALUES
    assert {published_letter(reply) for reply in MISSING} == {None}
    for reply, letter in (
        ("NAN", ("A", 4)),
        ("nan.", None),
        ("NA ", ("A", 4)),
        ("N/A\n", None),
        ("None of A", ("A", 4)),
    ):
        assert published_letter(reply) == letter, reply


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


READ = {
    12_000: (
        "-:56 A1:18 A2:1 A4:6 B1:3 B2:1 B4:9 C1:16 C2:1 C4:16 D1:7 D2:2 D4:8",
        "-:28 A:46 B:18 C:35 D:17",
    ),
    20: (
        "-:12563 A0:23 A1:239 A2:70 A3:10 A4:2327 B0:7 B1:179 B2:36 B3:14 B4:1531 "
        "C0:10 C1:207 C2:43 C3:9 C4:1841 D0:12 D1:195 D2:82 D3:3 D4:1623",
        "-:5574 A:9646 B:1706 C:2098 D:2000",
    ),
}
"""Every so many replies → how often each letter was read and by which stage; as a second reading of the authors'
specifications, with no code shared, had it of each reply."""


def counted(readings: Iterable[tuple[str, int] | str | None]) -> str:
    return " ".join(sorted(f"{''.join(map(str, one or '-'))}:{n}" for one, n in Counter(readings).items()))


@pytest.mark.parametrize("nth", [12_000, pytest.param(20, marks=pytest.mark.slow)])
def test_what_models_really_wrote_is_read_as_the_specifications_say(published: Path, nth: int) -> None:
    ours = [reply for reply in replies(published, nth) if "\r" not in reply]
    assert (counted(map(published_letter, ours)), counted(map(first_letter, ours))) == READ[nth]


@each_row(
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
)
def test_each_stage_of_cmmlus_reader(reply: str, found: tuple[str, int] | None) -> None:
    assert published_letter(reply) == found


@each_row("答案为", "A", "A正", "选", "是", "答案", "B ", "答案选项", "1", "故", "C选项是")
def test_long_replies_take_no_more_than_their_length(piece: str) -> None:
    for end in ("", "X", "\n当选"):
        reply = "z" + piece * 30_000 + end
        with within(5):
            for read in (published_letter, first_letter, open_points, blank_mark):
                read(reply)
