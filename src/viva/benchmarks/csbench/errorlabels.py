"""The six error types of wrong answers in CS-Bench (arXiv 2406.08587, the analysis of errors), labelled by a judge.

    knowledge   K1 complete conceptual error · K2 partial conceptual error · K3 conceptual confusion
    reasoning   R1 concept-related error · R2 logical reasoning error · R3 mathematical reasoning error

The paper labels wrong multiple-choice answers of a five-shot chain-of-thought run; several labels may apply to one.
Here are the requests to the judge and the reading of its replies, both pure; `engine/labelling.py` carries them out.
The wording is Viva's own (errors.toml), in the language of the question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from viva.prompting import Templates, clip, fence, fill, read_templates
from viva.scorers.verdict import read_labels
from viva.types import Generate, Message, Question, Response, Sampling, Score

HERE = Path(__file__).parent
PAPERS = "Multiple-choice"
"""The format whose wrong answers the paper labels."""
GROUPS = {"Knowledge": ("K1", "K2", "K3"), "Reasoning": ("R1", "R2", "R3")}
"""Tag of a question → error types of its wrong answers."""
LETTERS = "ABCDEFGH"
SAMPLING = Sampling(temperature=0.0, max_tokens=1024)
MOSTLY_WRONG = 0.3
"""The lowest band of an open-ended answer: at most this counts as wrong."""


def type_names() -> dict[str, str]:
    """Return code → name of each error type."""
    return {code: _texts().text(f"types.{code}") for codes in GROUPS.values() for code in codes}


@cache
def _texts() -> Templates:
    return Templates(read_templates(HERE / "errors.toml"))


class ErrorTypes:
    """Requests to a judge about wrong answers of some formats. `over` replaces texts of errors.toml."""

    def __init__(self, formats: Collection[str] = (PAPERS,), over: Mapping[str, object] | None = None) -> None:
        self.formats = formats
        self._texts = Templates(read_templates(HERE / "errors.toml"), over, {}) if over else _texts()

    def wrong(self, question: Question, score: Score) -> bool:
        """Return whether this answer is one to label: wrong, and of a format that was asked for.

        A reply that names several letters, or derives a value but no letter, is a wrong answer too, as in three of the
        paper's seven examples. Refused, cut off or missing replies show no error of these types.
        """
        if question.tags.get("format") not in self.formats or self.group(question) not in GROUPS:
            return False
        return score.outcome in {"wrong", "unparsed"} or (
            question.kind == "open" and score.value is not None and score.value <= MOSTLY_WRONG + 1e-9
        )

    def group(self, question: Question) -> str:
        """Return "Knowledge" or "Reasoning"."""
        return question.tags.get("tag", "")

    def known(self, question: Question) -> tuple[str, ...]:
        """Return the types that wrong answers to this question may show."""
        return GROUPS.get(self.group(question), ())

    def request(self, question: Question, response: Response, sample: int) -> Generate:
        """Return the request to the judge. The untrusted answer is between two fences that it cannot contain."""
        answer = clip(response.text)
        codes = self.known(question)
        values = {
            "question": _asked(question),
            "gold": _gold(question),
            "answer": answer,
            "fence": fence(answer),
            "types": self._texts.text(f"{question.language}.{self.group(question)}"),
            "example": f"{codes[0]}, {codes[2]}",
        }
        prompt = tuple(
            Message(role, fill(self._texts.text(f"{question.language}.{role}"), values)) for role in ("system", "user")
        )
        return Generate(question=question.id, sample=sample, prompt=prompt, sampling=SAMPLING)

    def labels(self, question: Question, reply: str) -> tuple[str, ...] | None:
        """Return the types that a judge's reply names; () if it says none, None where it cannot be read."""
        return read_labels(reply, self.known(question))


def _asked(question: Question) -> str:
    options = [f"({letter}) {text}" for letter, text in zip(LETTERS, question.options, strict=False)]
    return "\n".join([question.text, *options])


def _gold(question: Question) -> str:
    gold = str(question.answer)
    if question.kind == "choice" and gold in LETTERS[: len(question.options)]:
        gold = f"({gold}) {question.options[LETTERS.index(gold)]}"
    return f"{gold}\n{question.explanation}".strip()
