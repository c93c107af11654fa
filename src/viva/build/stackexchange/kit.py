"""The kit of a question: original.md for the expert to read, and question.yaml to write.

question.yaml is a question file (docs/data.md) of one question, with two more tags: `author` and `type`. It begins as a
template with an empty question.

People's answers are also written as files of answers to a set: the human baselines of InfiBench's Table 6. One file
per baseline: the accepted answer, the answer with most votes, and the ten with most votes, of which the best counts.
Answers are formatted as a model's would be, Markdown with fenced code.

A model may draft the prompt: a question's texts are untrusted and are fenced in the request, and an expert rewrites the
draft.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct

from viva.build.drafting import draft_and_doubt, draft_texts, drafting_request
from viva.build.files import digest_of, toml_of, unix_lines
from viva.build.stackexchange.plaintext import INDENT, one_title, plain
from viva.build.stackexchange.pool import PoolQuestion
from viva.errors import DataError
from viva.prompting import clip, replace_surrogates
from viva.types import Generate, Sampling

QUESTIONS, FILE, DRAFT = "questions", "question.yaml", "draft.md"
TYPES = ("code completion", "code debugging", "knowledge question-answering", "non-code debugging")
"""The paper's four types of question."""
LONGEST = 1_000_000
"""Characters of a question.yaml."""
MOST_ANSWERS = 10
"""Answers shown to an expert, including the accepted one."""
IDLE = "I do not know."
"""An empty answer in words: it must not score full marks."""
KEPT = 2048
"""Questions whose converted texts are cached, since the page of a pool is built from them repeatedly."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_GUIDE = """\
# 1. Read original.md. Ask the same in your own words, complete in itself, so that one answer is right. Code may stay.
# 2. Choose what grades it, and write the criteria. `viva docs data` has all keys; the paper's four metrics are
#      keywords:   [text, {{regex: 'a+b', weight: 2}}, {{any: [one, other]}}]           texts that must occur
#      blanks:     {{template: "x = [blank]", answers: [{{any: ["1", "one"]}}]}}            a template to be filled in
#      tests:      {{language: python, cases: ["assert f(1) == 2"]}}                      programs that test the code
#      similarity: [{{metric: rougeL, references: [a good answer]}}]                     words shared with a good answer
# 3. Examples: make the accepted answer fit your question, it must score full; add wrong ones that nearly fit.
# 4. `author`: your name. `type`: {types}.
# 5. viva build infibench check PROJECT; then somebody else decides: viva build infibench review PROJECT
"""


def question_id(question: PoolQuestion) -> str:
    """Return the question's id in the set: so-11227809."""
    return f"so-{question.id}"


def url(question: PoolQuestion) -> str:
    """Return the question's URL."""
    return f"https://stackoverflow.com/questions/{question.id}"


def answer_url(answer: int) -> str:
    """Return an answer's URL."""
    return f"https://stackoverflow.com/a/{answer}"


@lru_cache(maxsize=KEPT)
def original_text(question: PoolQuestion) -> str:
    """Return title and body as plain text."""
    return f"{one_title(question.title)}\n\n{plain(question.body)}"


@lru_cache(maxsize=KEPT)
def answers_text(question: PoolQuestion) -> str:
    """Return the answers as plain text, the accepted one first, each with its votes."""
    ordered = sorted(question.answers, key=lambda answer: answer.id != question.accepted)
    shown = [
        f"Answer {answer.id}{' (accepted)' if answer.id == question.accepted else ''}, {answer.score:,} votes, "
        f"{answer.created[:10]}, {answer_url(answer.id)}\n\n{plain(answer.body)}"
        for answer in ordered[:MOST_ANSWERS]
    ]
    if len(ordered) > MOST_ANSWERS:
        shown.append(f"... and {len(ordered) - MOST_ANSWERS} more answers with fewer votes")
    return f"\n\n{'-' * 40}\n\n".join(shown)


@lru_cache(maxsize=KEPT)
def accepted_text(question: PoolQuestion) -> str:
    """Return the accepted answer, or else the best one, as Markdown with fenced code; "" if there is none."""
    best = [answer for answer in question.answers if answer.id == question.accepted] or list(question.answers[:1])
    return fenced(plain(best[0].body)) if best else ""


def fenced(text: str) -> str:
    """Replace code indented by four spaces with fenced code, which unit tests extract."""
    lines: list[str] = []
    inside = False
    waiting = 0
    mark = "```" if "```" not in text else "~~~~"
    for line in text.split("\n"):
        if not line.strip():
            waiting += 1
            continue
        code = line.startswith(INDENT) and (inside or waiting > 0 or not lines)
        if code != inside:
            lines += [mark, *[""] * waiting] if inside else [*[""] * waiting, mark]
        else:
            lines += [""] * waiting
        waiting, inside = 0, code
        lines.append(line.removeprefix(INDENT) if code else line)
    return "\n".join([*lines, mark] if inside else lines)


def original(question: PoolQuestion) -> str:
    """Return original.md: the original question and its answers. For people; no code reads it back."""
    about = (
        f"Question {question.id} of Stack Overflow, {url(question)}\n"
        f"asked on {question.created[:10]}, {question.score:,} votes, {question.views:,} views, "
        f"tags: {', '.join(' '.join(plain(tag).split()) for tag in question.tags)}\n"
        f"language: {question.language}; area: {question.area}; number {question.rank} of its language"
        f"{', in reserve' if question.reserve else ''}\n"
        "Texts of Stack Overflow are under CC BY-SA: whoever passes them on names question and link.\n"
    )
    rule = "=" * 40
    return f"{about}\n{rule}\n\n{original_text(question)}\n\n{rule}\n\n{answers_text(question)}\n"


