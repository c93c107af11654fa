"""The real lm-evaluation-harness (0.4.13): it runs Viva's tasks with the same scores, and Viva grades its files."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import opened
from interop.command import command, direct, grade
from interop.replies import dice, reply_to
from viva.types import Question, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.peers("lm_eval", "datasets")]
THEIRS = """\
task: theirs_{name}
custom_dataset: !function theirs.load
test_split: test
output_type: {kind}
doc_to_text: "单项选择题。\\n题目：{{{{stem}}}}\\nA. {{{{A}}}}\\nB. {{{{B}}}}\\nC. {{{{C}}}}\\nD. {{{{D}}}}\\n答案是："
doc_to_target: gold
{more}
"""
GENERATING = """\
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 8}
repeats: 2
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
CHOOSING = """\
doc_to_choice: ["A", "B", "C", "D"]
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""
LOADER = """\
import json, pathlib
from datasets import Dataset
def load(**given):
    rows = json.loads((pathlib.Path(__file__).parent / "docs.json").read_text())
    return {"test": Dataset.from_list(rows)}
"""


LIMIT = 60
"""SynEval's sample has 1,161 questions."""


def cmmlu() -> list[Question]:
    return list(opened("cmmlu", language="zh").questions())


def turned(question: Question) -> list[str]:
    """The options as another data set may have them: in another order."""
    by = dice(question, 4)
    return [*question.options[by:], *question.options[:by]]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of lm-eval over our exported tasks, and over tasks of somebody else's on the same questions."""
    from interop.harness import evaluate

    folder = tmp_path_factory.mktemp("lm-eval")
    exported = command(folder, "export", "cmmlu", "csbench", "syneval", "--to", "lm-eval-tasks", "--out", "tasks")
    assert exported.code == 0, exported.err
    syneval = folder / "tasks" / "viva_syneval.yaml"
    syneval.write_text(syneval.read_text().replace("metadata:", f"metadata:\n  limit: {LIMIT}"))
    asked: dict[str, Question] = {}
    for benchmark in ("cmmlu", "csbench", "syneval"):
        exam = opened(benchmark)
        for question in exam.questions():
            prompt = exam.request(question, 0, Sampling()).prompt
            asked["\n\n".join(turn.content for turn in prompt if turn.role != "system")] = question

    tasks = ["viva_cmmlu", "viva_csbench", "viva_syneval"]
    ours = evaluate(tasks, folder / "tasks", folder / "ours", lambda text: next_reply(asked, text), limit=None)
    theirs = folder / "theirs"
    theirs.mkdir()
    docs = [
        {"stem": q.text, **dict(zip("ABCD", turned(q), strict=True)), "gold": "ABCD"[turned(q).index(gold_text(q))]}
        for q in cmmlu()
    ]
    (theirs / "docs.json").write_text(json.dumps(docs))
    (theirs / "theirs.py").write_text(LOADER)
    for name, kind, more in (("generate", "generate_until", GENERATING), ("choose", "multiple_choice", CHOOSING)):
        (theirs / f"{name}.yaml").write_text(THEIRS.format(name=name, kind=kind, more=more))
    stems = {doc["stem"]: (question, doc) for question, doc in zip(cmmlu(), docs, strict=True)}
    seen: dict[str, int] = {}

    def find(prompt: str) -> tuple[Question, dict[str, str]]:
        return stems[prompt.partition("题目：")[2].partition("\nA. ")[0]]

    def generate(prompt: str) -> str:
        question, doc = find(prompt)
        sample = seen[prompt] = seen.get(prompt, -1) + 1
        return shown(question, doc, reply_to(question, sample % 2))

    def likelihood(prompt: str, text: str) -> float:
        question, doc = find(prompt)
        wanted = reply_to(question).removeprefix("The answer is ").rstrip(".") or "A"
        return -0.5 if text.strip() == shown(question, doc, wanted) else -2.5 - len(text)

    other = evaluate(["theirs_generate", "theirs_choose"], theirs, folder / "others", generate, likelihood)
    return {"folder": folder, "ours": ours, "theirs": other}


