"""`viva list`, `viva show EXAM --prompt` and `viva check`: inspecting before asking."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.handmade import csbench, opened, record
from cli.collected import dangerous, questions, refused
from cli.told import all_refused
from rows import each_row, tables_beside
from servers.fixtures import Viva
from viva.contracts import Exam
from viva.runs.checks import failures, sample
from viva.types import NOTHING, Evidence, Question, Response, Score

# list


def test_list_says_what_there_is(viva: Viva) -> None:
    ended = viva("list").exits()
    for part in (
        *("csbench", "CS-Bench", "2406.08587", "Fill-in-the-blank", "en, zh, de, fr", "2,183", "76 en, 76 zh"),
        *("cmmlu", "CMMLU", "2306.09212", "11,582", "96 zh", "CC BY-NC", "not fetched: viva fetch cmmlu"),
    ):
        assert part in ended.out
    rows = {row["name"]: row for row in json.loads(viva("list", "--format", "json").out)}
    assert rows["csbench"]["languages"] == ["en", "zh", "de", "fr"]
    assert rows["cmmlu"]["sample"] == {"zh": 96}
    assert {row["fetched"] for row in rows.values()} == {""}


# show EXAM --prompt


def test_prompt_shows_the_exact_text(viva: Viva) -> None:
    first = questions("csbench", "en")[0]
    ended = viva("show", "csbench", "--prompt").exits()
    assert first.text in ended.out
    assert f"(D) {first.options[3]}\n" in ended.out
    assert "tokens" in ended.err
    raw = viva("show", "csbench", "--prompt", "--json")
    (message,) = json.loads(raw.out)
    assert message == {"role": "user", "content": ended.out.removesuffix("\n")}
    (viva.folder / "csbench").mkdir()  # a folder of data is no run, whatever it is called
    refused(viva("show", "csbench"), "viva show csbench --prompt")
    asked = questions("csbench", "zh")[-1]
    assert asked.text in viva("show", "csbench", "--prompt", "--language", "en,zh", "--question", asked.id).out


def test_prompt_takes_the_settings_of_a_run(viva: Viva) -> None:
    (viva.folder / "mine.toml").write_text('[zh.truth]\nask = "对吗？"\n', encoding="utf-8")
    asked = next(question for question in questions("csbench", "zh") if question.kind == "truth")
    settings = ("--language", "zh", "--shots", "2", "--question", asked.id)
    ended = viva("show", "csbench", "--prompt", *settings, "--prompts", "mine.toml").exits()
    assert ended.out.endswith("\n\n对吗？\n")
    assert ended.out.count("论断：") == 3
    base = viva("show", "csbench", "--prompt", *settings, "--form", "base", "--cot", "--context", "1")
    assert base.out.endswith("推理：\n")
    assert base.out.count("论断：") == 1
    assert "2 exemplars did not fit" in base.err


LOOKS: dict[tuple[str, ...], tuple[str, ...]] = dict(tables_beside(__file__)["wrong"])


def test_wrong_use_is_one_sentence(viva: Viva) -> None:
    files = {
        "unknown.toml": b'[en.choise]\nask = "x"\n',
        "hidden.toml": b'[en.choice]\nquestion = "{options}"\n',
        "bad.toml": b"ask = x\n",
    }
    all_refused(viva, LOOKS, files)


# check


class Broken:
    """An exam that grades by a rule of its own, and is the real one otherwise."""

    def __init__(self, exam: Exam, rule: Callable[[Question, Response], Score]) -> None:
        self._exam = exam
        self._rule = rule

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exam, name)

    def __len__(self) -> int:
        return len(self._exam)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        return self._rule(question, response)


RIGHT, WRONG = Score(value=1.0, outcome="right"), Score(value=0.0, outcome="wrong")
UNPARSED, EMPTY = Score(value=None, outcome="unparsed"), Score(value=None, outcome="empty")


@each_row(
    (lambda q, r: RIGHT if r.text.strip() else EMPTY, "wrong "),
    (lambda q, r: WRONG if r.text.strip() else EMPTY, "gold"),
    (lambda q, r: UNPARSED if r.text.strip() else EMPTY, "(unparsed)"),
    (lambda q, r: RIGHT if str(q.answer) in r.text else WRONG, "an empty reply is wrong"),
    (lambda q, r: RIGHT if len(r.text) == 1 and r.text == q.answer else EMPTY, "答案"),
)
def test_check_finds_a_grader_that_is_broken(rule: Callable[..., Any], said: str) -> None:
    exam = opened("cmmlu", limit=20)
    assert failures(exam) == failures(opened("cmmlu", limit=20, extraction="strict")) == []
    broken = cast("Exam", Broken(exam, rule))
    found = failures(broken)
    assert any(said in failure for failure in found)
    assert all(failure.startswith("question ") for failure in found)
    assert failures(broken, sample(broken, 5))


def test_check_finds_a_judged_answer_that_is_graded_without_a_judge() -> None:
    exam = opened("csbench")
    found = failures(cast("Exam", Broken(exam, lambda q, r: RIGHT if r.text.strip() else EMPTY)))
    assert sum("without a verdict it is graded all the same" in failure for failure in found) == 20
    assert any("the verdict 0 scores 1.0, not 0.0" in failure for failure in found)


def test_check_lists_defects_and_cuts_long_lists_unless_told_not_to(viva: Viva) -> None:
    test = [*(record(n, A=n) for n in range(30)), record(99, "?", C=None)]
    data = csbench(viva.folder / "data", "en", test)
    short = viva("check", "csbench", "--data", data, "--language", "en").exits(3)  # a gold is invalid
    assert "31 questions (31 choice), 30 sound, 1 invalid gold" in short.out
    assert "option is a number: 30 (repaired)" in short.out
    assert "... and 27 more (--all lists them)" in short.out
    assert "missing option: 1 (noted)" in short.out
    assert "no usable gold: 1 (invalid gold)" in short.out
    assert "    99: left unscored" in short.out
    whole = viva("check", "csbench", "--data", data, "--language", "en", "--all")
    assert sum(line.endswith(": read as text") for line in whole.out.splitlines()) == 30
    assert not dangerous(whole.out)


def test_check_takes_every_language_of_the_data(viva: Viva) -> None:
    viva.environment["VIVA_DATA"] = str(viva.folder / "four")
    for folder, there in (("two", ["en", "fr"]), ("four", ["en", "zh", "de", "fr"])):
        for number, language in enumerate(there):
            csbench(viva.folder / folder / "csbench", language, [record(number)])
        ended = viva("check", "csbench", *(("--data", "two") if folder == "two" else ())).exits()
        heads = [line[:10] for line in ended.out.splitlines() if not line.startswith(" ")]
        assert heads == [f"csbench-{language}" for language in there]
        assert ended.out.count("all as it should be") == len(there)


# Gold answers on the published sets

PARTS = 4


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh", "de", "fr"])
def test_gold_scores_full_marks_on_every_question_of_cs_bench(viva: Viva, published: Path, language: str) -> None:
    ended = viva("check", "csbench", "--data", published, "--language", language)
    assert ended.code == 0, ended.out
    head = ended.out.splitlines()[0]
    assert head.startswith(f"csbench-{language}: 2,183 questions (")
    assert head.endswith("), 2,183 sound, 0 invalid gold")
    assert all(count in head for count in ("1336 choice", "442 truth", "235 blank", "170 open"))
    assert "all as it should be" in ended.out


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_gold_scores_full_marks_on_every_question_of_cmmlu(viva: Viva, published: Path, part: int) -> None:
    """A quarter of the subjects each, so that they can be checked side by side."""
    files = sorted((published / "cmmlu" / "test").glob("*.csv"))
    assert len(files) == 67
    (viva.folder / "cmmlu" / "test").mkdir(parents=True)
    for file in files[part::PARTS]:
        (viva.folder / "cmmlu" / "test" / file.name).symlink_to(file)
    ended = viva("check", "cmmlu", "--data", ".")
    assert ended.code == 0, ended.out
    assert "all as it should be" in ended.out
    assert ", 0 invalid gold" in ended.out
