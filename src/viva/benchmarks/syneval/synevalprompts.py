"""SynEval's prompts: the question, and exemplars of its knowledge point and format drawn by the run's seed.

arXiv 2311.08287, Experiments: zero-shot and 5-shot, the exemplars drawn separately for every question and each of
three seeds, answers alone. The wordings (prompts.toml) are Viva's own.
"""

from __future__ import annotations

import bisect
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from viva.benchmarks.syneval.facts import LETTERS, Item, Listed, Pools
from viva.prompting import Templates, fill
from viva.types import Defect, Message, Prompt
from viva.visible import capitalised


def draw(pool: Sequence[Item], item: Item, shots: int, seed: int, *, same_sentence: bool) -> list[Item]:
    """Draw at most `shots` exemplars for a question, without replacement, by "(question id) (seed)".

    Never the question itself, and only with `same_sentence` (as published) one about its sentence: that would reveal
    part of the answer.
    """
    drawn: list[Item] = []
    for index in _shuffled(random.Random(f"{item.id} {seed}"), len(pool)):
        if len(drawn) == shots:
            break
        if _may_show(pool[index], item, same_sentence=same_sentence):
            drawn.append(pool[index])
    return drawn


def _may_show(exemplar: Item, item: Item, *, same_sentence: bool) -> bool:
    return exemplar.id != item.id and (same_sentence or not _of_one_sentence(exemplar, item))


def _of_one_sentence(first: Item, other: Item) -> bool:
    return first.sentence == other.sentence or (first.file, first.tree) == (other.file, other.tree)


def _shuffled(source: random.Random, length: int) -> Iterator[int]:
    """Yield 0 to length - 1 in random order, each drawn on demand: a pool may be large (Fisher-Yates, sparse)."""
    moved: dict[int, int] = {}
    for index in range(length):
        taken = source.randrange(index, length)
        yield moved.get(taken, taken)
        moved[taken] = moved.get(index, index)


def too_few(listed: Sequence[Listed], pools: Pools, shots: int, *, same_sentence: bool) -> Iterator[Defect]:
    """Yield the knowledge points and formats with a question that has fewer exemplars than are to be shown."""
    about = {key: Counter(exemplar.sentence for exemplar in pool) for key, pool in pools.items()}
    fewest: dict[str, int] = {}
    for each in listed:
        key = (each.item.knowledge_point, each.item.format)
        own = 0 if same_sentence else about.get(key, Counter())[each.item.sentence]
        left = len(pools.get(key, ())) - own
        if left < shots:
            name = " ".join(key)
            fewest[name] = min(left, fewest.get(name, left))
    for name, left in fewest.items():
        yield Defect(name, "too few exemplars", f"{left} of {shots} for some or all of its questions", "noted")


def in_the_test(listed: Sequence[Listed], pools: Pools) -> Iterator[Defect]:
    """Yield exemplars that are also asked: shown with another question, they reveal their own answer."""
    asked = {each.item.id for each in listed}
    for pool in pools.values():
        for exemplar in pool:
            if exemplar.id in asked:
                yield Defect(exemplar.id, "exemplar is asked", "it stands in test.jsonl too", "noted")


def render(
    texts: Templates,
    item: Item,
    exemplars: Sequence[Item],
    *,
    base: bool,
    whole: bool = False,
    turns: bool = False,
) -> Prompt:
    """Return the text to continue, or system and user message. `whole`: options are answered by their texts. `turns`:
    exemplars are turns of user and assistant, as the authors show them to chat models.
    """
    section, lead = item.format, texts.text("lead")
    task = texts.text(f"{section}.task_shots" if exemplars else f"{section}.task")
    competing = whole and section == "MC"  # options' texts are compared: no letter is to be written
    if not exemplars and not competing:  # exemplars show the form of the answer
        ask = texts.text(f"{section}.ask")
        task = texts.after("ask", task) + ask if ask else task
    system = [Message("system", text)] if (text := texts.text("system")) else []
    parts = [texts.after("task", task)]
    said_before: list[Message] = []
    for exemplar in exemplars:
        answer_text = exemplar.options[LETTERS.index(exemplar.answer)] if competing else exemplar.answer
        answer = fill(texts.text(f"{section}.answer"), {"answer": capitalised(answer_text)})
        if turns and not base:
            said_before += [
                Message("user", "".join(parts) + _block(texts, exemplar)),
                Message("assistant", lead + answer),
            ]
            parts = []
        else:
            parts.append(texts.after("exemplar", _block(texts, exemplar) + texts.before("answer", lead + answer)))
    cue = "" if said_before else texts.text("cue")
    text = "".join(parts) + _block(texts, item) + texts.before("lead", lead if base else cue)
    return text if base else (*system, *said_before, Message("user", text))


def _block(texts: Templates, item: Item) -> str:
    values = {"sentence": item.sentence, "question": item.question}
    if item.format == "MC":
        option = texts.text("MC.option")
        lines = [
            fill(option, {"letter": letter, "text": capitalised(text)})
            for letter, text in zip(LETTERS, item.options, strict=True)
        ]
        values["options"] = texts.separator("option").join(lines)
    return fill(texts.text(f"{item.format}.block"), values)


class Spans(Sequence[str]):
    """All runs of blank-separated words of a sentence, from which baseline/random draws.

    n words have n(n+1)/2 runs, made on demand, ordered by beginning, then by length.
    """

    def __init__(self, sentence: str) -> None:
        self._words = sentence.split()

    def __len__(self) -> int:
        return len(self._words) * (len(self._words) + 1) // 2

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        """Return a run; negative indices count from the end, as in a list. Raises IndexError."""
        n, length = len(self._words), len(self)
        place = index + length if index < 0 else index
        if not 0 <= place < length:
            raise IndexError(index)

        def before(word: int) -> int:  # the runs that begin at an earlier word
            return word * n - word * (word - 1) // 2

        start = bisect.bisect_right(range(n), place, key=before) - 1
        return " ".join(self._words[start : start + place - before(start) + 1])
