"""Own-written rows in the layouts of data sets of lm-evaluation-harness's tasks, by task file.

Texts are difficult for templates: blanks at either end, quotes, braces, line ends, letters beyond ASCII, numbers as
texts and as numbers.
"""

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
TEXTS = (
    "What is 2 + 2?", " Which, then? ", "Who said \"it's {{ so }}\"?", "哪一个？", "Line one\nline two", "50% of {x}?",
    "Where\tis it?", "Is \\frac{1}{2} so?", "Ends with a blank ", "Naïve – or not?", "Why 'not'?", "And [this]?",
)  # fmt: skip
WORDS = ("iron", "the mercury", "lead; or tin", "zinc's", "42", "ÄÖ", 'a "b"', "x\\y")


def word(at: int) -> str:
    return WORDS[at % len(WORDS)] + (f" {at}" if at >= len(WORDS) else "")


def four(at: int) -> list[str]:
    return [word(at + step) for step in range(4)]


def _arc(at: int) -> Row:
    labels = list("ABCD") if at % 3 else list("1234")
    return {
        "id": f"q{at}", "question": TEXTS[at % 12], "choices": {"text": four(at), "label": labels},
        "answerKey": labels[at % 4],
    }  # fmt: skip


def _csqa(at: int) -> Row:
    return {
        "id": f"q{at}", "question": TEXTS[at % 12],
        "choices": {"label": list("ABCDE"), "text": [*four(at), "none"]}, "answerKey": "ABCDE"[at % 5],
    }  # fmt: skip


def _mmlu(at: int) -> Row:
    return {"question": TEXTS[at % 12] + str(at // 12), "subject": "s", "choices": four(at), "answer": at % 4}


def _gsm8k(at: int) -> Row:
    said = f"First {at} and {at}.\nThat is <<{at}+{at}={2 * at}>>{2 * at}.\n#### {2 * at * 1000:,}"
    return {"question": f"{TEXTS[at % 12]} {at}", "answer": said}


def _boolq(at: int) -> Row:
    return {"question": f"is it {word(at)}", "passage": TEXTS[at % 12], "idx": at, "label": at % 2}


def _bbh(at: int) -> Row:
    return {"input": TEXTS[at % 12], "target": ["True", "False"][at % 2]}


TASKS: dict[str, Callable[[int], Row]] = {
    "arc/arc_easy.yaml": _arc,
    "arc/arc_challenge.yaml": _arc,
    "arc/arc_challenge_chat.yaml": _arc,
    "piqa/piqa.yaml": lambda at: {"goal": TEXTS[at % 12], "sol1": word(at), "sol2": word(at + 1), "label": at % 2},
    "sciq/sciq.yaml": lambda at: {
        "question": TEXTS[at % 12], **{f"distractor{n + 1}": word(at + n) for n in range(3)},
        "correct_answer": word(at + 3), "support": "" if at % 4 == 0 else f"\n {TEXTS[(at + 1) % 12]}"},
    "super_glue/boolq/default.yaml": _boolq,
    "super_glue/boolq/seq2seq.yaml": _boolq,
    "gsm8k/gsm8k.yaml": _gsm8k,
    "gsm8k/gsm8k-cot.yaml": _gsm8k,
    "triviaqa/default.yaml": lambda at: {
        "question": TEXTS[at % 12], "question_id": f"t{at}",
        "answer": {"value": word(at), "aliases": [word(at), word(at + 1), f"The {word(at + 2)}!"]}},
    "nq_open/nq_open.yaml": lambda at: {
        "question": TEXTS[at % 12], "answer": [f"the {word(at)}", word(at + 1)][: 1 + at % 2]},
    "mmlu/default/mmlu_anatomy.yaml": _mmlu,
    "mmlu/generative/mmlu_anatomy.yaml": _mmlu,
    "wmdp/wmdp_bio.yaml": _mmlu,
    "commonsense_qa/default.yaml": _csqa,
    "truthfulqa/truthfulqa_mc1.yaml": lambda at: {
        "question": TEXTS[at % 12],
        "mc1_targets": {"choices": four(at)[: 2 + at % 3], "labels": [1, 0, 0, 0][: 2 + at % 3]}},
    "siqa/siqa.yaml": lambda at: {
        "context": TEXTS[at % 12], "question": "Why?", "label": str(1 + at % 3),
        **{f"answer{letter}": word(at + n) for n, letter in enumerate("ABC")}},
    "swag/swag.yaml": lambda at: {
        "startphrase": TEXTS[at % 12], "label": at % 4, **{f"ending{n}": text for n, text in enumerate(four(at))}},
    "cmmlu/cmmlu_anatomy.yaml": lambda at: {
        "Question": TEXTS[at % 12], **dict(zip("ABCD", four(at), strict=True)), "Answer": "ABCD"[at % 4]},
    "mc_taco/default.yaml": lambda at: {
        "sentence": TEXTS[at % 12], "question": "How long?", "answer": word(at), "label": at % 2, "category": 1},
    "glue/rte/default.yaml": lambda at: {
        "sentence1": TEXTS[at % 12], "sentence2": word(at), "label": at % 2, "idx": at},
    "anli/anli_r1.yaml": lambda at: {
        "uid": str(at), "premise": TEXTS[at % 12], "hypothesis": word(at), "label": at % 3, "reason": ""},
    "mgsm/direct/mgsm_direct_en.yaml": lambda at: {
        "question": TEXTS[at % 12], "answer": None if at % 2 else "Step", "answer_number": at * 7},
    "babi/babi.yaml": lambda at: {
        "passage": TEXTS[at % 12] + "\n", "question": "Where?", "answer": word(at), "task": 1},
    "hendrycks_ethics/commonsense.yaml": lambda at: {"input": TEXTS[at % 12], "label": at % 2, "is_short": True},
    "bbh/cot_fewshot/boolean_expressions.yaml": _bbh,
    "leaderboard/bbh_mc/boolean_expressions.yaml": _bbh,
    "headqa/headqa_en.yaml": lambda at: {
        "qtext": TEXTS[at % 12], "ra": 1 + at % 4,
        "answers": [{"aid": n, "atext": text} for n, text in enumerate(four(at), 1)]},
    "qa4mre/qa4mre_2011.yaml": lambda at: {
        "document_str": f" {TEXTS[at % 12]} ", "question_str": TEXTS[(at + 1) % 12],
        "correct_answer_id": str(1 + at % 5),
        "answer_options": {"answer_id": list("12345"), "answer_str": [*four(at), "none"]}},
}  # fmt: skip
"""A task's file below the tasks that lm-eval installs → its row of that number."""


def rows(task: str, count: int, start: int = 0) -> list[Row]:
    """Rows for a task; the same ones for the same numbers."""
    return [TASKS[task](at) for at in range(start, start + count)]
