"""Curves over a logarithmic axis as characters in a terminal; `charts.training` draws them for pages and files."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from viva.visible import one_line

BLOCKS = "▁▂▃▄▅▆▇█"
SEVERAL = "*"
"""Where curves meet in the terminal."""
_WIDTH, _HEIGHT = 64, 16


class Dot(Struct, frozen=True):
    """One point of a curve; `y` is a share of 1."""

    x: float
    y: float


class Series(Struct, frozen=True):
    """One curve."""

    name: str
    dots: tuple[Dot, ...]


class _Axes(Struct, frozen=True):
    """Where a figure lies, from 0 to 1 in each direction. Logarithmic where x spans half a decade and more."""

    left: float
    right: float
    bottom: float
    top: float
    log: bool

    def x(self, value: float) -> float:
        low, high, at = (math.log10(v) if self.log else v for v in (self.left, self.right, value))
        return (at - low) / (high - low) if high > low else 0.5

    def y(self, value: float) -> float:
        return (value - self.bottom) / (self.top - self.bottom)


def sparkline(values: Sequence[float | None], low: float, high: float) -> str:
    """A character a value, scaled from `low` to `high`; a middle dot where there is none."""
    span = high - low

    def block(value: float | None) -> str:
        if value is None:
            return "·"
        share = (value - low) / span if span > 0 else 0.5
        return BLOCKS[min(len(BLOCKS) - 1, max(0, int(share * len(BLOCKS))))]

    return "".join(map(block, values))


def short_number(value: float) -> str:
    """`220B`, `1.5T`, `20k`: at most three digits, as people speak of training tokens."""
    if not math.isfinite(value):
        return str(value)
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def drawable(series: Sequence[Series]) -> list[Series]:
    """What a logarithmic axis can show: nothing at 0, where a model is not trained yet."""
    logarithmic = sum(x > 0 for x in {dot.x for one in series for dot in one.dots}) > 1
    shown = [Series(one.name, tuple(dot for dot in one.dots if dot.x > 0 or not logarithmic)) for one in series]
    return [one for one in shown if one.dots]


def text_chart(series: Sequence[Series], axis: str) -> str:
    """Curves as letters on a grid, the legend below; empty where there is nothing to draw."""
    from rich.cells import cell_len

    shown = drawable(series)
    if not shown:
        return ""
    axes = _axes(shown)
    letters = _letters([one.name for one in shown])
    cells = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for one, letter in zip(shown, letters, strict=True):
        for dot in one.dots:
            column, row = round(axes.x(dot.x) * (_WIDTH - 1)), round((1 - axes.y(dot.y)) * (_HEIGHT - 1))
            taken = cells[row][column]
            cells[row][column] = letter if taken in (" ", letter) else SEVERAL
    labels = {round((1 - axes.y(tick)) * (_HEIGHT - 1)): f"{100 * tick:.0f}" for tick in _y_ticks(axes)}
    lines = [f"{labels.get(row, ''):>5} ┤{''.join(cells[row])}".rstrip() for row in range(_HEIGHT)]
    lines = [f"{'per cent':>8}", *lines]
    lines += [f"{'':>5} └{'─' * _WIDTH}", f"{'':>7}{_ruler(axes)}", f"{'':>7}{axis}{', log scale' if axes.log else ''}"]
    legend = [""]
    named = [f"{letter} {one_line(one.name, 40)}" for one, letter in zip(shown, letters, strict=True)]
    for part in (*named, f"{SEVERAL} several"):
        longer = f"{legend[-1]}   {part}" if legend[-1] else part
        legend[-1:] = [longer] if cell_len(longer) <= _WIDTH else [legend[-1], part]
    return "\n".join([*lines, *(f"{'':>7}{line}" for line in legend)]) + "\n"


def _axes(series: Sequence[Series]) -> _Axes:
    xs = [dot.x for one in series for dot in one.dots]
    ys = [dot.y for one in series for dot in one.dots]
    # To whole tens: an axis that ends at the data makes every wiggle look like progress.
    bottom, top = math.floor(min(ys) * 10 + 1e-9) / 10, math.ceil(max(ys) * 10 - 1e-9) / 10
    left, right = min(xs), max(xs)
    return _Axes(left, right, bottom, max(top, bottom + 0.1), log=left > 0 and right / left >= 10**0.5)


def _y_ticks(axes: _Axes) -> list[float]:
    step = 0.1 if axes.top - axes.bottom < 0.65 else 0.2
    first = math.ceil(axes.bottom / step - 1e-9)
    return [index * step for index in range(first, math.floor(axes.top / step + 1e-9) + 1)]


def _x_ticks(axes: _Axes) -> list[float]:
    """Powers of ten, with 2 and 5 between them where they would be few; the ends of a short axis."""
    if not axes.log:
        return sorted({axes.left, axes.right})
    powers = range(math.floor(math.log10(axes.left)), math.ceil(math.log10(axes.right)) + 1)
    whole = [10.0**power for power in powers if axes.left <= 10.0**power <= axes.right]
    if len(whole) > 3:
        return whole
    between = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return [tick for tick in between if axes.left <= tick <= axes.right] or [axes.left, axes.right]


def _ruler(axes: _Axes) -> str:
    """Tick labels under the grid, each at its place; one that would touch the last is left out."""
    line = ""
    for tick in _x_ticks(axes):
        label = short_number(tick)
        at = min(_WIDTH - len(label), max(0, round(axes.x(tick) * (_WIDTH - 1)) - len(label) // 2))
        if not line or at > len(line):
            line = line.ljust(at) + label
    return line


def _letters(names: Sequence[str]) -> list[str]:
    """A letter or digit a curve: the first of its name that is still free."""
    spare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    taken: list[str] = []
    for name in names:
        own = [c for c in name.upper() if c.isascii() and c.isalnum()]
        taken.append(next((c for c in (*own, *spare) if c not in taken), "?"))
    return taken
