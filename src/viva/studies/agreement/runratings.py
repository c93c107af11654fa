"""Ratings from the judges and experts of a run (`viva agreement RUN`), and scores from expert labels.

The judge is the run's verdict without experts (`draft`), or one of its judges by name. A score from few labels needs a
random sample that was drawn on the review page and marked completely.
"""

from __future__ import annotations

import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from statistics import correlation, variance

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.raters.prediction import labels_needed, powered
from viva.analysis.raters.ratings import Ratings
from viva.engine.answerrecord import thought_size
from viva.engine.reviews import ReviewLog, item_key
from viva.engine.stages import parts_shown
from viva.errors import DataError, VivaError, flag
from viva.render.table import FIGURE, Column, Kind, Table, figure
from viva.review.items import FINER, OUTCOME, THOUGHT, UNCERTAINTY, Filter, Item, spread
from viva.runs.answers import FINER as FINER_WORDS
from viva.runs.answers import finer
from viva.runs.open import REVIEWS, OpenRun, open_evidence, prepare
from viva.runs.scorefile import open_run_folder
from viva.studies.agreement.tables import ScoreFromLabels
from viva.types import UNREADABLE, Evidence, Question, ReviewItem, Score

DRAFT = "draft"
"""Name of the rater that is the run's verdict without experts."""
SCORE = "score"
"""Name of a score's value in the list of metrics, the others being its parts."""


class Rated(Struct, frozen=True, kw_only=True):
    """One reviewable answer, with the marks of all raters."""

    item: Item
    exam: str
    model: str
    question: Question
    before: Score
    """The score without experts' marks."""
    after: Score
    """The score with experts' marks."""
    evidence: Evidence

    @property
    def marked(self) -> bool:
        """Whether experts have marked every aspect of it."""
        marked = {mark.aspect for mark in self.evidence.marks}
        return all(draft.aspect in marked for draft in self.item.drafts)


def rated(opened: OpenRun, *, everything: bool = False) -> Iterator[Rated]:
    """Yield every answer of a run that experts can review, in order; with `everything`, also those that need no review.

    Answers that need none (a letter that a rule read, a refusal) have an item without drafts.
    """
    with ExitStack() as stack:
        answers = opened.folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            exam, label, model = evaluation.exam, evaluation.label, evaluation.model.name
            for question, sample, entry in evaluation.answers(answers):
                if entry is None or entry.error:
                    continue
                response = entry.response()
                evidence = evidence_store.about(evaluation, question, sample, response)
                drafts = exam.drafts(question, response, evidence)
                if not drafts and not everything:
                    continue
                before = exam.score(question, response, replace(evidence, marks=()))
                after = exam.score(question, response, evidence) if evidence.marks else before
                whose = {"exam": label, "model": model, "question": question.id, "sample": str(sample)}
                about = {**whose, **{name: value for name, value in question.tags.items() if name not in whose}}
                about[OUTCOME] = before.outcome
                if word := finer(before, response.stop_reason):
                    about[FINER] = FINER_WORDS[word][1]
                item = Item(
                    key=item_key(label, model, question.id, sample, response.text),
                    about=about,
                    question=question.text,
                    options=question.options,
                    drafts=drafts,
                    thought=response.reasoning[:THOUGHT],
                    thought_size=thought_size(response),
                    disagreement=spread([draft.opinions for draft in drafts]),
                )
                yield Rated(item=item, exam=label, model=model, question=question, before=before, after=after,
                            evidence=evidence)  # fmt: skip


def ratings(rated_items: Sequence[Rated], judge: str) -> Ratings:
    """Return all marks; an item is an aspect of an answer, the raters are the experts and `judge`.

    `judge` is `DRAFT`, a judge's name, or "" for the judges among each other. Raises DataError for a judge that gave no
    verdict.
    """
    rows: list[tuple[Rated, ReviewItem, dict[str, float]]] = []
    for each in rated_items:
        for draft in each.item.drafts:
            if draft.decided == "rule" and judge not in ("", DRAFT):
                continue  # that judge was never asked
            people = {mark.reviewer: mark.value for mark in each.evidence.marks if mark.aspect == draft.aspect}
            verdict = draft.value if judge == DRAFT else draft.opinions.get(judge)
            given = people | ({} if verdict is None else {judge: verdict}) if judge else dict(draft.opinions)
            if given:
                rows.append((each, draft, given))
    raters = tuple(dict.fromkeys(rater for *_, given in rows for rater in sorted(given)))
    if judge and judge not in raters:
        judges = sorted({name for each in rated_items for draft in each.item.drafts for name in draft.opinions})
        known = ", ".join([DRAFT, *judges])
        raise DataError(f"{judge!r} gave no verdict in this run; there are: {known}", field="judge")
    # A rule that read a letter is no judge; experts' agreement with it is not measured here.
    tags = [
        {**each.item.about, "aspect": draft.aspect + (" (by rule)" if draft.decided == "rule" else "")}
        for each, draft, _ in rows
    ]
    return Ratings(
        items=tuple(f"{each.exam} {each.model} {each.question.id} {each.item.about['sample']} {draft.aspect}"
                    for each, draft, _ in rows),
        raters=raters,
        values=tuple(tuple(given.get(rater) for rater in raters) for *_, given in rows),
        questions=tuple(f"{each.exam} {each.question.id}" for each, *_ in rows),
        tags={name: tuple(own.get(name, "") for own in tags) for name in dict.fromkeys(chain.from_iterable(tags))},
    )  # fmt: skip


