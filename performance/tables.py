"""The rows of grading.py made into tables: medians with their spread, differences and ratios within a round."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median, quantiles
from typing import TypeVar

import machine
from parts import WORKERS, Row
from summary import Spread, spread
from summary import _table as table

K = TypeVar("K")
NAMES = {"once": "unit_test, each program once", "every": "unit_test, every program", "": "{}"}
AUTHORS_TEXT_S = 55


def answers_table(rows: Sequence[Row]) -> str:
    """Answers a second and CPU an answer, by metric."""
    lines = []
    for (metric, variant), group in _by(rows, lambda one: (one.subject, one.variant)):
        first = group[0]
        rate, cpu = spread(one.count / one.wall_s for one in group), spread(_ms(one) / one.count for one in group)
        name = NAMES[variant].format(metric)
        lines.append([name, f"{first.count:,}", f"{first.programs:,}", _text(rate, 0), _text(cpu, 3)])
    return table(["", "answers", "programs run", "answers/s", "CPU ms an answer"], lines)


def text_table(rows: Sequence[Row]) -> str:
    """What 3,210 answers without a unit test take."""
    lines = []
    for metric, group in _by(rows, lambda one: one.subject):
        lines.append([metric, f"{group[0].count:,}", _text(spread(one.cpu_s for one in group), 2)])
    sums = [sum(one.cpu_s for one in group) for _, group in _by(rows, lambda one: one.round)]
    total = sum(one.count for one in rows if one.round == 0 and one.variant != "control")
    lines.append(["all", f"{total:,}", _text(spread(sums), 2)])
    lines.append(["all, the authors' (quoted)", "3,210", str(AUTHORS_TEXT_S)])
    return table(["", "answers", "CPU s"], lines)


def isolation_table(rows: Sequence[Row]) -> str:
    """What isolation adds to a program, in the same round; quartiles."""
    lines = []
    for language, group in _by(rows, lambda one: one.subject):
        for title, chosen in (
            ("hello", [one for one in group if one.program == "hello"]),
            ("real", [one for one in group if one.program != "hello"]),
        ):
            if not chosen:
                continue
            sound = _sound(chosen)
            plain = [1000 * one.wall_s for one in sound if one.variant == "plain"]
            cells = [language, title, str(len({one.program for one in chosen})), _text(quartiles(plain), 0)]
            for variant in ("isolated", "proved"):
                cells.append(_text(quartiles(_differences(sound, "plain", variant, lambda one: 1000 * one.wall_s)), 1))
                cells.append(_text(quartiles(_differences(sound, "plain", variant, _ms)), 1))
            lines.append([*cells, _failed(chosen)])
    header = ["", "", "programs", "plain ms", "isolation adds ms", "CPU ms", "with proof adds ms", "CPU ms", "left out"]
    return table(header, lines)


def python_table(rows: Sequence[Row]) -> str:
    """CPU milliseconds of a Python test, and beyond its own work; quartiles."""
    names = {
        "bare": "bare exec in a warm process",
        "plain": "cold process",
        "isolated": "sandbox, as published",
        "proved": "sandbox, with proof",
    }
    lines = []
    for title, wanted in (("hello", True), ("real", False)):
        chosen = [one for one in rows if one.variant != "control" and (one.program == "hello") == wanted]
        sound = _sound(chosen)
        for variant, name in names.items():
            for isolation in sorted({one.isolation for one in sound if one.variant == variant}):
                those = {one.program for one in sound if (one.variant, one.isolation) == (variant, isolation)}
                group = [one for one in sound if one.program in those]
                cpu = quartiles(_ms(one) for one in group if one.variant == variant)
                beyond = quartiles(_differences(group, "bare", variant, _ms)) if variant != "bare" else None
                words = [name, isolation, title] if isolation else [name, title]
                lines.append([", ".join(words), str(len(those)), _text(cpu, 1), _text(beyond, 1), _failed(chosen)])
    return table(["", "programs", "CPU ms", "beyond its own work", "left out"], lines)


def cores_table(rows: Sequence[Row]) -> str:
    """One worker against two, and the sandbox against no isolation, in the same round."""
    lines = []
    walls = {(one.subject, one.variant, one.round): one.wall_s for one in rows}
    rounds = sorted({one.round for one in rows})
    one_at_a_time, two = map(str, WORKERS)
    for subject, group in _by(rows, lambda one: one.subject):
        cells = [subject, str(group[0].count)]
        for workers in (one_at_a_time, two):
            mine = [one for one in group if one.variant == workers]
            cells += [_text(spread(one.wall_s for one in mine), 1), _text(spread(one.cpu_s for one in mine), 1)]
        ratio = spread(walls[subject, one_at_a_time, now] / walls[subject, two, now] for now in rounds)
        cells.append(_text(ratio, 2))
        for workers in (one_at_a_time, two):
            ratio = spread(walls[subject, workers, now] / walls["plain", workers, now] for now in rounds)
            cells.append(_text(ratio, 2) if subject == "sandbox" else "")
        lines.append(cells)
    header = ["", "programs", "1 at a time, s", "CPU s", "2 at a time, s", "CPU s", "1 ÷ 2"]
    return table([*header, "÷ plain, 1", "÷ plain, 2"], lines)


def blanks_table(rows: Sequence[Row]) -> str:
    """Milliseconds for an answer of 20 KB."""
    questions = {name: median(1000 * one.wall_s for one in group) for name, group in _by(rows, lambda one: one.subject)}
    slowest = max(questions, key=lambda name: questions[name])
    shown = [("all questions", spread(questions.values())), (f"slowest, {slowest}", spread([questions[slowest]]))]
    return table(["", "ms"], [[name, _text(figure, 1)] for name, figure in shown])


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "answers": answers_table,
    "text": text_table,
    "isolation": isolation_table,
    "python": python_table,
    "cores": cores_table,
    "blanks": blanks_table,
}


def noise(rows: Sequence[Row]) -> str:
    """What to hold against the figures: other work on the machine, and how far the same arithmetic lies apart."""
    lines = ["Noise:"]
    load, others = quartiles(one.load for one in rows), quartiles(one.others_busy for one in rows if one.wall_s > 0.1)
    if load and others:
        lines.append(f"- load average {load.text(1)} on {machine.describe()['cores']} cores")
        lines.append(f"- cores at other work {others.text(2)}")
    controls = [one for one in rows if one.variant == "control"]
    wall, cpu = spread(one.wall_s for one in controls), spread(one.cpu_s for one in controls)
    if wall and cpu:
        lines.append(f"- control: wall {wall.text(3)} s, highest ÷ lowest {wall.high / wall.low:.2f}")
        lines.append(f"- control: CPU {cpu.text(3)} s, highest ÷ lowest {cpu.high / cpu.low:.2f}")
    starts = [one for one in rows if one.part == "start"]
    lines += [f"- {one.subject}: {one.wall_s:.2f} s, CPU {one.cpu_s:.2f} s" for one in starts]
    bad = {(one.part, one.subject, one.program, one.variant, one.problem) for one in rows if one.problem}
    lines += [f"- {' '.join(filter(None, one[:4]))}: {one[4]}" for one in sorted(bad)]
    return "\n".join(lines)


def quartiles(values: Iterable[float]) -> Spread | None:
    """Median and quartiles, which a few odd runs do not move; None where there is nothing."""
    found = sorted(values)
    if len(found) < 2:
        return spread(found)
    low, middle, high = quantiles(found, n=4, method="inclusive")
    return Spread(middle, low, high, len(found))


def _by(rows: Sequence[Row], key: Callable[[Row], K]) -> list[tuple[K, list[Row]]]:
    """The rows in groups, in the order in which these first came; the control is in none."""
    groups: dict[K, list[Row]] = {}
    for one in rows:
        if one.variant != "control":
            groups.setdefault(key(one), []).append(one)
    return list(groups.items())


def _sound(rows: Sequence[Row]) -> list[Row]:
    """Without the programs that failed in any variant."""
    failed = {one.program for one in rows if one.problem}
    return [one for one in rows if one.program not in failed]


def _differences(rows: Sequence[Row], base: str, variant: str, figure: Callable[[Row], float]) -> list[float]:
    found = {(one.program, one.round): figure(one) for one in rows if one.variant == variant}
    return [
        found[one.program, one.round] - figure(one)
        for one in rows
        if one.variant == base and (one.program, one.round) in found
    ]


def _failed(rows: Sequence[Row]) -> str:
    return str(len({(one.program, one.variant) for one in rows if one.problem}) or "")


def _ms(one: Row) -> float:
    return 1000 * one.cpu_s


def _text(figure: Spread | None, digits: int) -> str:
    return "–" if figure is None else figure.text(digits)
