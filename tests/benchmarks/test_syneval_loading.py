"""SynEval sets: where they are found, errors with file and line, and questions asked once but counted twice."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import counted, opened
from benchmarks.handmade_syneval import changed, exam, exemplars, one, rows, write
from rows import tabled
from viva.benchmarks.basics import fingerprint
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, MAX_LINE
from viva.errors import DataError

DEEP = b'{"id":' + b"[" * 200_000


def refusal(folder: Path, *test: Any, **settings: Any) -> str:
    with pytest.raises(DataError) as found:
        exam(write(folder, [*rows()[:2], *test]), **settings)
    return str(found.value)


def test_the_bundled_sample_is_a_set_of_every_knowledge_point_and_format() -> None:
    for shots in (0, 5):
        sample = opened("syneval", shots=shots)
        tags = [question.tags for question in sample.questions()]
        assert {tag["knowledge_point"] for tag in tags} == set(KNOWLEDGE_POINTS)
        assert {tag["format"] for tag in tags} == set(FORMATS)


def test_files_that_are_not_as_they_were_built_are_noted(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "build.json").write_text(
        json.dumps({"fingerprint": exam(folder).fingerprint, "more": 1}), encoding="utf-8"
    )
    assert exam(folder).fingerprint == fingerprint(
        [(folder / f"{name}.jsonl").read_bytes() for name in ("test", "exemplars")]
    )
    assert counted(exam(folder)) == {}
    write(folder, rows()[1:])
    assert counted(exam(folder)) == {("changed since it was built", "noted"): 1}
    (folder / "build.json").write_text("{}", encoding="utf-8")
    assert counted(exam(folder)) == {}
    (folder / "build.json").write_bytes(b"{")
    with pytest.raises(DataError, match=r"build\.json is damaged"):
        exam(folder)


# Rows that cannot be asked


def wrong_rows() -> list[tuple[Any, str]]:
    return [
        (one("MC", knowledge_point="XX"), r"knowledge_point.*known: GS, SC, DO, IO, MVP, ADJ, ADV, CO, PPA"),
        (one("MC", format="ESSAY"), r"known: TF, MC, FITB"),
        (one("MC", options=["a", "b", "c"]), "four options, and here are 3"),
        (one("MC", options=["a", "b", "c", "d", "e"]), "four options, and here are 5"),
        (one("MC", options=["a", "b", " ", "d"]), "four options, and here are 3"),
        (one("MC", options=...), "four options, and here are 0"),
        (one("MC", answer="E"), r"letter A to D, not 'E'"),
        (one("MC", answer="a"), r"letter A to D, not 'a'"),
        (one("MC", answer="AB"), r"letter A to D, not 'AB'"),
        (one("TF", answer="True"), r'"true" or "false", not \'True\''),
        (one("TF", answer="yes"), r'"true" or "false", not \'yes\''),
        (one("TF", answer=True), "Expected `str`, got `bool`"),
        (one("TF", options=["a", "b"]), "a TF question has no options, and here are 2"),
        (one("FITB", answer=" "), "answer is empty"),
        (one("FITB", sentence=""), "sentence is empty"),
        (one("FITB", sentence=...), "missing required field `sentence`"),
        (one("FITB", question="\t"), "question is empty"),
        (one("FITB", id=""), "id is empty"),
        (one("FITB", tree="one"), "Expected `int`"),
        ("[]", "Expected `object`, got `array`"),
        ("{", "truncated"),
        ("no JSON", "malformed"),
        (b'{"id": "\xff"}', "(?i)utf-8"),
        (DEEP[:500_000], "no question of SynEval"),
        (b'{"id": "' + b"x" * MAX_LINE + b'"}', "more than a question can have"),
    ]


def test_a_row_that_cannot_be_asked_is_refused_with_file_and_line(tmp_path: Path) -> None:
    for (_number, (wrong, why)), row in tabled(*enumerate(wrong_rows())):
        with row:
            said = refusal(tmp_path, wrong)
            assert said.startswith(f"{tmp_path / 'test.jsonl'}, line 3")
            assert re.search(why, said), said
            assert len(said) < 600
            assert said.isprintable()
    with pytest.raises(DataError, match=r"exemplars\.jsonl, line 2.*letter A to D"):
        exam(write(tmp_path, shown=[exemplars()[0], one("MC", answer="?")]), shots=1)
    with pytest.raises(DataError, match="takes the folder of a set"):
        exam(tmp_path / "test.jsonl")


def test_blank_lines_a_byte_order_mark_windows_line_ends_and_keys_of_later_versions_do_no_harm(tmp_path: Path) -> None:
    plain = list(exam(write(tmp_path)).questions())
    content = (write(tmp_path, [changed(row, added_later=1) for row in rows()]) / "test.jsonl").read_bytes()
    (tmp_path / "test.jsonl").write_bytes(b"\xef\xbb\xbf\r\n" + content.replace(b"\n", b"\r\n"))
    assert list(exam(tmp_path).questions()) == plain


# One question, several strata


def test_a_question_of_two_strata_is_asked_once_and_counts_twice(tmp_path: Path) -> None:
    drawn_again = changed(rows()[0], stratum="another")
    sat = exam(write(tmp_path, [*rows(), drawn_again]))
    questions = list(sat.questions())
    assert len(sat) == len(questions) == len({question.id for question in questions}) == 68
    assert [question.weight for question in questions] == [2] + 67 * [1]


def test_an_id_is_one_question(tmp_path: Path) -> None:
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, "there twice in stratum 'TF', first in line 1"),
        ({"stratum": "s", "answer": "false"}, r"another question in line 1 \(answer differs\)"),
        ({"stratum": "s", "sentence": "Rain fell."}, r"another question in line 1 \(sentence differs\)"),
        ({"stratum": "s", "tags": []}, r"another question in line 1 \(tags differs\)"),
    ]
    for (over, why), row in tabled(*changes):
        with row:
            said = refusal(tmp_path, changed(rows()[0], **over))
            assert re.search(rf"line 3: id 'handmade-0-GS-TF-0' is .*{why}|line 3: id .* is {why}", said), said
    alone = changed(one("TF", stratum=...), id="x")
    assert "twice in no stratum" in refusal(tmp_path, alone, alone)


def test_an_exemplar_of_two_strata_is_one_exemplar(tmp_path: Path) -> None:
    again = [changed(row, stratum="another") for row in exemplars()]
    folder = write(tmp_path, shown=[*exemplars(), *again, *exemplars()])
    plain = write(tmp_path / "plain")
    for one_exam in (exam(folder, shots=5), exam(plain, shots=5)):
        assert counted(one_exam) == counted(exam(plain, shots=5))
    with pytest.raises(DataError, match=r"exemplars\.jsonl, line \d+: id .* is another question"):
        exam(write(tmp_path, shown=[*exemplars(), changed(exemplars()[0], answer="false", stratum="s")]), shots=1)


# What should be known


def test_options_that_read_alike_are_noted(tmp_path: Path) -> None:
    alike = one("MC", id="x", options=["a lamp", "The gardener", "the  gardener", "a dog"], answer="B")
    assert counted(exam(write(tmp_path, [*rows(), alike]))) == {("equal options", "noted"): 1}


def test_missing_formats_are_noted_since_oa_is_over_all_three(tmp_path: Path) -> None:
    sat = exam(write(tmp_path, [row for row in rows() if row["format"] != "MC" or row["knowledge_point"] != "IO"]))
    assert [(defect.question, defect.detail[:14]) for defect in sat.defects] == [("IO", "no MC question")]
    subjects = exam(write(tmp_path, [row for row in rows() if row["knowledge_point"] == "GS"]))
    assert [(defect.question, defect.detail[:19]) for defect in subjects.defects] == [("MVP", "no MC and no FITB q")]
    assert ("missing format", "noted") in counted(exam(tmp_path, limit=2))


def test_too_few_exemplars_and_exemplars_that_are_asked_are_noted(tmp_path: Path) -> None:
    folder = write(tmp_path, shown=[*exemplars(), rows()[0]])
    found = {defect.question: defect.detail for defect in exam(folder, shots=3).defects if "few" in defect.kind}
    assert found["SC FITB"] == "1 of 3 for some or all of its questions"
    assert "GS FITB" not in found
    assert counted(exam(folder, shots=3))["exemplar is asked", "noted"] == 1
    assert counted(exam(folder)) == {}, "nothing is shown"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_set_or_a_sentence_about_them(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test.jsonl").write_bytes(content)
        with pytest.raises(DataError, match=r"test\.jsonl"):
            exam(Path(folder))