def sampled(
    items_rated: Sequence[Rated], log: ReviewLog, metrics: Mapping[str, Sequence[str]]
) -> tuple[list[ScoreFromLabels], list[str]]:
    """Return scores from each completely marked random sample, by model and exam; and notes on incomplete samples.

    `metrics`: exam → its metrics. The label of an answer is its score with the experts' marks, the prediction its score
    without.
    """
    results: list[ScoreFromLabels] = []
    notes: list[str] = []
    by_key = {each.item.key: each for each in items_rated}
    items = [each.item for each in items_rated]
    for design in dict.fromkeys(review.drawn for review in log.reviews if review.drawn):
        chosen = filter_of(design)
        if chosen is None:
            notes.append(f"the sample {design!r} in reviews.jsonl is none that the review page draws: it is left out")
            continue
        if chosen.by == UNCERTAINTY:
            notes.append(
                f"the sample {design} has more of the answers that judges are not sure of: its score weighs them by "
                "how likely each was to be drawn, the tables of agreement do not, and show judges at their worst"
            )
        drawn = {item.key for item in chosen.select([item for item in items if item.drafts])}
        if missing := sum(not by_key[key].marked for key in drawn):
            notes.append(
                f"the sample {design} is not marked to its end: {missing:,} of {len(drawn):,} answers are missing, and "
                "those that are there are not a random part of it"
            )
            continue
        groups = defaultdict[tuple[str, str], list[Rated]](list)
        for item in replace(chosen, sample="").select(items):
            groups[by_key[item.key].exam, by_key[item.key].model].append(by_key[item.key])
        for (exam, model), mine in groups.items():
            for metric in metrics[exam]:
                # Answers that need no expert are known: a separate stratum with a label on every answer.
                asked = [each for each in mine if each.item.drafts or _value(each.before, metric) is not None]
                labelled = [each.item.key in drawn or not each.item.drafts for each in asked]
                estimate = powered(
                    [_value(each.before, metric) for each in asked],
                    [
                        _value(each.after, metric) if known else None
                        for each, known in zip(asked, labelled, strict=True)
                    ],
                    strata=_strata(asked, drawn, chosen.by),
                    questions=[each.question.id for each in asked],
                )
                title, known = f"{exam} · {model} · {design}", sum(not each.item.drafts for each in asked)
                results.append(ScoreFromLabels(title=title, metric=metric, powered=estimate, known=known))
    return results, notes


KNOWN = "known without experts"
FEWEST = 5
"""The fewest labels of a stratum: with fewer, strata cost more in degrees of freedom than they gain in variance."""


def _strata(asked: Sequence[Rated], drawn: set[str], by: str) -> list[str]:
    """Return each answer's stratum: one for answers known without experts, for the others that of the sample.

    The sample's strata are merged if some are small, which is valid as the page draws from them in proportion; those by
    uncertainty, drawn unequally, never are.
    """
    if by == UNCERTAINTY:  # drawn with different fractions: never merged
        return [each.item.values(by)[0] if each.item.drafts else KNOWN for each in asked]
    own = [f"{by}={each.item.about.get(by, '')}" if by else "" for each in asked]
    counts = Counter(name for name, each in zip(own, asked, strict=True) if each.item.key in drawn)
    small = any(counts[name] < FEWEST for name, each in zip(own, asked, strict=True) if each.item.drafts)
    return [KNOWN if not each.item.drafts else "" if small else name for name, each in zip(own, asked, strict=True)]


def _value(score: Score, metric: str) -> float | None:
    """Return a metric of one score; 0 for an unreadable reply."""
    value = score.value if metric == SCORE else score.parts.get(metric)
    return 0.0 if value is None and score.outcome in UNREADABLE else value


