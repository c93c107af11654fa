"""An exam of listed questions only: a cheap re-examination with anchor questions, or a second look at some.

    viva run cmmlu --questions anchors.csv --model openai/NAME

Questions are asked in the order of the set, with the prompts, exemplars and keys that they have in the whole exam, so
answers of one can be taken over by the other (`--reuse`). A mean over chosen questions estimates nothing by itself:
`viva item-analysis --predict` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import Exam
from viva.errors import DataError, flag
from viva.types import Question
from viva.visible import one_line, some

_NAMED = 10


class Selected(ExamWrapper):
    """The exam inside, with the listed questions only. Raises DataError for an id that it lacks."""

    def __init__(self, inner: Exam, listed: Sequence[str], source: str = flag("questions")) -> None:
        super().__init__(inner)
        wanted = frozenset(listed)
        self._listed = [question for question in inner.questions() if question.id in wanted]
        found = {question.id for question in self._listed}
        unknown = [name for name in listed if name not in found]
        if unknown:
            named = some([repr(one_line(name, 60)) for name in unknown], _NAMED)
            first = next(iter(inner.questions()), None)
            like = f"; its ids look like {one_line(first.id, 60)!r}" if first else ""
            raise DataError(
                f"{source}: {inner.spec.benchmark} ({inner.spec.language}) has no question {named} with "
                f"these options{like}"
            )

    @property
    def inner(self) -> Exam:
        """The whole exam."""
        return self._inner

    def __len__(self) -> int:
        return len(self._listed)

    def questions(self) -> Iterator[Question]:
        """Those listed, in the order of the set."""
        return iter(self._listed)
