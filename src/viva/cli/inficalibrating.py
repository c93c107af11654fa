"""`viva build infibench calibrate`: what pilot runs tell of the questions, with the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct, field

from viva.cli.clrtelling import SHOWN, all_option, counted, project_argument, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, DataError
from viva.visible import one_line, visible

if TYPE_CHECKING:
    from viva.benchmarks.infibench.build.calibrating import Finding, Tried
    from viva.cli.infiproject import Project

_PATH = click.Path(path_type=Path)
LONGEST = 2_000
"""Characters of an answer that are shown."""


class Reply(Struct, frozen=True):
    """An answer with its score, and why it has that."""

    model: str
    score: float
    text: str
    why: str


class Answers(Struct):
    """What pilot models answered to one question: their scores, and the best and worst answers."""

    scores: dict[str, list[float | None]] = field(default_factory=dict)
    best: list[Reply] = field(default_factory=list)
    worst: list[Reply] = field(default_factory=list)

    def add(self, model: str, score: float | None, text: str, why: str, keep: int) -> None:
        """One answer more; of those that are shown, one a model comes before a second of another."""
        self.scores.setdefault(model, []).append(score)
        if score is None or not keep:
            return
        reply = Reply(model, score, text[:LONGEST], why)
        self.best = _spread([*self.best, reply], keep, best=True)
        self.worst = _spread([*self.worst, reply], keep, best=False)


def _spread(replies: list[Reply], keep: int, *, best: bool) -> list[Reply]:
    """The best or worst `keep` of them, as many models as there are among equals."""
    seen: dict[tuple[str, float], int] = {}
    ranked: list[tuple[float, int, int, Reply]] = []
    for place, reply in enumerate(replies):
        again = seen[reply.model, reply.score] = seen.get((reply.model, reply.score), -1) + 1
        ranked.append((-reply.score if best else reply.score, again, place, reply))
    return [reply for *_, reply in sorted(ranked, key=lambda one: one[:3])[:keep]]


@click.command(name="calibrate", short_help="Which questions are no good, by pilot runs.")
@project_argument
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option("--answers", type=click.IntRange(0, 50), default=2, show_default=True, help="Show so many a finding.")
@all_option
def calibrate_command(project: Path, runs: tuple[Path, ...], *, answers: int, everything: bool) -> int:
    """Look at PROJECT's questions by what models answered in RUN... (of a set that `export --pilot` wrote): questions
    that no answer or every answer passes, that could not be graded, or whose scores go against the rest. Answers are
    shown with their scores. Exit code 3 where there is a finding.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva run infibench --data pilot --model openai/SMALL --run runs/small
    viva run infibench --data pilot --model openai/LARGE --run runs/large
    viva build infibench calibrate so2024 runs/small runs/large
    """
    from viva.benchmarks.infibench.build.calibrating import findings
    from viva.cli.infiproject import Project

    opened = Project(project)
    known = {f"so-{about.id}" for about in opened.pool}
    found: dict[str, Answers] = {}
    changed: set[str] = set()
    for name, label in _named(runs):
        changed |= _gather(opened, name, label, known, found, answers)
    if not found:
        raise DataError(f"the runs asked none of the questions of {project}; run the set that `export --pilot` wrote")
    tried = _tried(found)
    told = findings(tried)
    for finding in told if everything else told[:SHOWN]:
        _tell(finding, found[finding.question], changed=finding.question in changed)
    tell_more(len(told), everything=everything)
    models = sorted({model for one in found.values() for model in one.scores})
    _tell_changed(changed)
    if len(models) < 3:
        click.echo(
            f"viva: {counted(len(models), 'model')}: whether a question goes with the rest takes three", err=True
        )
    bad = len({finding.question for finding in told})
    click.echo(
        f"{counted(len(found), 'question')} tried by {counted(len(models), 'model')}; {bad:,} with a finding, "
        f"{len(found) - bad:,} without"
    )
    return EXIT_INCOMPLETE if told else EXIT_OK


def _named(runs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each run once, with what tells its models from those of the others."""
    from viva.engine.folder import find_run

    places = list(dict.fromkeys(find_run(run).resolve() for run in runs))
    for place in places:
        yield place, place.name if len(places) > 1 else ""


