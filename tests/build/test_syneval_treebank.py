"""`coverage.csv` has a row for every sentence of the bundled mini-treebank, and expects what it can give."""

import re
from collections import Counter

from build.generated import bundled, covered
from rows import tabled
from viva.benchmarks.syneval.facts import KNOWLEDGE_POINTS
from viva.build.treebank.tree import parse


def test_every_sentence_is_there_once_and_has_its_row() -> None:
    trees = bundled()
    assert len(trees) >= 170
    sentences = Counter(parse(text).sentence.lower() for text in trees.values())
    assert [sentence for sentence, times in sentences.items() if times > 1] == []
    rows = covered()
    assert Counter(place for place, _, _ in rows) == Counter(trees.keys())
    assert all(covers.strip() for _, covers, _ in rows)


def test_what_is_expected_can_be_met_and_denied() -> None:
    """Slots and answers are spelled from their sentence, which is no matter of course where they are denied."""
    met, denied = Counter[str](), Counter[str]()
    for (place, _, expected), row in tabled(*covered()):
        with row:
            tree = parse(bundled()[place], published=True)
            spelled = tree.sentence.replace(" ", "").lower()
            assert len(set(expected)) == len(expected)
            refused = [clause for clause in expected if not clause.wanted]
            for clause in expected:
                phrases = {clause.slot, clause.answer}
                for phrase in phrases - {"*", "omitted"}:
                    for word in re.findall(r"[^\s.,]+|[.,]", phrase.lower()):
                        assert word in spelled, (word, clause)
                if clause.wanted:
                    assert "*" not in phrases, clause
                    assert not any(no.fits(clause[1:]) for no in refused), clause
                    if clause.knowledge_point in ("GS", "SC", "DO", "IO", "MVP", "CO"):
                        assert clause.answer == clause.answer.lower(), clause
                if clause.answer == "omitted":
                    assert clause.knowledge_point == "GS"
                    assert any((leaf.word, leaf.index) == ("*", "") for leaf in tree.leaves)
            denied.update(clause.knowledge_point for clause in refused)
            met.update({clause.knowledge_point for clause in expected if clause.wanted})
    for point in KNOWLEDGE_POINTS:
        assert met[point] >= 20, "five-shot prompts find exemplars in other sentences"
        assert denied[point] >= 5
