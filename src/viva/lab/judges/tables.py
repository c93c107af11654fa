"""A judge's biases as tables and as data: the effect of each probe on its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.errors import EXIT_OK
from viva.lab.judges.effects import PASSING, Control, Effect
from viva.render.findings import Findings
from viva.render.measures import number
from viva.render.table import COUNT, NAME, Column, Kind, P, Table, fields, figure, signed
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
    """Number of requests in all; equal answers to a question share one."""
    unanswered: int
    """Number of requests without a reply."""
    unreadable: int
    """Number of requests whose replies contain no verdict."""
    effects: tuple[Effect, ...]
    controls: tuple[Control, ...]

    @property
    def known(self) -> bool:
        """Whether there is any estimate."""
        return any(effect.answers for effect in self.effects) or any(control.answers for control in self.controls)


class Row(NamedTuple):
    """A row of a table: the effect of a probe on a judge's marks, or the result of a control."""

    judged: JudgeEffects
    effect: Effect | None = None
    control: Control | None = None

    @property
    def each(self) -> Effect | Control | None:
        """The effect or the control."""
        return self.effect or self.control

    @property
    def probe(self) -> str:
        """The label of the probe or control."""
        return self.effect.probe if self.effect else self.control.control if self.control else ""


def verdict_lines(judged: JudgeEffects) -> list[str]:
    """Return the conclusions about one judge, in sentences."""
    whose = f"{one_line(judged.judge, 60)} ({judged.aspect})"
    if not judged.known:
        return [f"{whose}: no figure: {_lost(judged)}"]
    lines = [
        f"{whose}: {effect.probe} changes the mean mark by {signed(effect.change or 0.0, 3)} (p = "
        f"{effect.adjusted:.3g})."
        for effect in judged.effects
        if effect.biased
    ]
    there = [effect for effect in judged.effects if effect.p is not None]
    if there and not lines:
        most = max(max(abs(effect.low or 0), abs(effect.high or 0)) for effect in there)
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
    for reason in dict.fromkeys(effect.reason for effect in judged.effects if effect.reason):
        probes = ", ".join(effect.probe for effect in judged.effects if effect.reason == reason)
        lines.append(f"{whose}: {probes}: no figure; {reason}.")
    if judged.unanswered or judged.unreadable:
        missing = sum(effect.lost for effect in judged.effects) + sum(each.lost for each in judged.controls)
        lines.append(
            f"{whose}: {missing:,} comparisons are missing: {_lost(judged)} The mark of an answer as it came is part "
            "of several comparisons of that answer."
        )
    return lines


def _lost(judged: JudgeEffects) -> str:
    """Return the reasons for missing marks, with a remedy."""
    parts = []
    if judged.unanswered:
        parts.append(f"no reply to {judged.unanswered:,}")
    if judged.unreadable:
        parts.append(f"no verdict in the reply to {judged.unreadable:,} (judge-bias.jsonl of the run folder has it)")
    return f"of {judged.requests:,} requests {', '.join(parts)}. The same command asks these again."


_ROW = (
    *fields("judged", "judge", "aspect"), *fields("", "probe"), *fields("each", "answers", "lost"),
    *fields("effect", "change", "low", "high"), *fields("effect.up", value="up", low="up_low", high="up_high"),
    *fields("effect.down", value="down", low="down_low", high="down_high"), *fields("effect", "p", "adjusted"),
    *fields("control", "mean"), *fields("control.failed", value="failed"),
)  # fmt: skip
_JUDGE = fields("", "judge", "aspect", "requests", "unanswered", "unreadable")
_PER_CENT = Kind(lambda share: percent(share, 1))
_PROBE = (
    Column("probe", "probe", NAME), Column("answers", "answers", COUNT),
    Column("change of the mark", lambda made: None if made.change is None else made,
           Kind(lambda made: f"{signed(made.change, 3)} [{signed(made.low, 3)}, {signed(made.high, 3)}]"), None),
    *fields("", "lost", "change", "low", "high", "p"), Column("p", "adjusted", P, "adjusted"),
    Column("higher", "up.value", _PER_CENT, "up"), Column("lower", "down.value", _PER_CENT, "down"),
    *fields("up", low="up_low", high="up_high"), *fields("down", low="down_low", high="down_high"),
    *fields("", "reason"),
)  # fmt: skip
_CONTROL = (
    Column("control", "control", NAME), Column("answers", "answers", COUNT),
    Column("fails, per cent", "failed", Kind(
        lambda share: f"{percent(share.value, 1)} [{percent(share.low, 1)}, {percent(share.high, 1)}]"
    ), None),
    *fields("failed", value="failed", low="failed_low", high="failed_high"), Column("mean", "mean", figure(".3f")),
)  # fmt: skip


def findings(
    judges: Sequence[JudgeEffects], notes: Sequence[str], exit_code: int = EXIT_OK
) -> Findings[tuple[JudgeEffects, ...]]:
    """Return a table of probes and one of controls, a judge and aspect; `rows` has one for each probe or control.
    `notes`: on the answers; `exit_code`: whether requests are unanswered.
    """
    rows = [
        row
        for judge in judges
        for row in (
            *(Row(judge, effect) for effect in judge.effects),
            *(Row(judge, None, each) for each in judge.controls),
        )
    ]
    shown = [table for judge in judges if judge.known for table in _tables(judge)]
    legend = [LEGEND] if shown else []
    if any(row.effect and row.effect.p is None and row.effect.change is not None for row in rows):
        legend.append(NO_TEST)
    return Findings(
        found=tuple(judges), shown=[*shown, Table("Judges", _JUDGE, judges)], rows=Table("Probes", _ROW, rows),
        notes=[*(line for judge in judges for line in verdict_lines(judge)), *legend, *notes], exit_code=exit_code,
    )  # fmt: skip


def _tables(judged: JudgeEffects) -> tuple[Table, Table]:
    again = judged.controls[0]
    fails = Column(
        "where it fails",
        lambda control: "its mark changes" if control is again else f"it gets {PASSING:g} or more",
    )
    return (
        Table(f"{judged.judge}: the same answers in another form · {judged.aspect}", _PROBE, judged.effects),
        Table(f"{judged.judge}: controls · {judged.aspect}", (*_CONTROL, fails, *fields("", "lost")), judged.controls),
    )
