"""Details within an outcome: several answers, truncated replies, right answers for the wrong reason."""

from rows import tabled
from viva.runs.answers import FINER, finer
from viva.scorers.choice import read_choice
from viva.scorers.reading import grade_reading
from viva.types import Response, Score, StopReason


def test_what_people_look_for_is_told_apart() -> None:
    guess = {"Q→A": 1.0, "Q→R": 0.0}
    cases: dict[str, tuple[Score, StopReason, str]] = {
        "a guess": (Score(value=0.0, outcome="wrong", parts=guess), "stop", "wrong-reason"),
        "half a reason": (Score(value=0.5, outcome="partly", parts={**guess, "Q→R": 0.5}), "stop", ""),
        "half an answer": (Score(value=0.0, outcome="wrong", parts={**guess, "Q→A": 0.5}), "stop", ""),
        "both wrong": (Score(value=0.0, outcome="wrong", parts={"Q→A": 0.0, "Q→R": 0.0}), "stop", ""),
        "no rationale yet": (Score(value=None, outcome="ungraded", parts={"Q→A": 1.0}), "stop", ""),
        "cut off while thinking": (Score(value=None, outcome="truncated"), "thinking", "thinking"),
        "cut off in the answer": (Score(value=None, outcome="truncated"), "length", "length"),
        "cut off, and right": (Score(value=1.0, outcome="right"), "length", ""),
        "several": (Score(value=None, outcome="unparsed", explanation="several letters"), "stop", "several"),
        "none": (Score(value=None, outcome="unparsed", explanation="no commitment"), "stop", ""),
    }
    for (_name, (score, stopped, word)), row in tabled(*cases.items()):
        with row:
            assert finer(score, stopped) == word
            assert not word or FINER[word][0] in ("", score.outcome)


def test_a_reply_that_names_several_options_is_one_of_several_answers() -> None:
    reply = "The answer is A and B."
    score = grade_reading(read_choice(reply), "A", Response(text=reply))
    assert (score.outcome, finer(score, "stop")) == ("unparsed", "several")