def _gather(
    project: Project, path: Path, label: str, known: set[str], found: dict[str, Answers], keep: int
) -> set[str]:
    """Add a run's answers; returns the questions whose text is another now than in the set that was run."""
    from viva.engine.folder import RunFolder
    from viva.engine.stages import NO_REPLY_YET
    from viva.runs.config import Limits
    from viva.runs.open import gather, prepare
    from viva.types import UNANSWERED

    folder = RunFolder.open(path)
    examination = prepare(folder, Limits(progress="quiet"))
    taken = {exam.fingerprint for exam in examination.exams}
    with ExitStack() as stack:
        journal = folder.journal("responses")
        stack.callback(journal.close)
        evidence = gather(examination, stack)
        for sitting in examination.sittings:
            several = label and sum(one.model.name == sitting.model.name for one in examination.sittings) < 2
            model = f"{sitting.model.name} ({label})" if several else sitting.model.name
            for question, key, request in sitting.requests():
                if question.id not in known:
                    continue
                entry = journal.read(key)
                response = entry.response() if entry else NO_REPLY_YET
                score = sitting.exam.score(
                    question, response, evidence.about(sitting, question, request.sample, response)
                )
                value = None if score.outcome in UNANSWERED or entry is None else score.value or 0.0
                found.setdefault(question.id, Answers()).add(model, value, response.text, score.explanation, keep)
    return _changed(project, taken)


def _changed(project: Project, fingerprints: set[str]) -> set[str]:
    from viva.cli.infiproject import key_of

    texts: dict[str, str] = {}
    for one in project.exports():
        if one.fingerprint in fingerprints:
            texts |= one.texts
    now = {state.id: key_of(state) for state in project.states() if state.id in texts}
    return {question for question, digits in texts.items() if now.get(question) != digits}


def _tried(found: Mapping[str, Answers]) -> list[Tried]:
    """Scores with their discrimination, where there are models enough."""
    import numpy as np

    from viva.analysis.itemstatistics import FEWEST, item_statistics
    from viva.benchmarks.infibench.build.calibrating import Tried

    models = sorted({model for one in found.values() for model in one.scores})
    matrix = np.full((len(models), len(found)), np.nan)
    for column, one in enumerate(found.values()):
        for row, model in enumerate(models):
            graded = [score for score in one.scores.get(model, ()) if score is not None]
            if graded:
                matrix[row, column] = sum(graded) / len(graded)
    there = np.isfinite(matrix).any(axis=0)
    told: dict[int, tuple[float, bool]] = {}
    if len(models) >= FEWEST and there.sum() > 1:
        statistics = item_statistics(matrix[:, there])
        for place, column in enumerate(np.flatnonzero(there).tolist()):
            told[column] = (float(statistics.discrimination[place]), bool(statistics.surely_negative[place]))
    return [
        Tried(
            question=question,
            scores=one.scores,
            discrimination=told[at][0] if at in told and np.isfinite(told[at][0]) else None,
            surely=at in told and told[at][1],
        )
        for at, (question, one) in enumerate(found.items())
    ]


def _tell(finding: Finding, answers: Answers, *, changed: bool) -> None:
    from viva.benchmarks.infibench.build.calibrating import KINDS

    since = " (changed since it was run)" if changed else ""
    click.echo(f"=== {finding.question}{since}: {KINDS[finding.kind]}")
    click.echo(f"    {visible(finding.said)}")
    for reply in answers.best if finding.show == "best" else answers.worst:
        click.echo(f"--- {one_line(reply.model, 80)} scores {reply.score:.3g}")
        click.echo(_indented(visible(reply.text)))
        click.echo(f"    why: {one_line(reply.why, 400)}")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _tell_changed(changed: set[str]) -> None:
    if changed:
        named = ", ".join(sorted(changed)[:10]) + (" and more" if len(changed) > 10 else "")
        click.echo(f"viva: {counted(len(changed), 'question')} changed since the runs: {visible(named)}", err=True)
