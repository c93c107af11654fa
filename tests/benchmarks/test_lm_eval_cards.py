"""Task files of lm-evaluation-harness as cards: their prompts, their scores, and what is refused.

These are own-written tasks; `tests/interop/test_lmeval_tasks.py` compares with lm-eval itself.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.benchmarks import CARD, open_exam
from viva.benchmarks.card.cards import ExamCard
from viva.benchmarks.card.cardtable import typed
from viva.benchmarks.card.lm_eval_draft import init_from_lm_eval
from viva.benchmarks.card.lm_eval_exam import LmEvalExam, exemplars_of
from viva.benchmarks.card.lm_eval_file import Filter, Metric, Shown
from viva.benchmarks.card.templating import TemplateError, match, render
from viva.errors import DataError, VivaError
from viva.types import Choose, ExamSpec, Generate, Message, Response, Sampling

CHOICE = """
task: metals
output_type: multiple_choice
dataset_path: json
dataset_kwargs: {data_files: {test: test.jsonl, train: train.jsonl}}
test_split: test
training_split: train
doc_to_text: "Q: {{q.strip()}}\\nA:"
doc_to_choice: "{{o}}"
doc_to_target: "{{o.index(a)}}"
"""
WRITTEN = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: test.jsonl, train: train.jsonl}}
test_split: test
fewshot_split: train
fewshot_config: {sampler: first_n}
num_fewshot: 1
description: "Add.\\n"
doc_to_text: "{{q}} ="
doc_to_target: "{{why}} #### {{n}}"
generation_kwargs: {until: ["Q:", "\\n\\n"], max_gen_toks: 40}
filter_list:
  - name: strict
    filter: [{function: regex, regex_pattern: "#### (-?[0-9,]+)"}, {function: take_first}]
  - name: last
    filter: [{function: regex, regex_pattern: "-?[0-9,]+", group_select: -1}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, regexes_to_ignore: [",", "(?s).*#### "]}
"""
METALS = [{"q": f" Which is {at}? ", "o": ["iron", "zinc", "lead"][: 2 + at % 2], "a": "zinc"} for at in range(6)]
SUMS = [{"q": f"{at} + 1000", "n": at + 1000, "why": "So"} for at in range(4)]


