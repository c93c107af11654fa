"""What SynEval shows a model: wordings, exemplars by seed, limits; and the choices of the random baseline."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade_syneval import SENTENCES, changed, exam, exemplars, rows, write
from rows import each_row
from viva.benchmarks.syneval.synevalprompts import Spans, _shuffled
from viva.contracts import Exam
from viva.engine.folder import ExamRecord
from viva.prompting import estimate_tokens, prompt_text
from viva.types import ExamSpec, Generate, Question, Sampling

PAPER = Sampling(max_tokens=256)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


def named(sat: Exam, part: str) -> Question:
    return next(question for question in sat.questions() if part in question.id)


def text(sat: Exam, part: str, sample: int = 0, sampling: Sampling = PAPER) -> str:
    return prompt_text(sat.request(named(sat, part), sample, sampling).prompt)


def lost(sat: Exam, part: str) -> int:
    return sat.request(named(sat, part), 0, PAPER).dropped


def shown(prompt: str) -> list[str]:
    """The sentences of a prompt; the last is the question's own."""
    return [line.removeprefix("Sentence: ") for line in prompt.splitlines() if line.startswith("Sentence: ")]


# Few-shot


@pytest.mark.parametrize("form", ["chat", "base"])
def test_exemplars_are_of_the_same_knowledge_point_and_format_with_their_answers(folder: Path, form: str) -> None:
    sat = exam(folder, shots=3, form=form)
    assert "Reply with True or False" in text(exam(folder, form=form), "TF")
    kinds = {row["sentence"] + row["question"]: (row["knowledge_point"], row["format"]) for row in exemplars()}
    for question in sat.questions():
        for sample in range(3):
            prompt = prompt_text(sat.request(question, sample, PAPER).prompt)
            *before, _ = prompt.split("Sentence: ")[1:]
            for block in before:
                sentence, asked = block.splitlines()[:2]
                own = (question.tags["knowledge_point"], question.tags["format"])
                assert kinds[sentence + asked.removeprefix("Question: ")] == own
                assert "Answer: The answer is “" in block
            assert "Reply with" not in prompt


def test_each_seed_draws_its_own_exemplars_and_always_the_same(folder: Path) -> None:
    def drawn(seed: int, sample: int) -> list[str]:
        sat = exam(folder, shots=2, seed=seed)
        return [text(sat, question.id, sample) for question in sat.questions()]

    by_sample = [drawn(0, sample) for sample in range(3)]
    assert by_sample == [drawn(0, sample) for sample in range(3)]
    assert len(set(map(tuple, by_sample))) == 3
    assert by_sample[1:] == [drawn(1, sample) for sample in range(2)]
    assert len({tuple(shown(one)[:-1]) for one in by_sample[0][:2]}) > 1, "questions of one point draw apart"


def test_an_exemplar_never_shares_the_sentence_unless_as_published(tmp_path: Path) -> None:
    own = [changed(row, id=f"x{number}", stratum="s") for number, row in enumerate(rows()) if row["tree"] == 0]
    folder = write(tmp_path, shown=[*own, *exemplars()])
    sat, published = exam(folder, shots=5), exam(folder, shots=5, as_published=True)
    ids = [question.id for question in sat.questions() if question.id.startswith("handmade-0-")]
    for identity in ids:
        for sample in range(3):
            *before, asked = shown(text(sat, identity, sample))
            assert asked == SENTENCES[0]
            assert asked not in before
    assert any(SENTENCES[0] in shown(text(published, identity))[:-1] for identity in ids)


def test_a_sentence_is_the_same_by_its_tree_too(tmp_path: Path) -> None:
    """Another detokenisation of the tree is the same sentence; another tree with the same words is, too."""
    target = rows([0])[0]
    same_tree = changed(target, id="tree", sentence="The gardener gave the children pears .")
    same_words = changed(target, id="words", file="elsewhere", tree=7)
    folder = write(
        tmp_path, [target], [same_tree, same_words, changed(target, id="other", file="e", sentence="I ran.")]
    )
    assert shown(text(exam(folder, shots=3), target["id"])) == ["I ran.", SENTENCES[0]]
    assert len(shown(text(exam(folder, shots=3, as_published=True), target["id"]))) == 4


def test_a_question_is_never_its_own_exemplar(tmp_path: Path) -> None:
    sat = exam(write(tmp_path, shown=rows()), shots=5, as_published=True)
    for question in sat.questions():
        sentence, _, asked = question.text.partition("\n")
        prompt = prompt_text(sat.request(question, 0, PAPER).prompt) + "\n"
        assert prompt.count(f"Sentence: {sentence}\nQuestion: {asked}\n") == 1


