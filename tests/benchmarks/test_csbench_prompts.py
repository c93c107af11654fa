"""What CS-Bench asks: the prompts of all languages and formats, and their exemplars."""

import csv
import json
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import DOMAINS, asked, csbench, dropped, opened, record
from rows import each_row
from viva.benchmarks import csbench as csbench_package
from viva.benchmarks import find_benchmark
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.contracts import Exam
from viva.errors import DataError
from viva.prompting import estimate_tokens
from viva.runs.exams import remember
from viva.types import ExamSpec, Kind, Question, Sampling

SAMPLE = Path(find_benchmark("csbench").sample)  # type: ignore[attr-defined]
FORMATS: dict[Kind, str] = {
    "choice": "Multiple-choice",
    "truth": "Assertion",
    "blank": "Fill-in-the-blank",
    "open": "Open-ended",
}
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
        found = shown(asked(exam, question), valid)
        domain = DOMAINS[question.tags["domain"]]
        assert len(found) == 5
        assert {question.tags["format"]} == {exemplar["Format"] for exemplar in found}
        assert question.text not in {exemplar["Question"] for exemplar in found}
        own = Counter(str(e["Answer"]) for e in found if e["Domain"] == domain)
        others = {str(e["Answer"]) for e in found if e["Domain"] != domain}
        if question.kind in ("blank", "open"):
            assert not others
        for gold in others:  # another domain's only for a gold that the own one has no more of
            there = [e for e in valid if (e["Format"], e["Domain"]) == (found[0]["Format"], domain)]
            assert own[gold] == sum(str(e["Answer"]) == gold for e in there)


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
    ids = {code: english_ids(exam, code) for code, exam in exams.items()}
    assert ids["zh"] == ids["en"]
    assert ids["fr"] == ids["de"]
    assert {len(one) for one in ids["en"].values()} == {shots}
    answers_alone = opened("csbench", published, language="en", shots=shots, seed=seed)
    assert ids["de"] == english_ids(answers_alone, "en"), "German and French have no thought to show"


def test_which_label_is_shown_once_more_goes_round_over_the_domains(published: Path) -> None:
    golds = opened("csbench", published, shots=5).exemplar_golds
    more = {group: [gold for gold, count in counts.items() if count == 2] for group, counts in golds.items()}
    assert sorted(more[f"{domain}/choice"] for domain in DOMAINS) == [["A"], ["B"], ["C"], ["D"]]


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


def test_other_domains_top_up_when_the_own_has_too_few_but_never_another_format(tmp_path: Path) -> None:
    valid = [
        record(11, "x", Format="Fill-in-the-blank"),
        *(record(20 + n, "x", Format="Fill-in-the-blank", Domain=DOMAINS["OS"]) for n in range(4)),
        *(record(30 + n, "A") for n in range(4)),
    ]
    folder = csbench(tmp_path, "en", [record(1, "gold", Format="Fill-in-the-blank")], valid)
    for shots, expected in ((1, 1), (3, 3), (5, 5)):
        exam = opened("csbench", folder, shots=shots)
        found = shown(asked(exam, next(iter(exam.questions()))), valid)  # type: ignore[arg-type]
        assert len(found) == expected
        assert {exemplar["Format"] for exemplar in found} == {"Fill-in-the-blank"}
        assert found[0]["ID"] == 11, "the own domain comes first"


def test_chain_of_thought_prefers_exemplars_that_show_a_thought(tmp_path: Path) -> None:
    valid = [record(11), record(12), record(21, Domain=DOMAINS["OS"], Explanation="for it is so")]
    folder = csbench(tmp_path, "en", [record(1)], valid)
    for thought, expected in ((False, {11, 12}), (True, {21})):
        exam = opened("csbench", folder, shots=1, chain_of_thought=thought)
        found = shown(asked(exam, next(iter(exam.questions()))), valid)  # type: ignore[arg-type]
        assert {exemplar["ID"] for exemplar in found} <= expected
        assert len(found) == 1


def test_an_exemplar_without_a_usable_gold_is_not_shown(tmp_path: Path) -> None:
    valid = [record(11, "Eine"), record(12, "C")]
    exam = opened("csbench", csbench(tmp_path, "en", [record(1)], valid), shots=2)
    found = shown(asked(exam, next(iter(exam.questions()))), valid)  # type: ignore[arg-type]
    assert [exemplar["ID"] for exemplar in found] == [12]


@pytest.mark.parametrize("language", ["en", *(pytest.param(one, marks=pytest.mark.slow) for one in ("zh", "de", "fr"))])
def test_no_published_question_is_its_own_exemplar(published: Path, language: str) -> None:
    for seed in range(3):
        exam = opened("csbench", published, language=language, shots=5, seed=seed)
        for question in exam.questions():
            if question.kind in ("truth", "choice"):
                listed = [f"({letter}) {text}" for letter, text in zip("ABCD", question.options, strict=False)]
                assert asked(exam, question).count("\n".join([question.text, *listed])) == 1, question.id