def filter_of(design: str) -> Filter | None:
    """Return the filter encoded in a design's name; None for an invalid name."""
    parts = design.split(":")
    if len(parts) < 3 or parts[0] != "random" or not parts[2].startswith("seed"):
        return None
    query = {"sample": parts[1], "seed": parts[2].removeprefix("seed")}
    rest = parts[3:]
    if rest and rest[0].startswith("by="):
        query["by"] = urllib.parse.unquote_plus(rest.pop(0).removeprefix("by="))
    for name, value in urllib.parse.parse_qsl(":".join(rest)):
        query[f"t.{name}"] = value
    try:
        wanted = Filter.read(query, blind=False)
    except DataError:
        return None
    return wanted if wanted.design == design else None


class RunRatings(Struct, frozen=True):
    """The ratings in a run's files."""

    ratings: Ratings
    judge: str | None
    """The rater that is the judge."""
    scale: str | None
    word: str
    """The word for raters."""
    scores: list[ScoreFromLabels]
    """The scores from its samples."""
    notes: list[str]


def ratings_of_run(path: Path, judge: str | None, scale: str | None) -> RunRatings:
    """Return the ratings in a run's files; `judge` and `scale` where the user names them.

    Raises VivaError for a run that nobody judged and nobody reviewed.
    """
    opened = prepare(open_run_folder(path))
    rated_items = list(rated(opened, everything=True))
    log = ReviewLog(opened.folder.path / REVIEWS)
    people = any(each.evidence.marks for each in rated_items)
    judge = judge or (DRAFT if people else "")
    read = ratings(rated_items, judge)
    if not people and len(read.raters) < 2:
        raise VivaError(f"no expert has marked anything in {path}: `viva review {path}` takes marks")
    metrics = {
        evaluation.label: [SCORE, *sorted(part for part in parts_shown(evaluation.exam) if part.startswith("Q→"))]
        for evaluation in opened.evaluations
    }
    estimates, notes = sampled(rated_items, log, metrics)
    notes += filter(None, [log.unread])
    marks = sorted({mark for each in rated_items for draft in each.item.drafts for mark in draft.scale})
    if scale is None and len(marks) > 1:
        scale = ",".join(f"{mark:g}" for mark in marks)
    return RunRatings(read, judge or None, scale, "people" if people else "judges", estimates, notes)


_LABELS = Kind("{:,}".format, none="more questions")
_PLANNED = (
    Column("judge and experts correlate", "0", figure(".2f")), Column("for this run", "1", _LABELS),
    Column("for such questions", "2", _LABELS), Column("what that is", "3", FIGURE),
)  # fmt: skip


def plan(path: Path, half_width: float) -> tuple[list[Table], list[str]]:
    """Return tables and notes on how many randomly drawn answers experts must mark for an interval of ±
    `half_width`.
    """
    groups = defaultdict[tuple[str, str], list[Rated]](list)
    for each in rated(prepare(open_run_folder(path))):
        groups[each.exam, each.model].append(each)
    if not groups:
        raise VivaError(f"{path} has no answer that experts could mark")
    tables: list[Table] = []
    notes: dict[str, None] = {}
    for (exam, model), mine in groups.items():
        before = [each.before.value for each in mine if each.before.value is not None]
        pairs = [(each.before.value, each.after.value) for each in mine
                 if each.marked and each.before.value is not None and each.after.value is not None]  # fmt: skip
        marked = f"the {len(pairs):,} answers marked so far"
        assumed = [(0.0, "labels alone"), *((r, "assumed") for r in (0.5, 0.7, 0.9))]
        drafts, marks = zip(*pairs, strict=True) if pairs else ((), ())
        if len(set(marks)) > 1:
            scatter, source = variance(marks), marked
            assumed.append((correlation(drafts, marks) if len(set(drafts)) > 1 else 0.0, f"as in {marked}"))
        else:  # the most that shares of 1 can have where there are fewer than two
            scatter, source = variance(before) if len(before) > 1 else 0.25, "the verdicts without experts"
        rows = [
            (r, *(labels_needed(half_width, len(mine), variance=scatter, correlation=r, reading=reading)
                  for reading in ("run", "questions")), why)
            for r, why in assumed
        ]  # fmt: skip
        title = f"Labels for ± {half_width:g} · {exam} · {model} · {len(mine):,} answers"
        tables.append(Table(title, _PLANNED, rows))
        notes[
            f"Scores vary by {scatter:.3f} (variance, from {source}). The labels must be a random sample: draw it on "
            f"the review page (`viva review RUN {flag('sample', 'N')}`), and mark it to its end. `more questions`: "
            "even with a label on every answer, so few questions leave a wider interval."
        ] = None
    return tables, list(notes)
