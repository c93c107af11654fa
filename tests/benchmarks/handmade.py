"""Question sets of a few hand-made questions, in the published formats."""

import csv
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.benchmarks import find_benchmark
from viva.contracts import Exam
from viva.types import ExamSpec, Generate, Message, Question, Sampling

FOLDERS = {"en": "CSBench-EN", "zh": "CSBench-CN", "de": "CSBench-DE", "fr": "CSBench-FR"}
DOMAINS = {
    "DSA": "Data Structure and Algorithm",
    "CO": "Computer Organization",
    "CN": "Computer Network",
    "OS": "Operating System",
}


def record(number: int | str, answer: object = "A", **over: object) -> dict[str, object]:
    """A CS-Bench record, multiple-choice unless told otherwise. A value of ... leaves a key out."""
    complete: dict[str, object] = {
        "ID": number,
        "Split": "Test",
        "Domain": DOMAINS["DSA"],
        "SubDomain": "Tree",
        "Format": "Multiple-choice",
        "Tag": "Knowledge",
        "Language": "English",
        "Question": f"Which statement about trees has the number {number}?",
    }
    if over.get("Format", "Multiple-choice") == "Multiple-choice":
        complete |= {letter: f"statement {letter} of {number}" for letter in "ABCD"}
    complete |= {"Answer": answer, **over}
    return {name: value for name, value in complete.items() if value is not ...}


def csbench(folder: Path, language: str = "en", test: Sequence[Any] = (), valid: Sequence[Any] | None = None) -> Path:
    """Write one language's files; returns the folder, which may get more languages."""
    home = folder / FOLDERS[language]
    home.mkdir(parents=True, exist_ok=True)
    (home / "test.json").write_text(json.dumps(list(test), ensure_ascii=False), encoding="utf-8")
    if valid is not None:
        (home / "valid.json").write_text(json.dumps(list(valid), ensure_ascii=False), encoding="utf-8")
    return folder


def rows(*questions: Sequence[object], header: Sequence[str] = ("", "Question", "A", "B", "C", "D", "Answer")) -> str:
    """A CMMLU file: a row a question (text, four options, letter), numbered."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(header)
    table.writerows((number, *question) for number, question in enumerate(questions))
    return out.getvalue()


def cmmlu(folder: Path, test: Mapping[str, str | bytes], dev: Mapping[str, str | bytes] | None = None) -> Path:
    """Write subjects' files, text or bytes as they are."""
    for split, files in (("test", test), ("dev", dev or {})):
        for name, content in files.items():
            (folder / split).mkdir(parents=True, exist_ok=True)
            raw = content if isinstance(content, bytes) else content.encode("utf-8")
            (folder / split / f"{name}.csv").write_bytes(raw)
    return folder


def opened(benchmark: str, data: Path | None = None, **settings: Any) -> Exam:
    """An exam; the bundled sample without `data`."""
    spec = ExamSpec(benchmark=benchmark, **{"language": "zh" if benchmark == "cmmlu" else "en", **settings})
    return find_benchmark(benchmark).open(spec, data, None)


def request(exam: Exam, question: Question, **sampling: Any) -> Generate:
    """What the model is asked."""
    found = exam.request(question, 0, Sampling(**sampling))
    assert isinstance(found, Generate)
    return found


def dropped(exam: Exam, *questions: Question, **sampling: Any) -> int:
    """How many exemplars did not fit, in the prompts of these questions; of all of them where none is named."""
    return sum(request(exam, question, **sampling).dropped for question in questions or exam.questions())


def asked(exam: Exam, question: Question, **sampling: Any) -> str:
    """The one user message, or the text to continue."""
    prompt = request(exam, question, **sampling).prompt
    if isinstance(prompt, str):
        return prompt
    (message,) = prompt
    assert isinstance(message, Message)
    assert message.role == "user"
    return message.content


def golds(exam: Exam) -> dict[str, str | None]:
    """Gold answers by id."""
    return {question.id: question.answer for question in exam.questions()}


def counted(exam: Exam) -> dict[tuple[str, str], int]:
    """How many defects of each kind and action; that most of CMMLU's subjects are missing goes without saying."""
    found: dict[tuple[str, str], int] = {}
    for defect in exam.defects:
        if defect.kind == "missing subjects":
            continue
        found[defect.kind, defect.action] = found.get((defect.kind, defect.action), 0) + 1
    return found


def fresh(folder: Path) -> Path:
    """A new, empty folder within: rows of one table that write files do not find each other's."""
    return Path(tempfile.mkdtemp(dir=folder))
