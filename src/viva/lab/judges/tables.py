"""A judge's biases as tables and as data: what each probe did to its marks."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.wording import percent
from viva.errors import EXIT_OK
from viva.lab.judges.effects import PASSING, Control, Effect, Share
from viva.render.grids import WORDS
from viva.render.measures import number
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid, p_text
from viva.visible import one_line

LEGEND = (
    "change: of the mean mark, when the same judge marks the same answers in another form; of style, authority, echo "
    "and instruction beside as much neutral text. higher, lower: per cent of marks that rose and fell. […]: 95 % "
    "interval over questions. p: by inverting it, by Holm over the probes of a judge."
)
NO_TEST = (
    "self-preference has no p and is no verdict: the reference (experts, or else judges whose model answered nothing) "
    "errs, and where its own answers are better, others' with the same reference mark are worse than they look. So "
    "the interval goes from the comparison with these to that with others' answers to which the judge itself gave the "
    "same mark. Errors that are as frequent in all right and in all wrong answers do not explain one without 0; "
    "answers that differ in kind (more of its own are half right, or long) may."
)


class JudgeEffects(Struct, frozen=True, kw_only=True):
    """One judge and one aspect of answers."""

    judge: str
    aspect: str
    requests: int
    """What it is asked in all; equal answers to a question are asked about once."""
    unanswered: int
    """Requests without a reply."""
    unreadable: int
    """Requests whose replies hold no verdict."""
    effects: tuple[Effect, ...]
    controls: tuple[Control, ...]

    @property
    def known(self) -> bool:
        """Whether there is any figure."""
        return any(one.answers for one in self.effects) or any(one.answers for one in self.controls)


@dataclass(frozen=True, repr=False)
class JudgeBias(StudyResult):
    """What judges' marks depend on besides the content of answers."""

    run: str
    judges: tuple[JudgeEffects, ...]
    notes: tuple[str, ...] = ()
    """Which answers."""
    estimate: tuple[str, ...] = ()
    """What asking would cost, where nobody was asked."""
    exit_code: int = EXIT_OK
    """Of the command: whether something is not answered yet."""
    words = WORDS | {"where it fails"}

    def tables(self) -> list[Grid]:
        """A table of probes and one of controls, a judge and aspect."""
        return [grid for judged in self.judges if judged.known for grid in (_probes(judged), _controls(judged))]

    def closing(self) -> list[str]:
        """What it comes to, and how to read it."""
        if self.estimate:
            return list(self.estimate)
        legend = [LEGEND] if any(judged.known for judged in self.judges) else []
        if any(one.p is None and one.change is not None for judged in self.judges for one in judged.effects):
            legend.append(NO_TEST)
        return [*(line for judged in self.judges for line in verdict_lines(judged)), *legend, *self.notes]

    def records(self) -> Records:
        """A row a probe or control, unrounded."""
        header = ("judge", "aspect", "probe", "answers", "lost", "change", "low", "high")
        rows: list[tuple[object, ...]] = []
        for judged in self.judges:
            whose = (judged.judge, judged.aspect)
            for one in judged.effects:
                sizes = (one.probe, one.answers, one.lost, one.change, one.low, one.high)
                rows.append((*whose, *sizes, *_cells(one.up), *_cells(one.down), one.p, one.adjusted, None, None))
            for control in judged.controls:
                sizes = (control.control, control.answers, control.lost, None, None, None)
                failed = control.failed.value if control.failed else None
                rows.append((*whose, *sizes, *(None,) * 8, control.mean, failed))
        shares = ("up", "up_low", "up_high", "down", "down_low", "down_high")
        return (*header, *shares, "p", "adjusted", "mean", "failed"), rows

    def data(self) -> object:
        """Everything."""
        return {"run": self.run, "judges": self.judges, "notes": self.closing()}


def verdict_lines(judged: JudgeEffects) -> list[str]:
    """What was found of one judge, in sentences."""
    whose = f"{one_line(judged.judge, 60)} ({judged.aspect})"
    if not judged.known:
        return [f"{whose}: no figure: {_lost(judged)}"]
    lines = [
        f"{whose}: {one.probe} changes the mean mark by {one.change:+.3f} (p = {one.adjusted:.3g})."
        for one in judged.effects
        if one.biased
    ]
    there = [one for one in judged.effects if one.p is not None]
    if there and not lines:
        most = max(max(abs(one.low or 0), abs(one.high or 0)) for one in there)
        lines.append(
            f"{whose}: no bias shows where there is a p. Intervals leave room for a change of up to {most:.3f}."
        )
    again, *failing = judged.controls
    if again.failed is not None and again.failed.value > 0:
        lines.append(
            f"{whose}: asked again about the same answer, it changes {percent(again.failed.value, 1)} % of its marks, "
            f"all marks by {number(again.mean)} on average: they vary so much without a cause."
        )
    for control in failing:
        if control.failed is not None and control.failed.value > 0:
            share = percent(control.failed.value, 1)
            lines.append(f"{whose}: {share} % of marks for an {control.control} are {PASSING:g} or more.")
    for reason in dict.fromkeys(one.reason for one in judged.effects if one.reason):
        probes = ", ".join(one.probe for one in judged.effects if one.reason == reason)
        lines.append(f"{whose}: {probes}: no figure; {reason}.")
    if judged.unanswered or judged.unreadable:
        missing = sum(one.lost for one in judged.effects) + sum(one.lost for one in judged.controls)
        lines.append(
            f"{whose}: {missing:,} comparisons are missing: {_lost(judged)} The mark of an answer as it came is part "
            "of several comparisons of that answer."
        )
    return lines


def _lost(judged: JudgeEffects) -> str:
    """Why marks are missing, and what to do."""
    parts = []
    if judged.unanswered:
        parts.append(f"no reply to {judged.unanswered:,}")
    if judged.unreadable:
        parts.append(f"no verdict in the reply to {judged.unreadable:,} (judge-bias.jsonl of the run folder has it)")
    return f"of {judged.requests:,} requests {', '.join(parts)}. The same command asks these again."


def _probes(judged: JudgeEffects) -> Grid:
    rows = tuple(
        (
            one.probe,
            f"{one.answers:,}",
            "–" if one.change is None else f"{one.change:+.3f} [{one.low:+.3f}, {one.high:+.3f}]",
            p_text(one.adjusted),
            _share(one.up),
            _share(one.down),
        )
        for one in judged.effects
    )
    title = f"{judged.judge}: the same answers in another form · {judged.aspect}"
    return Grid(title, ("probe", "answers", "change of the mark", "p", "higher", "lower"), rows)


def _controls(judged: JudgeEffects) -> Grid:
    again, *none = judged.controls
    rows = [(again.control, f"{again.answers:,}", _interval(again.failed), number(again.mean), "its mark changes")]
    rows += [
        (one.control, f"{one.answers:,}", _interval(one.failed), number(one.mean), f"it gets {PASSING:g} or more")
        for one in none
    ]
    title = f"{judged.judge}: controls · {judged.aspect}"
    return Grid(title, ("control", "answers", "fails, per cent", "mean", "where it fails"), tuple(rows))


def _share(share: Share | None) -> str:
    return "–" if share is None else percent(share.value, 1)


def _interval(share: Share | None) -> str:
    return "–" if share is None else f"{percent(share.value, 1)} [{percent(share.low, 1)}, {percent(share.high, 1)}]"


def _cells(share: Share | None) -> tuple[float | None, ...]:
    return (None, None, None) if share is None else (share.value, share.low, share.high)
