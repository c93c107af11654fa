"""Valid question files: what is read from YAML and JSON, and what is never read."""

import json
import os
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.benchmarks.custom.questionloading import read_questions, sound_questions
from viva.benchmarks.custom.questionmodel import Example, QuestionFile
from viva.errors import DataError
from viva.sandbox.languagetables import languages
from viva.scorers.rubric import patterns
from viva.scorers.rubric.code import languages_of_tests
from viva.scorers.rubric.rubrics import (
    Accepted,
    AllOf,
    AnyOf,
    Blank,
    Blanks,
    ChoicePart,
    JudgePart,
    Keyword,
    Literally,
    NotRule,
    Pattern,
    Rubric,
    Similarity,
    Test,
    TruthPart,
    UnitTests,
    When,
)
from within import within

EVERYTHING = r"""
title: Questions of the billing team
system: You are a helpful assistant.
questions:
  - id: everything.1_a-B
    question: |
      What is asked?
      one, two or three
    tags: {area: back-end, level: 1.0, open: yes}
    grading:
      keywords:
        - zebra
        - 1.0
        - text: vercel.json
          ignore_case: true
          weight: 2
        - regex: 'consumer[2-6]\s'
        - any: [text one, {regex: two}, {all: [three, {not: four}]}]
        - text: delete
          negative: true
          when: item 1 matched and not previous matched
      blanks:
        template: "a = ___; b = ___;"
        marker: ___
        strip: " "
        answers:
          - foo
          - any: [x, {text: y}, {regex: 'z+'}]
            ignore_case: true
            substring: true
            weight: 0.5
      tests:
        language: C++
        files: {data.csv: "a,b\n1,2\n", empty.txt: , copy.txt: {file: parts/copy.txt}}
        cases:
          - int main() { return 0; }
          - code: int main() {}
            before: "#include <set>"
            seconds: 30
            weight: 3
            longest_block: true
          - file: parts/main.cpp
      similarity:
        - {metric: rouge1, references: [one text, another]}
        - {metric: rougeL, references: [one text], low: 0.2, high: 0.5, weight: 1}
      choice: {options: [one, two, three], answer: B, weight: 1}
      truth: {answer: true}
      judge: {reference: So it is., instructions: Be kind., weight: 4}
      max: 2
      min: 0.5
    examples:
      - {answer: "x", score: full}
      - {answer: "", score: 1/4}
      - {answer: "x", score: below 1}
      - {answer: "x", score: Above  0}
      - {answer: "x", score: 0.5}
"""
RUBRIC = Rubric(
    keywords=(
        Keyword(rule=Literally("zebra")), Keyword(rule=Literally("1.0")),
        Keyword(rule=Literally("vercel.json"), ignore_case=True, weight=2.0),
        Keyword(rule=Pattern(r"consumer[2-6]\s")),
        Keyword(rule=AnyOf((
            Literally("text one"), Pattern("two"), AllOf((Literally("three"), NotRule(Literally("four")))),
        ))),
        Keyword(rule=When(Literally("delete"), "item 1 matched and not previous matched"), negative=True),
    ),
    blanks=Blanks(template="a = ___; b = ___;", marker="___", strip=" ", targets=(
        Blank(accepted=(Accepted("foo"),)),
        Blank(
            accepted=(Accepted("x"), Accepted("y"), Accepted("z+", regex=True)), ignore_case=True, substring=True,
            weight=0.5,
        ),
    )),
    tests=UnitTests(
        language="cpp", files=(("data.csv", "a,b\n1,2\n"), ("empty.txt", ""), ("copy.txt", "copied\n")),
        tests=(
            Test(code="int main() { return 0; }"),
            Test(code="int main() {}", before="#include <set>", seconds=30.0, weight=3.0, longest_only=True),
            Test(code="int main() { return 1; }\n"),
        ),
    ),
    similarity=(
        Similarity(metric="rouge1", references=("one text", "another"), low=0.3, high=0.53),
        Similarity(metric="rougeL", references=("one text",), low=0.2, high=0.5),
    ),
    choice=ChoicePart(options=("one", "two", "three"), answer="B"),
    truth=TruthPart(answer=True),
    judge=JudgePart(reference="So it is.", instructions="Be kind.", weight=4.0),
    max_score=2.0, min_score=0.5,
)  # fmt: skip


