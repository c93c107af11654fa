"""Judges of an adaptive run: rounds follow each other, and no answer is marked twice."""

import pytest

from judging.test_overlapping import ANSWER, VERDICT, graded, judged, questions
from servers.fixtures import Serve, Viva


@pytest.mark.slow
def test_rounds_of_an_adaptive_run_are_judged_each_answer_once(viva: Viva, serve: Serve) -> None:
    data = questions(viva.folder, opens=90)
    examinee, judge = serve(texts=[ANSWER], latency=0.001), serve(texts=[VERDICT])
    whole = viva(*judged(data, examinee.url, judge.url, run="whole"))
    ids = sorted({row["question"] for row in viva.scores("whole")})
    rows = [f"{name},0,{model},{(place + at) % 2}" for place, model in enumerate("abc") for at, name in enumerate(ids)]
    (viva.folder / "known.csv").write_text("\n".join(["question,sample,model,score", *rows]) + "\n")
    asked = judge.asked
    adaptive = ("--calibration", "known.csv", "--until", 91)
    rounds = viva("adaptive", *judged(data, examinee.url, judge.url, *adaptive, run="rounds"))
    assert (rounds.code, whole.code) == (0, 0), rounds.err
    assert (viva.folder / "rounds" / "draws.jsonl").read_text().count('"round":3') == 20
    assert graded(viva, "rounds") == graded(viva, "whole")
    verdicts = [entry["key"] for entry in viva.entries("rounds", "annotations")]
    assert len(verdicts) == len(set(verdicts)) == judge.asked - asked
    assert set(verdicts) == {entry["key"] for entry in viva.entries("whole", "annotations")}
