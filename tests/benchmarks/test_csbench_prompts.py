"""What CS-Bench asks: the prompts of all languages and formats, and their exemplars."""

import csv
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import DOMAINS, asked, csbench, dropped, opened, record
from rows import each_row
from viva.benchmarks import csbench as csbench_package
from viva.benchmarks import find_benchmark
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.contracts import Exam
from viva.prompting import estimate_tokens
from viva.runs.exams import remember

SAMPLE = Path(find_benchmark("csbench").sample)  # type: ignore[attr-defined]
LANGUAGES = ("en", "zh", "de", "fr")


def pool(language: str = "en") -> list[dict[str, str]]:
    """The sample's validation split, straight from its file."""
    folder = {"en": "CSBench-EN", "zh": "CSBench-CN"}[language]
    return json.loads((SAMPLE / folder / "valid.json").read_text(encoding="utf-8"))


def shown(prompt: str, exemplars: list[dict[str, str]]) -> list[dict[str, str]]:
    """The exemplars that stand in a prompt, in its order."""
    return sorted((e for e in exemplars if e["Question"] in prompt), key=lambda e: prompt.index(e["Question"]))


# Exemplars


@each_row("en", "zh")
def test_five_exemplars_are_of_the_questions_format_and_domain(language: str) -> None:
    exam = opened("csbench", language=language, shots=5)
    valid = pool(language)
    for question in exam.questions():
        found, domain = shown(asked(exam, question), valid), DOMAINS[question.tags["domain"]]
        assert [exemplar["Format"] for exemplar in found] == [question.tags["format"]] * 5
        assert question.text not in {exemplar["Question"] for exemplar in found}
        own = Counter(str(e["Answer"]) for e in found if e["Domain"] == domain)
        others = {str(e["Answer"]) for e in found if e["Domain"] != domain}
        assert not others or question.kind in ("choice", "truth")
        there = Counter(str(e["Answer"]) for e in valid if (e["Format"], e["Domain"]) == (found[0]["Format"], domain))
        assert all(own[gold] == there[gold] for gold in others), "where the domain has no more of this gold"


def english_ids(exam: Exam, language: str) -> dict[str, list[int]]:
    """Group → the ids in the English file of the exemplars that its prompts show, in their order."""
    assert isinstance(exam, MultipleChoiceExam)
    with (files(csbench_package) / "validation.csv").open(encoding="utf-8") as file:
        english = {row[language]: int(row["en"]) for row in csv.DictReader(file)}
    return {exam.group(q): [english[shot.id] for shot in exam.shots(q)] for q in exam.questions()}


@each_row((False, 5, 0), (True, 5, 1))
def test_published_languages_show_the_same_exemplars_with_balanced_golds(
    thought: bool, shots: int, seed: int, *, published: Path
) -> None:
    settings = {"shots": shots, "seed": seed, "chain_of_thought": thought}
    exams = {code: opened("csbench", published, language=code, **settings) for code in LANGUAGES}
    for golds in (exam.exemplar_golds for exam in exams.values()):
        assert len(golds) == 8
        for group, counts in golds.items():
            labels = 4 if group.endswith("choice") else 2
            every = [*counts.values(), *[0] * (labels - len(counts))]
            assert sum(every) == shots
            assert max(every) - min(every) <= 1, (group, counts)
        more = {group: [gold for gold, count in counts.items() if count == 2] for group, counts in golds.items()}
        once_more = sorted(more[f"{domain}/choice"] for domain in DOMAINS)
        assert thought or once_more == [["A"], ["B"], ["C"], ["D"]], "in turn over the domains"
    ids = {code: english_ids(exam, code) for code, exam in exams.items()}
    assert ids["zh"] == ids["en"]
    assert ids["fr"] == ids["de"]
    assert {len(one) for one in ids["en"].values()} == {shots}
    answers_alone = opened("csbench", published, language="en", shots=shots, seed=seed)
    assert ids["de"] == english_ids(answers_alone, "en"), "German and French have no thought to show"


def test_as_published_the_draw_decides_whatever_the_golds() -> None:
    exam = opened("csbench", shots=2, as_published=True)
    assert isinstance(exam, MultipleChoiceExam)
    drawn = {exam.group(q): [int(shot.id) for shot in exam.shots(q)] for q in exam.questions()}
    choices = {"DSA/choice": [79, 93], "CO/choice": [111, 113], "CN/choice": [125, 129], "OS/choice": [149, 153]}
    assert drawn.items() >= choices.items(), "those of CS-Bench 3"