def read(text: str, folder: Path, name: str = "questions.yaml") -> QuestionFile:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return read_questions(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "questions"
    (inside / "parts").mkdir(parents=True)
    (inside / "parts" / "copy.txt").write_bytes(b"copied\r\n")
    (inside / "parts" / "main.cpp").write_bytes(b"\xef\xbb\xbfint main() { return 1; }\n")
    (tmp_path / "secret.txt").write_text("secret")
    return inside


def test_everything_that_can_be_written_is_read(folder: Path) -> None:
    found = read(EVERYTHING, folder)
    assert not found.errors
    assert (found.title, found.system) == ("Questions of the billing team", "You are a helpful assistant.")
    (question,) = found.questions
    assert question.rubric == RUBRIC
    assert question.text == "What is asked?\none, two or three"
    assert question.tags == {"area": "back-end", "level": "1.0", "open": "yes"}
    wanted = ["full", 0.25, "below 1", "above 0", 0.5]
    assert [example.wanted for example in question.examples] == wanted
    assert (question.line, question.examples[1]) == (5, Example("", 0.25, 53))
    assert [path.name for path in found.files] == ["copy.txt", "main.cpp"]


def test_the_same_as_json_and_with_other_line_ends_reads_the_same(folder: Path) -> None:
    data = yaml.safe_load(EVERYTHING)
    data["questions"][0]["tags"].update(level="1.0", open="yes")
    data["questions"][0]["grading"]["keywords"][1] = "1.0"
    as_json, as_yaml = read(json.dumps(data, indent="\t"), folder, "questions.json"), read(EVERYTHING, folder)
    assert not as_json.errors
    (one,), (other,) = as_json.questions, as_yaml.questions
    assert (one.rubric, one.tags, one.line) == (other.rubric, other.tags, 5)
    assert read("\ufeff" + EVERYTHING.replace("\n", "\r\n"), folder) == as_yaml
    for text in ('{\n\t"title": "a"}', "title: a"):  # by how it begins, whatever its name
        assert read(text, folder, "questions.txt").title == "a"


def no_json() -> list[tuple[str, int, str]]:
    """Texts that are not quite JSON, the line that is named, and what is said of it."""
    return [
        ('{"questions": [],}', 1, "a comma before }"),
        ('{\n"questions": [1,\n]}', 3, "a comma before ]"),
        ("{\n'questions': []}", 2, "double quotes"),
        ('{"a": "x\ny"}', 1, "does not end in this line"),
        ('{"a": "\\x"}', 1, "an escape"),
        ('{\n\n"a" []}', 3, "a colon"),
        ('{"a": 1 "b": 2}', 1, "a comma or }"),
        ('{"a": [1 2]}', 1, "a comma or ]"),
        ("{// comment\n}", 1, 'a key in "double quotes"'),
        ('{"a": NaN}', 1, "neither"),
        ('{"a": 01}', 1, "neither"),
        ('{"a": 1}}', 1, "after the end"),
        ('{"a": [[[', 1, "too early"),
        ('{"a": 1', 1, "too early"),
        ('{"a": "\\ud800"}', 1, "half a character"),
        ('{"title": "a", "title": "b", "questions": []}', 1, "already, in line 1"),
        ('{"questions": [{"id": "a", "question": null, "grading": {}}]}', 1, "is null"),
        ('{"questions": [{"id": "a", "question": "b", "grading": {"keywords": [{"text": "a", "weight": true}]}}]}',
         1, "truth value"),
        ("[" * 100_000, 1, "nested more than"),
        ('{"a":' * 100_000, 1, "nested more than"),
    ]  # fmt: skip


def test_json_that_is_none_says_where(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        read("", tmp_path, "questions.json")
    for (text, line, word), row in tabled(*no_json()):
        with row:
            problems = read(text, tmp_path, "questions.json").problems
            assert [one.line for one in problems if word in one.text] == [line], "\n".join(map(str, problems))


def test_the_colon_of_a_json_key_may_stand_anywhere_behind_it(tmp_path: Path) -> None:
    for gap, row in tabled("", " " * 1_100, "\t", "\r", "\r\n"):
        with row:
            assert read(f'{{"title"{gap}: "a"}}', tmp_path, "questions.json").title == "a"


def test_parts_may_be_repeated_with_an_alias(folder: Path) -> None:
    text = EVERYTHING.replace('strip: " "', 'strip: &blank " "').replace("- zebra", "- &first zebra\n        - *first")
    found = read(text, folder)
    assert found.questions[0].rubric.keywords[0] == found.questions[0].rubric.keywords[1]
    assert any("the same as item 1" in problem.text for problem in found.problems)


# --- what is never read, and what is never slow ---


def with_file(name: str) -> str:
    grading = f"tests: {{language: r, cases: [{{file: {json.dumps(name)}}}]}}"
    return f"questions:\n  - id: a\n    question: b\n    grading:\n      {grading}\n"


def test_no_path_leads_out_of_the_folder(folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    (folder / "link.R").symlink_to(secret)
    (folder / "out").symlink_to(folder.parent)
    (folder / "parts" / "inside.R").symlink_to(folder / "parts" / "copy.txt")
    os.mkfifo(folder / "pipe.R")
    names = [
        "../secret.txt", "parts/../../secret.txt", str(secret), "link.R", "out/secret.txt", "/dev/zero", "/etc/passwd",
        "pipe.R", "parts", ".", "", "~/.bashrc", "C:\\secret", "..\\secret.txt", "parts/", "\0", "a" * 5000, "link.R\0",
    ]  # fmt: skip
    for name in names:
        found = read(with_file(name), folder)
        assert len(found.errors) == 1, name
        assert not found.questions
        assert "secret\n" not in str(found)
    found = read(with_file("parts/inside.R"), folder)
    assert found.questions[0].rubric.tests == UnitTests(language="r", tests=(Test(code="copied\n"),))


@each_row(("large.R", b"x" * 1_000_001, "at most 1,000,000"), ("latin.R", "ä".encode("latin-1"), "not UTF-8"))
def test_large_or_odd_files_beside_it_are_refused(name: str, content: bytes, said: str, *, folder: Path) -> None:
    (folder / name).write_bytes(content)
    assert said in read(with_file(name), folder).errors[0].text


def test_a_path_that_is_no_file_or_too_large_a_one_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(8_000_001)
    for path in (tmp_path, tmp_path / "nothing.yaml", tmp_path / "pipe.yaml", Path("/dev/zero")):
        with pytest.raises(DataError):
            read_questions(path)
    with pytest.raises(DataError, match="at most 8,000,000"):
        read_questions(tmp_path / "large.yaml")


def bombs() -> dict[str, str]:
    """Files that are small, and would be large or deep."""
    return {
        "aliases of aliases": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "a text many times": "a: &a " + "x" * 1_000_000 + "\nb: [" + ", ".join(["*a"] * 5_000) + "]\n",
        "itself inside itself": "a: &a [*a]\n",
        "lists in lists": "[" * 200_000,
        "lists in lists, by lines": "- " * 200_000,
        "mappings in mappings": "{a: " * 100_000,
        "more and more indentation": "".join(" " * n + "a:\n" for n in range(1_500)),
        "very many values": "a: [" + "x," * 400_000 + "]",
        "very many lines": "- a\n" * 400_000,
        "one very long key": "k" * 2_000_000 + ": a\n",
    }


HEAVY = (
    "very many values",
    "very many lines",
    "many keywords",
    "many weights",
    "many answers of a blank",
    "many tests",
)
"""Rows that take a second and more of a processor, for the slow tier."""
BOTH_TIERS = pytest.mark.parametrize("heavy", [False, pytest.param(True, marks=pytest.mark.slow)])


@BOTH_TIERS
def test_a_bomb_is_a_problem_and_nothing_more(tmp_path: Path, heavy: bool) -> None:
    for (name, text), row in tabled(*bombs().items()):
        if (name in HEAVY) != heavy:
            continue
        with row, within(20):
            found = read(text, tmp_path)
            assert len(found.errors) == 1
            assert not found.questions


def test_a_file_with_a_thousand_errors_is_not_read_on_and_one_with_warnings_is(tmp_path: Path) -> None:
    found = read("".join(f"name{number}: 1\n" for number in range(13_000)), tmp_path)
    assert len(found.errors) == 1_001
    assert "was not read" in found.errors[-1].text
    truths = "".join(f"  - {{id: a{n}, question: b, grading: {{truth: {{answer: false}}}}}}\n" for n in range(1500))
    read("questions:\n" + truths, tmp_path)
    found = sound_questions(tmp_path / "questions.yaml")
    assert len(found.questions) == 1500
    assert found.questions[0].rubric == Rubric(truth=TruthPart(answer=False), min_score=0.0)
    assert (len(found.problems), found.problems[0].severity) == (1_001, "warning")
    assert found.problems[-1].text == "1,999 more warnings"  # each has no examples, and asks what the first asks


def gradings() -> dict[str, str]:
    """Gradings with very much of something."""
    return {
        "many options": "choice: {answer: A, options: [" + ", ".join(f"o{n}" for n in range(100_000)) + "]}",
        "many keywords": "keywords: [" + ", ".join(f"k{n}" for n in range(60_000)) + "]",
        "many weights": "keywords: [" + ", ".join(f"{{text: k{n}, weight: {n + 1}}}" for n in range(20_000)) + "]",
        "many answers of a blank": "blanks:\n        template: a [blank] b\n        answers: [{any: ["
        + ", ".join(f"{{regex: '(x+x+)+y{n}'}}" for n in range(2_000))
        + ", x]}]",
        "many tests": "tests: {language: python, cases: ["
        + ", ".join(f'"def f{n}(): 0"' for n in range(50_000))
        + "]}",
        "a long template": 'blanks: {answers: [x], template: "' + "ab" * 5_000 + '[blank]c"}',
        "many templates' worth": 'blanks: {answers: [x], template: "' + "ab" * 2_000_000 + '[blank]c"}',
        "a long reference": 'similarity: [{metric: rougeL, references: ["' + "ab " * 1_000_000 + '"]}]',
        "a deep condition": "keywords: [a, {text: b, when: " + "not " * 100_000 + "item 1 matched}]",
    }


@BOTH_TIERS
def test_much_of_anything_takes_seconds_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heavy: bool) -> None:
    monkeypatch.setattr("viva.benchmarks.custom.traps.SECONDS", 1.0)
    asked = "long " * 200_000
    examples = ", ".join("{answer: x, score: 0.5}" for _ in range(2_000))
    for (name, grading), row in tabled(*gradings().items()):
        if (name in HEAVY) != heavy:
            continue
        text = f"questions:\n  - id: a\n    question: {asked}\n    grading:\n      {grading}\n"
        with row, within(10):
            found = read(text + f"    examples: [{examples}]\n", tmp_path)
            assert found.problems


def test_rules_nest_twenty_deep_and_no_deeper(tmp_path: Path) -> None:
    def nested(depth: int) -> QuestionFile:
        rule = "zebra"
        for _ in range(depth - 1):
            rule = f"{{any: [{rule}, b]}}"
        text = f"questions:\n  - id: a\n    question: b c\n    grading:\n      keywords:\n        - {rule}\n"
        return read(text, tmp_path)

    assert nested(20).questions
    assert "more than 20 deep" in nested(21).errors[0].text


def test_many_slow_expressions_end_in_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.benchmarks.custom.traps.SECONDS", 0.2)
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    items = "".join(f"        - regex: '(x+x+)+y{number}'\n" for number in range(60))
    found = read(f"questions:\n  - id: a\n    question: b\n    grading:\n      keywords:\n{items}", tmp_path)
    assert found.questions
    assert "takes forever" in found.problems[1].text
    assert any("not tried for speed" in problem.text for problem in found.problems)


# --- refusing a whole file ---


def test_a_file_with_errors_cannot_be_examined_with(tmp_path: Path) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text("questions:\n" + "  - {id: a, quest: b}\n" * 7)
    with pytest.raises(DataError) as refused:
        sound_questions(path)
    assert f"{path}:2:13: error: question a: `quest` is unknown; did you mean `question`?" in str(refused.value)
    assert "and 8 more" in str(refused.value)
    assert "viva check" in str(refused.value)


def test_the_testable_languages_are_the_sandbox_s_and_code_is_taken_from_them() -> None:
    assert languages_of_tests() == sorted(languages()), (
        "give a new language `seconds` in scorers/rubric/code_languages.toml"
    )


# --- properties ---


@cache
def valid() -> bytes:
    return (Path(__file__).parents[2] / "docs" / "own-questions.yaml").read_bytes()


@settings(max_examples=3 * settings.default.max_examples)
@given(
    start=st.deferred(lambda: st.integers(0, len(valid()))), length=st.integers(0, 40), instead=st.binary(max_size=12)
)
def test_a_good_file_with_a_piece_replaced_is_read_or_refused(
    start: int, length: int, instead: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _read_bytes(valid()[:start] + instead + valid()[start + length :], tmp_path_factory)


def _read_bytes(content: bytes, factory: pytest.TempPathFactory, name: str = "questions.yaml") -> None:
    path = factory.getbasetemp() / name
    path.write_bytes(content)
    try:
        found = read_questions(path)
    except DataError:
        return
    assert found.problems or found.questions, "silence is no answer"
    lines = content.count(b"\n") + content.count(b"\r") + content.count("\u2028".encode()) + content.count(b"\xc2\x85")
    for problem in found.problems:
        assert 1 <= problem.line <= lines + content.count("\u2029".encode()) + 2
        assert problem.column >= 1
        assert str(problem).isprintable()
    for question in found.questions:
        assert question.id
        assert question.text.strip()
