"""Item statistics and item response of an exam's questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from viva.analysis.difficulty import TRIALS
from viva.errors import VivaError

if TYPE_CHECKING:
    from viva.analysis.itemresponse import Fitted
    from viva.reports.items import Examined
    from viva.studies.items.sources import ItemSources


class ItemsConfig(Struct, kw_only=True):
    """What is to be told, and how."""

    exam: str | None = None
    irt: Literal["1pl", "2pl"] | None = None
    items: int = 20
    chart: Path | None = None
    anchors: int | None = None
    seed: int = 0
    predict: tuple[Path, ...] = ()
    anchors_file: Path | None = None
    levels: bool = False
    weaker: str | None = None
    stronger: str | None = None
    warm: str | None = None
    trials: int = TRIALS
    given: Path | None = None
    format: str = "terminal"
    out: Path | None = None


def study(one: ItemSources, config: ItemsConfig) -> Examined:
    """Item statistics and fits of one exam. Raises DataError where no answer has a score."""
    import numpy as np

    from viva.analysis.itemresponse import fit
    from viva.analysis.itemscores import item_scores
    from viva.analysis.itemstatistics import item_statistics
    from viva.errors import DataError
    from viva.reports.items import Examined

    scores = item_scores(one.exam, one.frames, one.headline)
    notes = list(one.notes)
    heard = np.atleast_1d(np.isfinite(scores.scores).any(axis=1))
    if not heard.any():
        raise DataError(f"{one.exam}: no answer of any model has a score yet")
    if not heard.all():
        silent = ", ".join(name for name, known in zip(scores.models, heard, strict=True) if not known)
        notes.append(f"{one.exam}: left out, as they have no score at all: {silent}.")
        scores = scores.of(heard, np.ones(len(scores.questions), dtype=bool))
    fits: tuple[Fitted, ...] = ()
    if config.irt:
        shares = np.clip(scores.scores, 0.0, 1.0)
        below = int((scores.scores < 0).sum())
        if below:
            notes.append(f"{one.exam}: {below:,} scores below 0 count as 0 in the item-response model.")
        fits = (fit(shares, config.irt),)
        if fits[0].log_likelihood is not None:  # else there is nothing to compare two models by
            fits = (*fits, fit(shares, "1pl" if config.irt == "2pl" else "2pl"))
    return Examined(scores=scores, statistics=item_statistics(scores.scores), fits=fits, notes=tuple(notes))


def only_exam(found: Sequence[ItemSources], option: str) -> ItemSources:
    """The only exam found. Raises VivaError where there are several; `option` is what takes one."""
    if len(found) > 1:
        names = ", ".join(one.exam for one in found)
        raise VivaError(f"{option} is about one exam, and the sources have several: choose one by --exam: {names}")
    return found[0]


def refuse_contradictions(sources: Sequence[Path], config: ItemsConfig) -> None:
    """Raise VivaError for options that do not go together."""
    if config.predict:
        if sources:
            raise VivaError(f"--predict reads the runs that it names, and {sources[0]} is one more: leave it out")
        if config.anchors_file is None:
            raise VivaError(
                "--predict needs --anchors-file FILE: what `viva item-analysis RUN... --anchors N --out FILE.csv` wrote"
            )
    elif not sources:
        raise VivaError("name runs or tables of item scores, as in `viva item-analysis runs/`")
    elif config.anchors_file is not None:
        raise VivaError("--anchors-file goes with --predict; to keep chosen anchors say --anchors N --out FILE.csv")
    modes = {"--predict": bool(config.predict), "--anchors": config.anchors is not None, "--levels": config.levels}
    asked = [name for name, on in modes.items() if on]
    if len(asked) > 1:
        raise VivaError(f"{asked[0]} and {asked[1]} are two questions: ask them one by one")
    for name, on in (("--irt", config.irt is not None), ("--chart", config.chart is not None)):
        if asked and on:
            raise VivaError(f"{name} belongs to the questions' statistics: leave it out with {asked[0]}")
    for option, value in (("--weaker", config.weaker), ("--stronger", config.stronger)):
        if config.levels and value is None:
            raise VivaError(f"--levels needs {option} MODEL: which of the models takes that part in the rule")
    parts = {"--weaker": config.weaker, "--stronger": config.stronger, "--warm": config.warm, "--given": config.given}
    for option, said in parts.items():
        if said is not None and not config.levels:
            raise VivaError(f"{option} {said} is for --levels; add --levels")