def test_one_gold_of_four_is_shown_where_there_is_one(tmp_path: Path) -> None:
    valid = [*(record(10 + n, "A") for n in range(9)), record(30, "D", Domain=DOMAINS["OS"])]
    exam = opened("csbench", csbench(tmp_path, "en", [record(1)], valid), shots=4)
    assert exam.exemplar_golds["DSA/choice"] == {"A": 3, "D": 1}
    assert remember(exam, None).exemplar_golds == exam.exemplar_golds, "in run.json"


def first_shown(folder: Path, valid: list[Any], asks: dict[str, Any] | None = None, **settings: Any) -> list[Any]:
    """The ids of the exemplars that the only question is shown, in their order."""
    exam = opened("csbench", csbench(folder, "en", [asks or record(1)], valid), **settings)
    return [exemplar["ID"] for exemplar in shown(asked(exam, next(iter(exam.questions()))), valid)]


def test_exemplars_are_of_the_domain_first_with_a_thought_and_a_gold_and_never_of_another_format(
    tmp_path: Path,
) -> None:
    fill = {"Format": "Fill-in-the-blank"}
    valid = [record(11, "x", **fill), *(record(20 + n, "x", Domain=DOMAINS["OS"], **fill) for n in range(4)),
             *(record(30 + n, "A") for n in range(4))]  # fmt: skip
    for shots in (1, 3, 5):
        found = first_shown(tmp_path, valid, record(1, "gold", **fill), shots=shots)
        assert (len(found), found[0], max(found) < 30) == (shots, 11, True)
    thought = [record(11), record(12), record(21, Domain=DOMAINS["OS"], Explanation="for it is so")]
    assert first_shown(tmp_path, thought, shots=1)[0] in (11, 12)
    assert first_shown(tmp_path, thought, shots=1, chain_of_thought=True) == [21]
    assert first_shown(tmp_path, [record(11, "Eine"), record(12, "C")], shots=2) == [12], "the other has no usable gold"


def test_the_seed_chooses_the_exemplars_and_nothing_else_does() -> None:
    def prompts(seed: int) -> list[str]:
        exam = opened("csbench", shots=2, seed=seed)
        return [asked(exam, question) for question in exam.questions()]

    drawn = {seed: prompts(seed) for seed in range(4)}
    assert prompts(0) == drawn[0]
    assert len({tuple(found) for found in drawn.values()}) == 4
    comprehension = opened("csbench", only="comprehension")
    assert ({question.kind for question in comprehension.questions()}, len(comprehension)) == ({"choice", "truth"}, 56)
    first = [frozenset(e["ID"] for e in shown(found[0], pool())) for found in drawn.values()]
    assert len(set(first)) > 1, "not only their order"


# Context


def cost(prompt: str, max_tokens: int = 2048) -> int:
    return estimate_tokens(prompt) + max_tokens


def length(exemplar: dict[str, str]) -> int:
    return len(exemplar["Question"]) + sum(len(str(exemplar.get(letter, ""))) for letter in "ABCD")


@pytest.mark.parametrize("form", ["chat", "base"])
def test_the_longest_exemplars_go_until_it_fits_and_are_counted(form: str) -> None:
    whole = opened("csbench", shots=5, form=form)
    question = next(iter(whole.questions()))
    exemplars = shown(asked(whole, question), pool())
    by_length = sorted(exemplars, key=length)
    exact = cost(asked(whole, question))
    seen: set[int] = set()
    for context in (exact, exact - 1, *range(exact - 20, 2048, -40), 1):
        exam = opened("csbench", shots=5, form=form, context=context)
        prompt = asked(exam, question)
        kept = shown(prompt, pool())
        assert cost(prompt) <= context or not kept
        assert len(kept) == {exact: 5, exact - 1: 4, 1: 0}.get(context, len(kept))
        assert dropped(exam, question) == 5 - len(kept)
        assert sorted(kept, key=length) == by_length[: len(kept)]
        assert [e for e in exemplars if e in kept] == kept, "their order stays"
        assert prompt.count(question.text) == 1
        seen.add(len(kept))
    assert seen == {0, 1, 2, 3, 4, 5}
    limitless = opened("csbench", shots=5, form=form, context=cost(asked(whole, question), 0))
    assert asked(limitless, question, max_tokens=None) == asked(whole, question), "only the prompt has to fit"


# Settings