def test_exemplars_that_do_not_fit_go_the_longest_first_and_are_counted(folder: Path) -> None:
    whole = exam(folder, shots=3)
    capacity = estimate_tokens(text(whole, "0-GS-MC")) + 10
    tight = exam(folder, shots=3, context=capacity - 1)
    kept, all_of_them = shown(text(tight, "0-GS-MC")), shown(text(whole, "0-GS-MC"))
    assert len(kept) == len(all_of_them) - 1
    assert set(all_of_them[:-1]) - set(kept) == {max(all_of_them[:-1], key=len)}
    assert [lost(one, "0-GS-MC") for one in (tight, whole)] == [1, 0]
    assert text(exam(folder, shots=3, context=capacity), "0-GS-MC") == text(whole, "0-GS-MC")


def test_every_exemplar_of_a_pool_is_as_likely() -> None:
    import random

    firsts = Counter(next(_shuffled(random.Random(f"q{n} 0"), 5)) for n in range(5000))
    assert all(850 < count < 1150 for count in firsts.values())


# How answers are drawn


def limits(sat: Exam, asked: int | None) -> tuple[int | None, ...]:
    """How many tokens a model may write for a blank, a truth value, a letter."""
    requests = (sat.request(named(sat, form), 0, Sampling(max_tokens=asked)) for form in ("FITB", "TF", "MC"))
    return tuple(request.sampling.max_tokens for request in requests)


@each_row(
    ({}, 256, (256, 10, 10)),
    ({}, 100, (100, 10, 10)),
    ({}, 5, (5, 5, 5)),
    ({}, 2048, (2048, 2048, 2048)),
    ({}, None, (None, None, None)),
    ({"as_published": True, "form": "base"}, 256, (256, 1, 1)),  # where one token is enough
    ({"as_published": True, "form": "chat"}, 256, (256, 10, 10)),
)
def test_the_limits_are_the_papers_unless_the_user_asks_for_more(
    settings: Any, asked: int | None, wanted: tuple[int | None, ...], *, folder: Path
) -> None:
    """How many tokens a model may write for a blank, a truth value, a letter."""
    sat = exam(folder, **settings)
    requests = (sat.request(named(sat, form), 0, Sampling(max_tokens=asked)) for form in ("FITB", "TF", "MC"))
    assert tuple(request.sampling.max_tokens for request in requests) == wanted


def test_three_seeds_are_three_samples_where_exemplars_are_shown() -> None:
    from viva.runs.config import SamplingOptions
    from viva.runs.exams import drawn

    def recorded(shots: int, draw: SamplingOptions) -> ExamRecord:
        spec = ExamSpec(benchmark="syneval", shots=shots)
        record = ExamRecord(spec=spec, data=None, fingerprint="", questions=1, version="1", templates={})
        return drawn(record, draw, None)

    assert recorded(5, SamplingOptions()).samples == 3
    assert recorded(0, SamplingOptions()).samples is None
    assert recorded(5, SamplingOptions(samples=1)).samples is None, "what the user says goes"
    for shots in (0, 5):
        assert recorded(shots, SamplingOptions()).sampling == PAPER


# Baselines


def test_legal_answers_are_truth_values_letters_and_spans_of_the_sentence(folder: Path) -> None:
    sat = exam(folder)

    def legal(part: str) -> Generate:
        return sat.request(named(sat, part), 0, PAPER)

    assert legal("0-GS-TF").choices == ("True", "False")
    assert legal("0-GS-MC").choices == ("A", "B", "C", "D")
    assert legal("0-GS-MC").options[0] == "The gardener", "as the prompt shows it"
    spans = legal("5-ADV-FITB").choices
    words = SENTENCES[5].split()
    assert list(spans) == [" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]


@given(st.lists(st.text(alphabet="ab.", min_size=1, max_size=3), max_size=12))
def test_spans_are_all_runs_of_words_each_once(words: list[str]) -> None:
    spans = Spans(" ".join(words))
    wanted = [" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    assert len(spans) == len(wanted)
    assert [spans[index] for index in range(len(spans))] == wanted
    assert [spans[-1 - index] for index in range(len(spans))] == wanted[::-1]
    gigantic = Spans("word " * 100_000)
    assert (len(gigantic), gigantic[-1]) == (100_000 * 100_001 // 2, "word"), "costs nothing"
    for beyond in (len(spans), -len(spans) - 1):
        with pytest.raises(IndexError):
            spans[beyond]
