"""Prompts word for word in every language, format and way of asking, since a changed prompt changes scores.

`wording.json` has the prompts of one question per kind; after an intended change, raise the benchmark's version:
`PYTHONPATH=src:tests python -m benchmarks.test_wording` writes them as they are now.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.handmade import csbench, record
from benchmarks.handmade_syneval import write
from rows import table
from viva.benchmarks import open_exam
from viva.benchmarks.csbench.errorlabels import ErrorTypes
from viva.contracts import Exam
from viva.prompting import prompt_text
from viva.types import ExamSpec, Question, Response, Sampling

GOLDEN = Path(__file__).with_name("wording.json")
CS_BENCH = {
    "Multiple-choice": "B",
    "Assertion": True,
    "Fill-in-the-blank": "{answer}, \\frac{1}{2}",
    "Open-ended": "Both are trees.",
}
EXPLAINED = {"rationale": True}
WAYS: dict[str, list[dict[str, Any]]] = {
    "csbench": [{"shots": 1}, {"shots": 1, "chain_of_thought": True}, {"form": "base"}, EXPLAINED,
                {"form": "base", "shots": 1, "chain_of_thought": True}],
    "cmmlu": [{"shots": 2}, {"chain_of_thought": True, "shots": 1}, {"form": "base"}, EXPLAINED],
    "clrbench": [{"shots": 1}, {"form": "base", "shots": 1}, {}],
    "syneval": [{}, {"shots": 2}, {"form": "base"}, {"shots": 2, "as_published": True},
                {"form": "base", "shots": 2, "as_published": True}],
    "infibench": [{}, {"form": "base"}],
}  # fmt: skip


def exams(folder: Path) -> Iterator[tuple[str, Exam]]:
    """Every way of asking; CS-Bench in its languages, with a question and an exemplar of our own in each format."""
    for benchmark, ways in WAYS.items():
        for language in {"csbench": ("en", "zh", "de", "fr"), "cmmlu": ("zh",)}.get(benchmark, ("en",)):
            data = None
            if benchmark == "csbench":
                test, shown = (
                    [record(at + n, gold, Format=name, Explanation=f"because {{question}} {at + n}" if n != 2 else ...,
                            Tag=("Reasoning", "Knowledge")[n % 2])
                     for n, (name, gold) in enumerate(CS_BENCH.items())]
                    for at in (1, 100)
                )  # fmt: skip
                data = csbench(folder, language, test, shown)
            elif benchmark == "syneval":
                data = write(folder / "syneval")
            for way in ways:
                said = " ".join(f"{name}={value}" for name, value in way.items())
                yield (
                    f"{benchmark} {language} {said}".strip(),
                    open_exam(ExamSpec(benchmark=benchmark, language=language, **way), data),
                )


def asked(exam: Exam, question: Question) -> Iterator[tuple[str, str]]:
    """What examinee and judges are asked, with where a reply ends and how long it may be."""
    request = exam.request(question, 0, Sampling(max_tokens=256))
    ends = "".join(f"[stop {text!r}]" for text in request.sampling.stop)
    yield question.kind, f"{prompt_text(request.prompt)}[{request.sampling.max_tokens}]{ends}"
    reply = Response(text=json.dumps({"Rationale": "Since so.", "Answer": "mine"}) if exam.spec.rationale else "mine")
    for one in exam.judgements(question, reply, 1, {}):
        yield f"{question.kind}, judge of the {one.aspect}", prompt_text(one.prompt)
    if exam.spec.benchmark == "csbench" and question.kind in ("choice", "truth"):
        yield f"{question.kind}, errors", prompt_text(ErrorTypes().request(question, reply, 0).prompt)


def wording(folder: Path) -> dict[str, dict[str, str]]:
    """Way → kind → what is asked; a text that an earlier way had is left out."""
    found: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for name, exam in exams(folder):
        first: dict[str, Question] = {}
        for question in exam.questions():
            first.setdefault(question.kind, question)
        found[name] = {what: text for one in first.values() for what, text in asked(exam, one) if text not in seen}
        seen.update(found[name].values())
    return found


def test_every_prompt_is_word_for_word_what_it_was(tmp_path: Path) -> None:
    golden, now = json.loads(GOLDEN.read_text(encoding="utf-8")), wording(tmp_path)
    with table() as row:
        for way in golden | now:
            with row(way):
                assert now.get(way) == golden.get(way)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        made = json.dumps(wording(Path(place)), ensure_ascii=False, indent=1)
        GOLDEN.write_text(made + "\n", encoding="utf-8")
