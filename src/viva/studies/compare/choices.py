"""Options of a comparison."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from viva.fields import note
from viva.studies.item_scores import PAPERS_MEAN, Correct, OnlyExams, OnlyModels, Sources
from viva.studies.ways_of_asking import FACTORS

Gate = Literal["worse", "not-shown"]
POINTS = ("1", "2", "5")
"""Differences, in points of per cent, for which the number of questions needed is given."""
MOST = 500
"""The most comparisons in a report."""
FLIPS = 10
"""Flipped questions shown for a single pair, in each direction."""


class CompareConfig(Struct, kw_only=True):
    """Compare contestants (models, shots, chain of thought, sampling, languages, gradings, checkpoints) on the same
    questions: differences with 95 % intervals, tests, wins and losses, the questions that flipped, and what
    difference the set could have shown.

    A source is a run folder, a folder of runs, or a table of item scores; or `csbench`: its published expert models
    against the chat models of their families.

    \b
    viva compare runs/a runs/b                            what differs is found by itself
    viva compare runs/a runs/b --by domain --correct bh --chart gains.svg
    viva compare runs/sweep --baseline 'T 0.2' --aggregate best@1,best@10
    viva compare runs/* --pairs llama2-7b=codellama-7b --flips 20
    viva compare csbench
    viva compare runs/old runs/new --baseline runs/old --margin 1 --fail-if worse        a gate in CI
    """

    sources: Sources
    between: Annotated[
        str | None,
        note(
            f"Only pairs that differ in this ({', '.join(FACTORS)}, all), or of several in nothing but these: "
            "shots,cot; `all`: every pair.  [default: pairs with nobody in between]",
            metavar="FACTOR,...",
        ),
    ] = None
    baseline: Annotated[str | None, note("Only pairs of this contestant and each other.", metavar="NAME")] = None
    pairs: Annotated[tuple[str, ...], note("Only this pair (base=expert); repeatable.", metavar="FIRST=SECOND")] = ()
    model: OnlyModels = ()
    exam: OnlyExams = ()
    by: Annotated[
        str | None, note("A row for each column of this table of models, or value of this tag.", metavar="TABLE|TAG")
    ] = None
    macro_average: Annotated[
        str | None, note(f"The overall mean averages the values of this tag first; {PAPERS_MEAN}", metavar="TAG")
    ] = None
    cluster: Annotated[
        str | None, note("Questions with one value of this tag (one text, say) are no two.", metavar="TAG")
    ] = None
    unpaired: Annotated[
        bool, note("Compare means of sets that have no question in common, or none that can be told to be the same.")
    ] = False
    aggregate: Annotated[
        str | None,
        note(
            "What several answers to a question count as: mean, best, best@K, pass@K, pass^K; several are "
            "compared.  [default: as the exam's headline]",
            metavar="WAY,...",
        ),
    ] = None
    correct: Correct = "holm"
    flips: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        note(f"Show N questions that were gained and N that were lost.  [default: {FLIPS} of a single pair]"),
    ] = None
    detect: Annotated[
        tuple[Annotated[float, Meta(gt=0, le=100)], ...],
        note(
            "How many questions would show a difference of so many points? Repeatable.  "
            f"[default: {', '.join(POINTS)}]",
            metavar="POINTS",
        ),
    ] = ()
    margin: Annotated[
        Annotated[float, Meta(gt=0, lt=100)] | None,
        note("Is the second no worse than the first by so many points (non-inferiority), or equivalent?"),
    ] = None
    fail_if: Annotated[
        Gate | None,
        note(
            "End with code 6 if the second is shown to be worse by more than --margin (worse), or is not shown to be "
            "no worse (not-shown): of any pair, for all of them at once."
        ),
    ] = None
    bayesian: Annotated[bool, note("How probable is it that the second is better? Beside the test.")] = False
    anytime: Annotated[
        bool, note("A test that holds however often it is looked at, of questions asked in a random order.")
    ] = False
    seed: Annotated[int, note("Of the draws that say how probable it is.")] = 0
