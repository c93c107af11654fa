"""The authors' facts of the Penn Treebank, asked as blanks: gold answers score 1, and chance is the paper's."""

import asyncio
import gzip
import json
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks.handmade_syneval import exam, write
from viva.contracts import Exam
from viva.providers import Endpoint, connect
from viva.published import table
from viva.types import Sampling

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blanks(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of one blank a fact. Nothing of the treebank is in the repository."""
    with gzip.open(published / "treebank" / "facts_wsj_0001-0040.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = [json.loads(line) for line in lines]
    assert len(facts) == 5995
    rows = [
        {
            **{name: fact[name] for name in ("knowledge_point", "sentence", "answer", "file", "tree")},
            "id": f"{fact['file']}-{fact['tree']}-{number}",
            "format": "FITB",
            "question": f"____ goes with “{fact['slot']}”.",
            "category": "any",
        }
        for number, fact in enumerate(facts)
    ]
    return write(tmp_path_factory.mktemp("facts"), rows, [])


def chance(sat: Exam) -> dict[str, dict[str, float]]:
    """Knowledge point → part → what baseline/random earns."""
    model = connect("baseline/random", Endpoint(seed=0))
    parts: dict[str, list[dict[str, float]]] = defaultdict(list)

    async def sit() -> None:
        for question in sat.questions():
            response = await model.answer(sat.request(question, 0, Sampling()))
            parts[question.tags["knowledge_point"]].append(sat.score(question, response).parts)

    asyncio.run(sit())
    return {
        point: {part: statistics.fmean(of.get(part, 0.0) for of in found) for part in ("exact", "f1")}
        for point, found in parts.items()
    }


def test_chance_in_the_papers_mix_of_questions_is_the_papers(blanks: Path) -> None:
    """Table 6 has 22.20 and 23.21 per cent F1, 0.42 and 0.68 per cent exact. Its questions are drawn by tags;
    these are all facts that there are."""
    found = chance(exam(blanks, as_published=True))
    asked = {row.model: row.figures["fitb"] for row in table("syneval", "questions").entries}
    mixed = {
        part: sum(found[point][part] * asked[point] for point in asked) / sum(asked.values())
        for part in ("exact", "f1")
    }
    assert 0.18 < mixed["f1"] < 0.235
    assert 0.003 < mixed["exact"] < 0.009
