"""Item statistics in print: models' scores equal those of their other tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from viva.analysis.columns import Columns, Text
from viva.analysis.items.itemscores import ItemScores, item_scores
from viva.analysis.items.itemstatistics import item_statistics
from viva.lab.items.sources import item_sources
from viva.lab.items.tables import Examined, findings


def test_a_model_s_score_is_averaged_as_its_exam_averages() -> None:
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, np.nan]])
    found = ItemScores(
        exam="e", models=("one", "two"), questions=("a", "b", "c"), scores=scores, shares=np.array([0.5, 0.25, 0.25])
    )  # a subject of one question and a subject of two, each half of the average
    examined = Examined(scores=found, statistics=item_statistics(scores))
    assert [row[:2] for row in findings((examined,), 0).tables()[0].texts()] == [("one", "50.00"), ("two", "33.33†")]
    told = json.loads(findings((examined,), 0).to_json())["tables"][0]["rows"]
    assert [each["score"] for each in told] == pytest.approx([0.5, 1 / 3])


def test_questions_have_the_tags_of_whichever_source_knows_some(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,question,sample,score\na,q1,0,1\na,q2,0,0\n")
    (one,) = item_sources([tmp_path / "t.csv"], None)
    (bare,) = one.frames.values()
    tagged = Columns(bare.numbers, {**bare.texts, "tag:area": Text(("x", "y"), np.array([0, 1], dtype=np.int32))})
    found = item_scores("e", {"bare": bare, "tagged": tagged}, one.headline)
    assert dict(found.tags) == {"q1": {"area": "x"}, "q2": {"area": "y"}}


def test_nobody_passes_is_said_only_where_all_were_asked() -> None:
    nan = np.nan
    scores = np.array([[0.0, nan, 1.0, 1.0], [0.0, nan, nan, 1.0], [0.0, 0.0, nan, 1.0], [0.0, nan, nan, 1.0]])
    names = ("a", "b", "c", "d")
    found = ItemScores(exam="e", models=names, questions=names, scores=scores, shares=np.full(4, 0.25))
    examined = Examined(scores=found, statistics=item_statistics(scores))
    _, as_a_set, listed = findings((examined,), 9).tables()
    whole = dict(as_a_set.texts())
    assert (whole["nobody passes"], whole["everybody passes"], whole["without a score of some model"]) == (
        "1",
        "1",
        "2",
    )
    assert listed.header[:3] == ("question", "why", "models")
    assert {row[:3] for row in listed.texts()} == {
        ("a", "nobody passes", "4 of 4"),
        ("b", "no model with a score passes", "1 of 4"),
        ("c", "every model with a score passes", "1 of 4"),
        ("d", "everybody passes", "4 of 4"),
    }