def written(folder: Path, **files: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def made(folder: Path, said: str, test: list[dict[str, Any]], train: list[dict[str, Any]] | None = None) -> Path:
    """The card of a task with its rows."""
    written(folder, test=test, train=train or test)
    (folder / "task.yaml").write_text(said)
    init_from_lm_eval(folder / "task.yaml", None, folder / "card.yaml")
    return folder / "card.yaml"


def exam_of(card: Path, **settings: Any) -> Any:
    return open_exam(ExamSpec(benchmark=CARD, name="card", **{"form": "base", **settings}), card)


def requests(card: Path, **settings: Any) -> list[Any]:
    exam = exam_of(card, **settings)
    return [exam.request(question, 0, Sampling()) for question in exam.questions()]


def test_prompts_of_choices(tmp_path: Path) -> None:
    card = made(tmp_path, CHOICE, METALS)
    first = requests(card, choose="likelihood")[1]
    assert isinstance(first, Choose)
    assert (first.prompt, first.continuations) == ("Q: Which is 1?\nA:", (" iron", " zinc", " lead"))
    shown = requests(card, choose="likelihood", shots=2)
    assert all(one.prompt.count("\nA: zinc\n\nQ:") == 2 for one in shown)
    assert len({one.prompt.rpartition("Q:")[0] for one in shown}) > 1, "drawn anew for every question"
    chat = requests(card, choose="likelihood", shots=1, form="chat")[0]
    assert [message.role for message in chat.prompt] == ["user", "assistant", "user"]
    assert chat.continuations == ("iron", "zinc")


def test_prompts_and_scores_of_what_is_written(tmp_path: Path) -> None:
    card = made(tmp_path, WRITTEN, SUMS, [{"q": "1 + 1", "n": 2, "why": "Count"}])
    exam = exam_of(card, shots=1)
    question = next(iter(exam.questions()))
    request = exam.request(question, 0, Sampling(max_tokens=40))
    assert isinstance(request, Generate)
    assert request.prompt == "Add.\n1 + 1 = Count #### 2\n\n0 + 1000 ="
    assert request.sampling.stop == ("Q:", "\n\n")
    chat = exam_of(card, shots=1, form="chat").request(question, 0, Sampling())
    assert chat.prompt == (
        Message("system", "Add.\n"), Message("user", "1 + 1 ="), Message("assistant", "Count #### 2"),
        Message("user", "0 + 1000 ="),
    )  # fmt: skip
    for (reply, outcome, parts), row in tabled(
        ("So #### 1,000", "right", {"strict": 1.0, "last": 1.0}),
        ("#### 1000\n\nQ: more #### 7", "right", {"strict": 1.0, "last": 1.0}),
        ("<think>#### 7</think>#### 1000", "right", {"strict": 1.0, "last": 1.0}),
        ("It is 1000", "unparsed", {"strict": 0.0, "last": 1.0}),
        ("#### 1001", "wrong", {"strict": 0.0, "last": 0.0}),
        ("#### 10000", "wrong", {"strict": 0.0, "last": 0.0}),
        ("nothing", "unparsed", {"strict": 0.0, "last": 0.0}),
        (" \n", "empty", {}),
        ("<think>#### 1000", "unparsed", {}),
    ):
        with row:
            score = exam.score(question, Response(text=reply))
            assert (score.outcome, score.parts) == (outcome, parts)
    cut = exam.score(question, Response(text="I think", stop_reason="length"))
    assert cut.outcome == "truncated"


def test_what_a_task_says_of_exemplars_and_ways_of_asking(tmp_path: Path) -> None:
    card = made(tmp_path, WRITTEN, SUMS)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"chain_of_thought": True}, "leave --cot out"),
        ({"shots": 9}, "--shots needs 9 rows to choose exemplars from, and there are 4"),
        ({"choose": "next-token"}, "compete by their whole texts"),
    ]
    for (settings, wanted), row in tabled(*refused):
        with row, pytest.raises(VivaError, match=wanted):
            exam_of(card, **settings)
    with pytest.raises(DataError, match="leave --prompts out"):
        ExamCard().open(ExamSpec(benchmark=CARD), card, {"task": "Do."})
    (tmp_path / "card.yaml").write_text(card.read_text().replace("num_fewshot: 1", "num_fewshot: 0"))
    with pytest.raises(DataError, match="`num_fewshot: 0`"):
        exam_of(card, shots=1)
    (tmp_path / "card.yaml").write_text(
        card.read_text().replace("  doc_to_text:", '  gen_prefix: "A:"\n  doc_to_text:')
    )
    with pytest.raises(DataError, match="add --form base"):
        exam_of(card, form="chat")
    assert next(iter(requests(card))).prompt == "Add.\n0 + 1000 = A:"


def test_rows_that_make_no_question_are_left_out_and_the_others_stay(tmp_path: Path) -> None:
    sound = {"q": "?", "o": ["a", "b"], "a": "a"}
    bad = [sound | {"a": "c"}, sound | {"o": "x", "a": "x"}, sound | {"q": 3}, {"o": ["a", "b"], "a": "a"},
           sound | {"o": ["a"]}]  # fmt: skip
    exam = exam_of(made(tmp_path, CHOICE, [*METALS, *bad]), choose="likelihood")
    kinds = [defect.kind for defect in exam.defects if defect.action == "unsound"]
    assert sorted(kinds) == ["a template fails"] * 4 + ["too few options"]
    assert sum(question.answer is not None for question in exam.questions()) == len(METALS)