def test_the_seed_chooses_the_exemplars_and_nothing_else_does() -> None:
    def prompts(seed: int) -> list[str]:
        exam = opened("csbench", shots=2, seed=seed)
        return [asked(exam, question) for question in exam.questions()]

    drawn = {seed: prompts(seed) for seed in range(4)}
    assert prompts(0) == drawn[0]
    assert len({tuple(found) for found in drawn.values()}) == 4
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


def test_without_a_token_limit_only_the_prompt_has_to_fit() -> None:
    whole = opened("csbench", shots=5)
    question = next(iter(whole.questions()))
    exam = opened("csbench", shots=5, context=cost(asked(whole, question), 0))
    assert asked(exam, question, max_tokens=None) == asked(whole, question)
    assert dropped(exam, question, max_tokens=None) == 0


# Verbatim

AWKWARD = (
    "{question}", "{options}", "{0}", "{", "}", "{{answer}}", "%s %d", "$\\frac{a}{b}$", r"\textbf{x}_{i}", "a\\nb",
    "<b>", "for (int i = 0; i < n; i++) { a[i] = {0}; }", "f'{x!r:>{width}}'", "\\", "\t",
    "题目：{question}", "(A) A\n(B) B",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(AWKWARD), st.text(min_size=1)).filter(lambda text: bool(text.strip()))


@cache
def shared(form: str, shots: int) -> Exam:
    return opened("csbench", form=form, shots=shots)


@given(
    text=TEXTS,
    options=st.tuples(TEXTS, TEXTS, TEXTS, TEXTS),
    kind=st.sampled_from(list(FORMATS)),
    setting=st.tuples(st.sampled_from(["chat", "base"]), st.sampled_from([0, 2])),
)
def test_whatever_a_question_holds_is_asked_verbatim(
    text: str, options: tuple[str, str, str, str], kind: Kind, setting: tuple[str, int]
) -> None:
    exam = shared(*setting)
    tags = {"domain": "OS", "subfield": "OS: Overview", "format": FORMATS[kind], "tag": "Knowledge", "language": "en"}
    question = Question(
        id="q", kind=kind, text=text, language="en", options=options if kind == "choice" else (), answer="A", tags=tags
    )
    generate = exam.request(question, 3, Sampling(seed=5))
    prompt = generate.prompt if isinstance(generate.prompt, str) else generate.prompt[0].content
    listed = "".join(f"\n({letter}) {option}" for letter, option in zip("ABCD", options, strict=True))
    name = "Statement" if kind == "truth" else "Question"
    assert f"\n\n{name}: {text}{listed if kind == 'choice' else ''}\n" in prompt
    # A base model would go on with a question of its own: it is stopped there.
    stop = (f"\n\n{name}:",) if setting[0] == "base" else ()
    assert (generate.question, generate.sample, generate.sampling) == ("q", 3, Sampling(seed=5, stop=stop))
    assert generate.choices == {"choice": tuple("ABCD"), "truth": ("True", "False")}.get(kind, ())


# Settings


def test_a_users_template_replaces_only_what_it_names() -> None:
    spec = ExamSpec(benchmark="csbench")
    exam = find_benchmark("csbench").open(spec, None, {"en": {"choice": {"ask": "One letter, please."}}})
    plain = opened("csbench")
    for question in plain.questions():
        changed, before = asked(exam, question), asked(plain, question)
        if question.kind == "choice":
            assert changed.endswith("\n\nOne letter, please.")
            assert changed.rpartition("\n\n")[0] == before.rpartition("\n\n")[0]
        else:
            assert changed == before
    assert exam.templates != plain.templates


@each_row(
    ({"en": {"choice": {"question": "Which? {options}"}}}, "{question}"),
    ({"en": {"choice": {"question": "{question}"}}}, "{options}"),
    ({"en": {"option": "({letter})"}}, "{text}"),
    ({"en": {"option": "{text}"}}, "{letter}"),
    ({"en": {"choice": {"answer": "Answer:"}}}, "{answer}"),
    ({"judge": {"en": {"blank": {"user": "{question} {gold}\n{fence}\n{fence}\nVERDICT: 1?"}}}}, "{answer}"),
    ({"judge": {"en": {"blank": {"user": "{question}\n{fence}\n{answer}\n{fence}\nVERDICT: 1?"}}}}, "{gold}"),
    ({"judge": {"en": {"open": {"user": "{question} {gold}\n{answer}\nVERDICT: 1?"}}}}, "{fence}"),
)
def test_a_template_that_hides_what_must_be_seen_is_refused(templates: object, said: str) -> None:
    with pytest.raises(DataError) as caught:
        find_benchmark("csbench").open(ExamSpec(benchmark="csbench"), None, templates)
    assert said in str(caught.value)


def test_only_comprehension_asks_what_needs_no_judge() -> None:
    exam = opened("csbench", only="comprehension")
    assert {question.kind for question in exam.questions()} == {"choice", "truth"}
    assert len(exam) == 56