def gold_text(question: Question) -> str:
    return question.options["ABCD".index(str(question.answer))]


def shown(question: Question, doc: dict[str, str], reply: str) -> str:
    """A reply with our letters, as one with the letters of the other order."""
    for letter in "ABCD":
        if reply in (letter, f"The answer is {letter}."):
            other = next(name for name in "ABCD" if doc[name] == question.options["ABCD".index(letter)])
            return reply.replace(f"{letter}.", f"{other}.") if len(reply) > 1 else other
    return reply


def next_reply(asked: dict[str, Question], text: str) -> str:
    """Our prompt is all that the model is given, behind what the system is told where there is that."""
    question = asked.get(text)
    if question is None:
        question = next(question for prompt, question in asked.items() if text.endswith(prompt))
    return reply_to(question)


@pytest.mark.parametrize("benchmark", ["cmmlu", "csbench", "syneval"])
def test_lm_eval_scores_our_tasks_as_we_do_and_we_grade_what_it_wrote(
    outputs: dict[str, Any], tmp_path: Path, benchmark: str
) -> None:
    limit = LIMIT if benchmark == "syneval" else None
    plain = direct(tmp_path / "plain", benchmark, limit=limit)
    assert outputs["ours"]["results"][f"viva_{benchmark}"]["viva,none"] == pytest.approx(plain["mean"])
    (samples,) = (outputs["folder"] / "ours").rglob(f"samples_viva_{benchmark}_*.jsonl")
    ended = grade(tmp_path, benchmark, samples, *(("--limit", limit) if limit else ()))
    assert ended.overall == plain
    assert "by id" in ended.err


def test_what_is_unscored_is_counted_and_no_zero(outputs: dict[str, Any]) -> None:
    results = outputs["ours"]["results"]["viva_csbench"]
    assert results["viva_unscored,none"] > 0
    assert results["viva,none"] > 0.3


def test_somebody_elses_task_is_matched_by_text_and_its_letters_by_their_options(
    outputs: dict[str, Any], tmp_path: Path
) -> None:
    (samples,) = (outputs["folder"] / "others").rglob("samples_theirs_generate_*.jsonl")
    ended = grade(tmp_path, "cmmlu", samples, "--run", "run")
    assert "96 by text" in ended.err
    assert ended.overall == direct(tmp_path / "plain", "cmmlu", samples=2)


def test_an_option_chosen_by_likelihood_is_its_letter(outputs: dict[str, Any], tmp_path: Path) -> None:
    (samples,) = (outputs["folder"] / "others").rglob("samples_theirs_choose_*.jsonl")
    ended = grade(tmp_path, "cmmlu", samples)
    assert ended.overall["outcomes"].keys() <= {"right", "wrong"}
    acc = outputs["theirs"]["results"]["theirs_choose"]["acc,none"]
    assert ended.overall["outcomes"]["right"] == round(acc * 96)


def test_a_results_folder_is_read_whole_and_two_answers_to_a_question_are_refused(
    outputs: dict[str, Any], tmp_path: Path
) -> None:
    both = grade(tmp_path, "cmmlu", outputs["folder"] / "others")
    assert both.code == 2
    assert "answered twice" in both.err
    ended = grade(tmp_path, "csbench", outputs["folder"] / "ours")
    assert ended.code == 3, "the other benchmarks' items are listed"
    assert "not matched" in ended.err


def test_a_run_needs_the_original_no_more(outputs: dict[str, Any], tmp_path: Path) -> None:
    (samples,) = (outputs["folder"] / "ours").rglob("samples_viva_cmmlu_*.jsonl")
    copy = tmp_path / samples.name
    copy.write_bytes(samples.read_bytes())
    first = grade(tmp_path, "cmmlu", copy, "--run", "run")
    copy.unlink()
    (tmp_path / "run").rename(tmp_path / "moved")
    again = command(tmp_path, "score", "moved", "--format", "json")
    assert again.code == 0, again.err
    assert again.overall == first.overall
    resumed = command(tmp_path, "resume", "moved", "--format", "json", "--progress", "quiet")
    assert resumed.code == 0, resumed.err
