"""Runs that ask every question in the cells of a design: options of what is varied, and the texts of its levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, cast, get_args

import msgspec
from msgspec import UNSET, Struct

from viva.benchmarks import CARD
from viva.benchmarks.card.cardmodel import read_card
from viva.benchmarks.varied import VARIANTS, Texts
from viva.commands import command
from viva.contracts import Exam
from viva.designs import JUDGE, MOST_CELLS, Design, Factor, FactorName
from viva.engine.folder import ExamRecord, RunRecord
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.lab.variation.cells import factorial
from viva.languages import LANGUAGES
from viva.prompting import merged, read_templates
from viva.runs.config import LimitOptions
from viva.runs.session import Way
from viva.types import ExamSpec
from viva.visible import one_line

CELLS = "cells"
PARAPHRASES = Path(__file__).with_name("paraphrases")
"""Paraphrased templates, a file for each benchmark."""
_EXAMPLE = "prompt=3,order=4"


class VaryConfig(Struct, kw_only=True):
    """Ask every question in all combinations of what is varied, in one run: how much does each move the score?

    `viva variance RUN` reads what the answers say.

    \b
    viva variance run cmmlu --vary prompt=3,order=4 --model openai/NAME
    viva variance run cmmlu --vary prompt=FILE.toml,cells=8 --model openai/a --model openai/b
    """

    vary: Annotated[
        tuple[str, ...],
        note(
            "What is varied: prompt=3 (or FILE.toml), order=4, exemplars=2, system=FILE.toml, seed=3; cells=N asks a "
            "balanced part of the combinations."
        ),
    ]


@command(VaryConfig, "way")
def varied(config: VaryConfig) -> Way:
    """Ask every question in the cells of a design. Raises VivaError for what cannot be varied so."""
    return Varied(read_varied(config.vary))


class VaryOptions(Struct, frozen=True):
    """The varied factors, each with its number of levels or file of texts; and the number of cells asked."""

    factors: Mapping[FactorName, int | Path]
    cells: int | None

    def of(
        self, spec: ExamSpec, own: Path | None, templates: dict[str, object] | None
    ) -> tuple[ExamSpec, dict[str, object]]:
        """Return an exam's settings with its design, and its templates with the texts of the levels; `own`: its file.

        Raises VivaError if the benchmark has too few paraphrases, or a file of texts cannot be read.
        """
        factors: list[Factor] = []
        texts = Texts()
        for name, setting in self.factors.items():
            first = {"prompt": "base", "system": "none"}.get(name, "0")
            if name == "prompt":
                named = _paraphrases(spec, own, setting)
                texts = msgspec.structs.replace(texts, prompt=tuple(named.values()))
                levels = [first, *named]
            elif name == "system":
                systems = _system_texts(cast("Path", setting))
                texts = msgspec.structs.replace(texts, system=tuple(systems.values()))
                levels = [first, *systems]
            else:
                start = spec.seed if name == "seed" else 0
                levels = [str(start + level) for level in range(cast("int", setting))]
            factors.append(Factor(name, tuple(levels)))
        sizes = [len(factor.levels) for factor in factors]
        whole = math.prod(sizes)
        fewest = min(whole, 2 + sum(sizes) - len(sizes))  # one degree of freedom is left for interactions
        if self.cells is not None and not fewest <= self.cells <= whole:
            raise VivaError(
                f"{option('vary')} cells={self.cells}: {' × '.join(map(str, sizes))} levels are {whole:,} "
                "combinations, and it "
                f"takes {fewest:,} or more to tell what each factor does; "
                + ("leave cells out" if fewest == whole else f"write cells={fewest} to {whole}, or leave cells out")
            )
        design = Design(tuple(factors), factorial(sizes, self.cells))
        if len(design.cells) > MOST_CELLS:
            raise VivaError(
                f"{option('vary')}: {' × '.join(map(str, sizes))} are {len(design.cells):,} combinations, more than "
                f"{MOST_CELLS}: ask a balanced part of them, such as cells=16"
            )
        said_templates = merged(templates, {VARIANTS: msgspec.to_builtins(texts)}) or {}
        return msgspec.structs.replace(spec, vary=design), said_templates


class Varied(Way):
    """The way of asking exams in all cells of a design."""

    def __init__(self, options: VaryOptions) -> None:
        self._options = options

    def exam(
        self, spec: ExamSpec, own: Path | None, templates: dict[str, object] | None
    ) -> tuple[ExamSpec, dict[str, object] | None]:
        """Add the design to the settings, and the texts of its levels to the templates."""
        return self._options.of(spec, own, templates)

    def plan(
        self, record: RunRecord, exams: Sequence[Exam], limits: LimitOptions
    ) -> tuple[RunRecord, Mapping[str, bytes]]:
        """Scale the run's number of answers by that of cells. Raises VivaError if seeds would change nothing."""
        if "seed" in self._options.factors:
            for exam in record.exams:
                _refuse_seeds(exam, record)
        cells = [1 if each.spec.vary is UNSET else len(each.spec.vary.cells) for each in record.exams]
        exams_asked = [
            msgspec.structs.replace(each, samples=(each.samples or record.samples) * count)
            for each, count in zip(record.exams, cells, strict=True)
        ]
        return msgspec.structs.replace(record, exams=exams_asked), {}