@lru_cache(maxsize=KEPT)
def template(question: PoolQuestion, prompt: str = "") -> str:
    """Return the initial question.yaml, with a model's draft as its `prompt` if any."""
    tags = {"author": "", "type": "", "language": question.language, "area": question.area}
    written = ", ".join(f"{name}: {quoted(value)}" for name, value in tags.items())
    return (
        f"# {url(question)}, {' '.join(one_title(question.title)[:150].split())}\n"
        f"{_GUIDE.format(types=', '.join(TYPES))}"
        f"questions:\n  - id: {question_id(question)}\n    question: {block(prompt, 6) if prompt else quoted('')}\n"
        f"    tags: {{{written}}}\n    grading: {{}}\n    examples:\n"
        f"      - score: full\n        answer: {block(accepted_text(question), 10)}\n"
        f"      - score: none\n        answer: {IDLE}\n"
    )


def quoted(text: str) -> str:
    """Return a text in double quotes, as YAML and JSON both read it."""
    return msgspec.json.encode(replace_surrogates(text)).decode()


def block(text: str, indent: int) -> str:
    """Return a text as a YAML block indented by `indent` columns, two more than its key."""
    lines = _CONTROL.sub("\ufffd", text).rstrip("\n").split("\n")
    if not any(line.strip() for line in lines):
        return quoted("")
    return "|2\n" + "\n".join(f"{' ' * indent}{line}" if line.strip() else "" for line in lines)


def digest(identity: str, text: str) -> str:
    """Return the review item's key of a question with this text (32 hexadecimal digits)."""
    return digest_of(["infibench-kit", identity, same_lines(text)])


def same_lines(text: str) -> str:
    """Normalise what browsers and editors change: line ends, and whitespace at the end of the file."""
    return unix_lines(written(text)).rstrip() + "\n"


def written(text: str) -> str:
    """Return a file's text with bytes that are not UTF-8 spelled out, for showing and storing."""
    return text.encode("utf-8", "backslashreplace").decode()


def names(people: Sequence[str]) -> frozenset[str]:
    """Normalise names for comparison: `A. Turing` is `a.  turing`; `Ada & Alan` are two."""
    return frozenset(" ".join(piece.casefold().split()) for name in people for piece in authors_of(name))


def authors_of(text: str) -> tuple[str, ...]:
    """Split an author tag into names: `Ada & Alan`, `Ada, Alan`, `Ada and Alan`."""
    return tuple(name.strip() for name in re.split(r"[,;&]|\band\b", text) if name.strip())


TEN = 10
"""People's answers of which the best counts, like a model's best of ten."""


class HumanAnswer(Struct, frozen=True):
    """A line of a file of answers for `viva grade`."""

    question: str
    sample: int
    text: str


REFERENCES = {"accepted": 1, "top-voted": 1, "best-of-ten": TEN}
"""File → answers per question: the accepted one, or those with most votes."""


def human_references(pool: Iterable[PoolQuestion], wanted: Collection[str]) -> dict[str, list[HumanAnswer]]:
    """Return the lines of each file in REFERENCES, for the questions of a set (`wanted`: their ids).

    Missing answers are filled in as empty ones, which score nothing and so are never the best. Raises DataError if the
    pool has none of the questions.
    """
    asked = [question for question in pool if question_id(question) in wanted]
    if not asked:
        raise DataError("the pool holds none of the set's questions: name the project that the set was exported from")
    answers_by_name: dict[str, list[HumanAnswer]] = {}
    for name, samples in REFERENCES.items():
        rows = answers_by_name.setdefault(name, [])
        for question in asked:
            chosen = [
                candidate for candidate in question.answers if name != "accepted" or candidate.id == question.accepted
            ]
            texts = [fenced(plain(answer.body)) for answer in chosen[:samples]]
            texts += [""] * (samples - len(texts))
            rows += [HumanAnswer(question_id(question), sample, text) for sample, text in enumerate(texts)]
    return answers_by_name


LONGEST_DRAFT = 20_000
"""Characters of a draft that are kept, in case a model does not stop."""


def read_instructions(content: bytes, name: str) -> str:
    """Read the experts' instructions. Raises DataError."""
    text = toml_of(content, name).get("instructions")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f'{name} should hold a text: instructions = """..."""')
    return text.strip()


def asked(question: PoolQuestion) -> str:
    """Return the key of drafts: a hash of the original (32 hexadecimal digits); a changed original is drafted again."""
    return digest_of([question.id, question.title, question.body, accepted_text(question)])


def request(question: PoolQuestion, instructions: str, sampling: Sampling) -> Generate:
    """Return the request for a draft of a question's prompt."""
    values = {
        "language": question.language,
        "question": clip(original_text(question)),
        "answer": clip(accepted_text(question)) or "there is none",
    }
    return drafting_request(question_id(question), draft_texts(__file__), values, sampling, instructions=instructions)


def read_draft(reply: str) -> tuple[str, str]:
    """Return the draft in a model's reply, and its reason why the question is unfit; each "" if missing."""
    return draft_and_doubt(reply, "UNFIT:", _tidy)


def _tidy(reply: str) -> str:
    text = unix_lines(reply)[:LONGEST_DRAFT].strip("\n").rstrip()
    return text if text.startswith(" ") else text.strip()