def test_what_a_card_cannot_say_is_one_sentence_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "base.yaml").write_text("task: b\n")
    (tmp_path / "base.yaml").write_text(CHOICE)
    for (said, wanted), row in tabled(
        ("task: [a, b]\ngroup: g", r"is a group of tasks \(a, b, …\), and a card is one"),
        ("output_type: multiple_choice", "has no `task`"),
        ("task: t\nclass: !function x.Y", "is a Python class"),
        (CHOICE + "process_docs: !function utils.p\n", r"`process_docs` is a Python function \(utils.p\).*JSONL"),
        (CHOICE.replace('"{{o}}"', "!function u.c"), "`doc_to_choice` is a Python function"),
        (CHOICE.replace("multiple_choice", "loglikelihood_rolling"), "`viva perplexity`"),
        (CHOICE.replace("multiple_choice", "guess"), "there are generate_until and multiple_choice"),
        (CHOICE + "metric_list: [{metric: mcc}]", r"none of its metrics \(mcc\).*name one of these"),
        (WRITTEN.replace("exact_match", "bleu"), r"none of its metrics \(bleu\)"),
        (WRITTEN.replace("first_n", "balanced"), "no sampler 'balanced'"),
        (WRITTEN.replace("take_first}", "majority_vote}"), "has not the filter 'last'"),
        (WRITTEN.replace("{function: take_first}", "{function: lowercase}"), "does not end in take_first"),
        (WRITTEN.replace("#### (-?[0-9,]+)", "(").replace("{{why}} #### {{n}}", "{{a}}"), "a pattern of the card"),
        (CHOICE.replace('"Q: {{q.strip()}}\\nA:"', "0"), "`doc_to_text` is a number"),
        (CHOICE.replace('"{{o}}"', "[no, yes]"), r"Expected `str`, got `bool` - at `\$.doc_to_choice\[0\]`"),
        (CHOICE + "doc_to_txt: x", "unknown field `doc_to_txt`"),
        (CHOICE.replace("test.jsonl", "gone.jsonl"), "there is no file gone.jsonl"),
        (CHOICE.replace("test_split: test", ""), "neither `test_split` nor `validation_split`"),
        (CHOICE + "description: '{{q}}'", "`description` and `gen_prefix` of `lm_eval` are texts"),
        ("include: ../task.yaml\ntask: t", "only files in the folder of the task are read"),
        ("include: /etc/hostname\ntask: t", "only files in the folder of the task are read"),
        ("include: inner/base.yaml\ntask: t", "`doc_to_text` or `doc_to_target` is missing"),
        ("include: task.yaml\ntask: t", "comes back to task.yaml"),
        ("a: &a [1]\nb: [*a, *a]", r"line 2, column 5: a YAML alias \(\*a\)"),
        ("a: !!python/object/apply:os.system [id]", "not valid YAML"),
        ("- a", "is no task file"),
    ):
        with row:
            (tmp_path / "task.yaml").write_text(said)
            written(tmp_path, test=METALS, train=METALS)
            with pytest.raises(VivaError, match=wanted):
                init_from_lm_eval(tmp_path / "task.yaml", None, tmp_path / "card.yaml")
            assert not (tmp_path / "card.yaml").exists()


def test_includes_tags_and_folders(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        CHOICE.replace("json", "org/metals").replace("task: metals", "dataset_name: en")
    )
    (tmp_path / "task.yaml").write_text("include: base.yaml\ntag: [a, b]\ntask: mine\ndoc_to_text: '{{q}}?'\n")
    written(tmp_path / "data" / "en", test=METALS, train=METALS)
    written(tmp_path / "rounds" / "en", test_r1=METALS[:2], train_r1=METALS[2:])
    said = init_from_lm_eval(tmp_path / "task.yaml", None, tmp_path / "bare.yaml")
    assert "hf download org/metals --repo-type dataset --local-dir DIR" in said
    said = init_from_lm_eval(tmp_path / "task.yaml", tmp_path / "data", tmp_path / "card.yaml")
    assert "6 of 6 questions are sound" in said
    assert f"viva run {tmp_path / 'card.yaml'} --form base --model MODEL" in said
    assert requests(tmp_path / "card.yaml", choose="likelihood")[0].prompt == " Which is 0? ?"
    (tmp_path / "split.yaml").write_text(
        "include: base.yaml\ntask: mine\ntest_split: test_r1\ntraining_split: train_r1\ndataset_path: ../../etc\n"
    )
    init_from_lm_eval(tmp_path / "split.yaml", tmp_path / "rounds", tmp_path / "split_card.yaml")
    assert len(requests(tmp_path / "split_card.yaml", choose="likelihood", shots=3)) == 2


def test_rows_have_the_columns_and_numbers_of_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 2}\n{"x": 2.5}\n{"x": 3, "z": "1"}\n')
    (tmp_path / "b.csv").write_text("n,m,t,f,s\n1,1,True,.5,a\n2,,false,2,\n-3,4,TRUE,1e2,7\n")
    found = {
        name: [[*map(repr, row.values())] for *_, row in typed([tmp_path / name])] for name in ("a.jsonl", "b.csv")
    }
    assert found == {
        "a.jsonl": [["1.0", "2", "None"], ["2.5", "None", "None"], ["3.0", "None", "'1'"]],
        "b.csv": [["1", "1.0", "True", "0.5", "'a'"], ["2", "None", "False", "2.0", "None"],
                  ["-3", "4.0", "True", "100.0", "'7'"]],
    }  # fmt: skip


