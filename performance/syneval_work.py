"""One stretch of SynEval's work in a process of its own, which begins with cold caches; prints a line of JSON.

python performance/syneval_work.py generate TREEBANK published    # trees in memory → lines in memory
python performance/syneval_work.py score FACTS.jsonl 10000 default # answers to blanks
python performance/syneval_work.py profile TREEBANK default       # text: where a build's CPU time goes
"""

import collections
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from viva.benchmarks.syneval.facts import Fact, Item
from viva.benchmarks.syneval.syneval import as_published, grade
from viva.build.treebank.driver import BuildSettings, build
from viva.build.treebank.generate import generate
from viva.build.treebank.sampling import DEFAULTS, SamplingSettings, Scheme
from viva.build.treebank.treebank import RawTree, Reader, survey
from viva.scorers.spans import score_span
from viva.types import Response

TICK_S = 0.001
SHOWN = 25
SWAPPED = 200
ANSWERS = ("{0}", "The answer is “{0}”.", "Answer: {0}", "It is **{0}**, because the sentence says so.")
"""How a reply may bring its phrase; a quarter of the phrases are other words of the sentence."""


def main() -> int:
    name, *arguments = sys.argv[1:]
    print({"generate": _generate, "score": _score, "profile": _profile}[name](*arguments))
    return 0


def _generate(treebank: str, mode: str) -> str:
    trees = [found for found in Reader(survey([Path(treebank)])).trees() if isinstance(found, RawTree)]
    encode = msgspec.json.Encoder().encode
    questions = size = 0
    start = time.process_time()
    for tree in trees:
        facts, items = generate(tree.text, tree.file, tree.tree, published=mode == "published")
        size += sum(len(encode(row)) for row in facts) + sum(len(encode(row)) for row in items)
        questions += len(items)
    taken = time.process_time() - start
    return json.dumps({"trees": len(trees), "questions": questions, "bytes": size, "cpu_s": taken})


def _score(facts: str, count: str, mode: str) -> str:
    blanks = _blanks(Path(facts), int(count))

    def read(item: Item, response: Response) -> None:
        as_published(item, response, "") if mode == "published" else grade(item, response, base=False)

    score_span(["a"], ["b"])  # loads the tokenizer
    start = time.process_time()
    for item, response in blanks:
        read(item, response)
    taken = time.process_time() - start
    first, swapped = _swapped()
    start = time.process_time()
    read(msgspec.structs.replace(blanks[0][0], answer=first), Response(text=swapped))
    return json.dumps({"answers": len(blanks), "cpu_s": taken, "swapped_s": time.process_time() - start})


def _blanks(facts: Path, count: int) -> list[tuple[Item, Response]]:
    """So many blanks, each with a reply; the same for the same facts."""
    dice = random.Random(0)
    with facts.open("rb") as lines:
        known = [msgspec.json.decode(line, type=Fact) for line in lines]
    chosen = dice.sample(known, count) if count <= len(known) else dice.choices(known, k=count)
    return [(_item(number, fact), Response(text=_reply(fact, dice))) for number, fact in enumerate(chosen)]


def _item(number: int, fact: Fact) -> Item:
    return Item(
        id=str(number),
        knowledge_point=fact.knowledge_point,
        format="FITB",
        sentence=fact.sentence,
        question=f"In this sentence, what goes with “{fact.slot}” is “____”.",
        answer=fact.answer,
        category=fact.category,
        file=fact.file,
        tree=fact.tree,
    )


def _reply(fact: Fact, dice: random.Random) -> str:
    phrase = fact.answer
    if dice.random() < 0.25:
        words = fact.sentence.split()
        at = dice.randrange(len(words))
        phrase = " ".join(words[at : at + 1 + dice.randrange(6)])
    return dice.choice(ANSWERS).format(phrase)


def _swapped() -> tuple[str, str]:
    """Two texts of 200 words; in one, every two neighbours are swapped. A search of all alignments would not end."""
    words = [f"w{number}" for number in range(SWAPPED)]
    pairs = [words[number ^ 1] for number in range(SWAPPED)]
    return " ".join(words), " ".join(pairs)


class _Quiet:
    """Watches a build and says nothing."""

    def planned(self, plan: Any) -> None: ...
    def progress(self, tally: Any) -> None: ...
    def malformed(self, problem: Any) -> None: ...


def _profile(treebank: str, mode: str) -> str:
    """Sampled by CPU time, in one process: a tracing profiler would make what calls much seem slow."""
    published = mode == "published"
    scheme: Scheme = "published" if published else "clean"
    per_stratum, min_stratum = DEFAULTS[scheme]
    sampling = SamplingSettings(scheme=scheme, per_stratum=per_stratum, min_stratum=min_stratum)
    own: collections.Counter[str] = collections.Counter()
    below: collections.Counter[str] = collections.Counter()

    def tick(_number: int, frame: FrameType | None) -> None:
        if frame is not None:
            own[_name(frame)] += 1
            below.update(set(map(_name, _callers(frame))))

    signal.signal(signal.SIGPROF, tick)
    settings = BuildSettings(as_published=published, sampling=sampling, jobs=1)
    with tempfile.TemporaryDirectory(prefix="viva-syneval-") as folder:
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        build([Path(treebank)], Path(folder) / "set", settings, generate, _Quiet())
        signal.setitimer(signal.ITIMER_PROF, 0)
    total = own.total()
    lines = [f"{'own %':>6} {'all %':>6}  {total:,} samples"]
    for name, count in own.most_common(SHOWN):
        lines.append(f"{100 * count / total:6.1f} {100 * below[name] / total:6.1f}  {name}")
    lines.append(f"\n{'':6} {'all %':>6}  with what they call")
    for name, count in below.most_common(2 * SHOWN):
        lines.append(f"{'':6} {100 * count / total:6.1f}  {name}")
    return "\n".join(lines)


def _name(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}"


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


if __name__ == "__main__":
    sys.exit(main())