def _refuse_seeds(exam: ExamRecord, record: RunRecord) -> None:
    drawn = exam.sampling or record.sampling
    if drawn.seed is None:
        raise VivaError(f"seed: say which seed is the first, such as {option('seed', '0')}", field="vary")
    if drawn.temperature == 0:
        raise VivaError(
            f"seed: nothing is drawn at temperature 0; say another, such as {option('temperature', '0.7')}",
            field="vary",
        )


def read_varied(given: Sequence[str]) -> VaryOptions:
    """Return the options of `prompt=3,order=4`, in one text or several. Raises VivaError for an invalid factor."""
    factors: dict[FactorName, int | Path] = {}
    cells: int | None = None
    known = [name for name in get_args(FactorName) if name != JUDGE]
    for part in (part.strip() for text in given for part in text.split(",") if part.strip()):
        name, equals, value = (each.strip() for each in part.partition("="))
        if name in ("sample", "samples"):
            raise VivaError(
                f"{name}: write {option('samples', 'N')} beside {option('vary')}, for N answers in each combination",
                field="vary",
            )
        if name in (JUDGE, "judges"):
            raise VivaError(
                f"{name}: judges mark the same answers, so nothing more is asked for; name them with "
                f"{option('judge', 'A')} "
                f"{option('judge', 'B')}, and `viva variance` takes each for a level",
                field="vary",
            )
        if name not in (*known, CELLS) or not equals or not value:
            raise VivaError(
                f"{one_line(part, 60)!r}: write NAME=N with a name of {', '.join(known)}, {CELLS}; such as {_EXAMPLE}",
                field="vary",
            )
        if name in factors or (name == CELLS and cells):
            raise VivaError(f"{option('vary')}: {name} is there twice")
        count = int(value) if value.isascii() and value.isdecimal() and len(value) < 6 else None
        if count is None and (name not in ("prompt", "system")):
            raise VivaError(f"{name}={one_line(value, 40)}: write a number of levels, such as {name}=2", field="vary")
        if count is not None and not 2 <= count <= MOST_CELLS:
            raise VivaError(f"{name}={count}: from 2 to {MOST_CELLS}", field="vary")
        if name == "system" and count is not None:
            raise VivaError('system: name a TOML file with a text a level: polite = "You are ..."', field="vary")
        if name == CELLS:
            cells = count
        else:
            factors[cast("FactorName", name)] = Path(value) if count is None else count
    if not factors:
        raise VivaError(f"says nothing of what is varied; such as {_EXAMPLE}", field="vary")
    return VaryOptions(factors, cells)


def _paraphrases(spec: ExamSpec, own: Path | None, setting: int | Path) -> dict[str, dict[str, object]]:
    """Return name → templates of the levels after the first: from the user's file, or a number of those shipped."""
    if isinstance(setting, Path):
        return _tables(_read(setting, "paraphrases", '[brief] and below it task = "..."'), setting)
    path = PARAPHRASES / f"{spec.benchmark}.toml"
    paraphrases = _tables(read_templates(path), path) if path.exists() else {}
    if spec.benchmark == CARD and own is not None:
        card = read_card(own)
        paraphrases = {name: _below(table, card.language, card.format) for name, table in paraphrases.items()}
    else:
        paraphrases = {
            name: table
            for name, table in paraphrases.items()
            if spec.language in table or not LANGUAGES.keys() & table.keys()
        }
    paraphrases = {name: table for name, table in paraphrases.items() if table}
    if len(paraphrases) < setting - 1:
        most = f"; at most prompt={len(paraphrases) + 1}, or" if paraphrases else ":"
        raise VivaError(
            f"prompt={setting}: Viva has {len(paraphrases)} paraphrases of what {spec.label} asks{most} name a file of "
            "yours, prompt=FILE.toml",
            field="vary",
        )
    return dict([*paraphrases.items()][: setting - 1])


def _read(path: Path, what: str, example: str) -> dict[str, object]:
    """Return the user's file. Raises DataError where there is none."""
    if not path.exists():
        raise DataError(f"{option('vary')}: there is no file {path} of {what}; write one with {example}")
    return read_templates(path)


def _below(table: Mapping[str, object], *keys: str) -> dict[str, object]:
    """Return the table at nested keys; empty if missing."""
    part: object = table
    for key in keys:
        part = part.get(key, {}) if isinstance(part, dict) else {}
    return cast("dict[str, object]", part) if isinstance(part, dict) else {}


def _tables(content: Mapping[str, object], path: Path) -> dict[str, dict[str, object]]:
    """Return a file's tables by name. Raises DataError for a key outside tables."""
    if not content or not all(isinstance(table, dict) for table in content.values()):
        raise DataError(f"{path}: every paraphrase is a table of its name, with the templates that it replaces")
    return cast("dict[str, dict[str, object]]", dict(content))


def _system_texts(path: Path) -> dict[str, str]:
    """Return a file's system texts by name. Raises DataError for a value that is no text."""
    content = _read(path, "system texts", 'polite = "You are ..."')
    if not content or not all(isinstance(text, str) and text.strip() for text in content.values()):
        raise DataError(f'{path}: every system text is a line of its own: polite = "You are ..."')
    return cast("dict[str, str]", content)
