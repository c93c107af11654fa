"""A pool of made-up questions, and a project of `viva build infibench` whose commands run in this process."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from cli.told import command_of, ended
from servers.inprocess import Ended
from viva.build.stackexchange.pool import BUILD, POOL, Build, LanguageCount, PoolAnswer, PoolQuestion

AREAS = {"python": "DS & ML", "bash": "IT operations", "go": "back-end"}


def build(*arguments: object) -> Ended:
    """A command of `viva build infibench`; errors come out as they are raised."""
    return ended(command_of("build infibench"), *arguments)


def asked(number: int = 101, **changed: object) -> PoolQuestion:
    """A question of the pool with three answers."""
    language = str(changed.get("language", "python"))
    bodies = changed.pop("answers", ("<p>Write <code>flatten</code>.</p>", "<p>Loop.</p>", "<p>Do not.</p>"))
    assert isinstance(bodies, Sequence)
    given: dict[str, object] = {
        "id": number,
        "title": "How do I flatten a list of lists and keep its order?",
        "body": "<p>I have a list of lists and I want one list with everything in it, in order.</p>",
        "tags": (language,),
        "language": language,
        "area": AREAS.get(language, "other"),
        "created": "2024-06-01",
        "views": 5000,
        "score": 12,
        "accepted": number * 10,
        "answers": tuple(
            PoolAnswer(id=number * 10 + at, score=9 - at, body=body, created="2024-06-02")
            for at, body in enumerate(bodies)
        ),
        "rank": 1,
        "reserve": False,
        **changed,
    }
    return msgspec.convert(given, PoolQuestion)


POOL_OF_FOUR = (
    asked(101, answers=("<pre><code>def flatten(xs):\n    return [y for x in xs for y in x]\n</code></pre>",)),
    asked(102, rank=2, title="Sort a dict by value", body="<p>How to sort a dict by its values, descending?</p>",
          answers=("<p>Use <code>sorted</code> with a <code>key</code>.</p>",), created="2015-03-02"),
    asked(103, rank=3, reserve=True, body="<p>What is the difference between a list and a tuple?</p>",
          answers=("<p>A tuple is immutable.</p>",)),
    asked(104, language="bash", title="List files", body="<p>How can I list all the hidden files of a folder?</p>",
          answers=("<p><code>ls -A</code></p>",)),
)  # fmt: skip


def as_jsonl(questions: Iterable[PoolQuestion]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in questions)


def write_pool(folder: Path, questions: Sequence[PoolQuestion] = POOL_OF_FOUR, **quotas: int) -> Path:
    """A pool as `viva build infibench pool` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / POOL).write_bytes(as_jsonl(questions))
    counts = dict.fromkeys(("questions", "accepted", "answered", "seen", "seed", "drawn"), len(questions))
    languages = tuple(
        LanguageCount(language=name, area=AREAS.get(name, "other"), quota=quota, **counts)
        for name, quota in (quotas or {"python": 2, "bash": 1}).items()
    )
    made = Build(viva="0", settings={}, date="2025-01-01", rows=9, questions=len(questions), answers=9,
                 languages=languages, broken=(), source="x", fingerprint="y")  # fmt: skip
    (folder / BUILD).write_bytes(msgspec.json.encode(made))
    return folder


FLATTEN = """\
questions:
  - id: so-101
    question: |
      Write a Python function `flatten(xs)` that puts the elements of all inner lists one behind the other.
    tags: {author: Ada, type: code completion, language: python, area: DS & ML}
    grading:
      tests:
        language: python
        cases:
          - assert flatten([[1, 2], [3]]) == [1, 2, 3]
          - assert flatten([]) == []
    examples:
      - score: full
        answer: |2
          ```
          def flatten(xs):
              return [y for x in xs for y in x]
          ```
      - {score: below 1, answer: "```\\ndef flatten(xs):\\n    return xs\\n```"}
      - {score: none, answer: I do not know.}
"""
QUICK = """\
questions:
  - id: so-101
    question: |
      Write a Python function `flatten(xs)` that puts the elements of all inner lists one behind the other.
    tags: {author: Ada, type: code completion, language: python, area: DS & ML}
    grading:
      keywords: [def flatten, {regex: 'for \\w+ in x'}]
    examples:
      - {score: full, answer: "def flatten(xs): return [y for x in xs for y in x]"}
      - {score: 1/2, answer: "def flatten(xs): return xs"}
"""
"""The same as FLATTEN without a test to be run: quick."""
SORTED = """\
questions:
  - id: so-102
    question: Which built-in function of Python orders the entries of a dictionary, the largest value first?
    tags: {author: Ada & Alan, type: knowledge question-answering, language: python, area: DS & ML}
    grading:
      keywords: [sorted, {text: key, weight: 2}]
    examples:
      - {score: full, answer: "sorted(d.items(), key=lambda kv: -kv[1])"}
      - {score: 1/3, answer: "sorted(d)"}
      - {score: none, answer: "d.sort()"}
"""
TUPLE = """\
questions:
  - id: so-103
    question: In one word, what can a Python list be that its fixed sibling in parentheses cannot?
    tags: {author: Alan, type: knowledge question-answering, language: python, area: DS & ML}
    grading:
      keywords: [{regex: '(?i)(chang|mutab|modif)'}]
    examples:
      - {score: full, answer: "Changed. A tuple is immutable."}
      - {score: none, answer: "Printed."}
"""
HIDDEN = """\
questions:
  - id: so-104
    question: Which command shows what a directory holds, names with a leading dot included, but not . and ..?
    tags: {author: Ada, type: knowledge question-answering, language: bash, area: IT operations}
    grading:
      keywords: [{regex: 'ls\\s+(-A|--almost-all)'}]
    examples:
      - {score: full, answer: "`ls -A`"}
      - {score: none, answer: "`ls -a`"}
"""
WRITTEN = {101: QUICK, 102: SORTED, 103: TUPLE, 104: HIDDEN}


def make_project(folder: Path, written: Mapping[int, str] = WRITTEN, **quotas: int) -> Path:
    """A project with kits, in which experts wrote."""
    write_pool(folder, POOL_OF_FOUR, **quotas)
    assert build("kit", folder, "--all").code == 0
    for number, text in written.items():
        write(folder, number, text)
    return folder


def write(project: Path, number: int, text: str) -> None:
    (project / "questions" / str(number) / "question.yaml").write_text(text, encoding="utf-8")