def test_exemplars_that_are_not_there_are_said_and_the_card_stays(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(WRITTEN)
    written(tmp_path, rows=SUMS)
    for name, shots, missing in (("card", 0, True), ("other", 1, False)):
        said = init_from_lm_eval(tmp_path / "task.yaml", tmp_path / "rows.jsonl", tmp_path / f"{name}.yaml")
        assert ("its 1 exemplars are not there yet" in said) == missing
        assert len(requests(tmp_path / f"{name}.yaml", shots=shots)) == 4
        written(tmp_path, train=SUMS[:1])


@each_row(
    ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError|UndefinedError"),
    ("{{ cycler.__init__.__globals__.os.popen('id').read() }}", "SecurityError|UndefinedError"),
    ("{% include '/etc/passwd' %}", "TypeError|no loader"),
    ("{{ 'a' * 10 ** 10 }}", "MemoryError|memory"),
    ("{{ 'ab' * 3 * 10 ** 6 }}", "characters"),
    ("{{ missing }}", "'missing' is undefined"),
    ("{{ x", "TemplateSyntaxError"),
)
def test_templates_are_kept_from_the_machine_and_bounded(template: str, why: str) -> None:
    fields = {"target": "{{ 1 }}"}
    with pytest.raises(TemplateError, match=why):
        render({"x": "a" * 60 + "b"}, {"text": template, **fields}, choices=False)
    made = render({"x": "a1"}, {"text": "{{ x | regex_replace('[0-9]', '') }}\n", **fields}, choices=True)
    assert made == {"text": "a\n", "target": 1}


@pytest.mark.slow
def test_what_goes_on_for_ever_ends(tmp_path: Path) -> None:
    for template in (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ x | regex_replace('(a+)+$', '') }}",
    ):
        with pytest.raises(TemplateError, match="1 s of the processor"):
            render({"x": "a" * 60 + "b"}, {"text": template, "target": "x"}, choices=False)
    card = made(tmp_path, WRITTEN.replace("#### (-?[0-9,]+)", "(x+)+$"), SUMS)
    exam = exam_of(card)
    score = exam.score(next(iter(exam.questions())), Response(text="x" * 60 + "y"))
    assert (score.outcome, score.explanation) == ("unparsed", "a pattern of the card takes more than 1 s on this reply")


@given(st.text(), st.sampled_from(["(a)|(b)?", "[^ ]+", "^(.*?)$", "x*"]), st.integers(-2, 2))
def test_any_reply_is_scored_and_the_gold_answer_is_right(reply: str, pattern: str, group: int) -> None:
    steps = {"all": [Filter("remove_whitespace"), Filter("take_first")], "some": [Filter("regex", pattern, group)]}
    found = match(reply, [reply.strip()], steps, Metric("exact_match", ignore_case=True, ignore_punctuation=True))
    assert found is not None
    assert found["all"].same
    assert not found["all"].lost
    assert match(reply, ["", reply], steps, Metric("exact_match")) is not None


@given(st.integers(1, 30), st.integers(1, 5), st.booleans(), st.integers(0, 2**31))
def test_exemplars_are_drawn_again_as_before_and_never_the_question(
    size: int, shots: int, apart: bool, seed: int
) -> None:
    pool = [{"q": at} for at in range(size)]
    samplers: tuple[Any, ...] = ("default", "first_n")
    for sampler in samplers:
        shown = Shown(sampler=sampler, seed=seed, without_question=apart)
        try:
            found = list(exemplars_of(shown, pool, pool, shots))
        except DataError:
            assert size < shots + apart
            continue
        assert found == list(exemplars_of(shown, pool, pool, shots))
        assert all(len(set(places)) == shots for places in found)
        if apart:
            assert all(at not in places for at, places in enumerate(found))


def test_a_card_made_by_hand_may_hold_a_task(tmp_path: Path) -> None:
    card = made(tmp_path, CHOICE, METALS)
    assert isinstance(exam_of(card), LmEvalExam)
    content = card.read_text()
    for (said, wanted), row in tabled(
        (content + "question: q\n", "`question` stands beside `lm_eval`"),
        (content.replace("format: choice", "format: exact"), "is `format: choice`"),
        (content + "  doc_to_image: x\n", "unknown field `doc_to_image`"),
        ("data: x.csv\nformat: choice\n", "`question` is missing"),
    ):
        with row:
            card.write_text(said)
            with pytest.raises(DataError, match=wanted):
                exam_of(card)
