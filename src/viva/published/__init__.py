"""The papers' own tables, to be shown beside yours. Facts: every figure is as its paper or its authors print it.

`infibench.csv`: the authors' result table behind Tables 6 and 10 of the InfiBench paper (NeurIPS 2024): 106 models,
3 human references, 10 sampling ablations of GPT-4. Per cent. What to know about it:

- `score` is best@10 (grouped; of fewer answers where `responses` says so), `score_std` the standard deviation of the
  groups, 0 where there is only one; `mean_score` the mean over all answers.
- GPT-4-0613 with (temperature, top-p) = (0.2, 0.9) is there twice, from 30 answers and, as an ablation, from 100. The
  ablation called (0.2, 0.7) repeats the main row in every figure.
- `parameters` of Phi1 and Phi2 look exchanged (Phi2 has 2.7 B, Phi1 1.3 B); StarCode+ is StarCoderPlus; the human rows
  carry the models' sampling. They are left as published.
- Four rows of StarCoder2 are called by their size alone; `find` knows them by family and size.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

from viva.errors import DataError

LEADERBOARDS: dict[str, str] = {"infibench": "infibench.csv"}
"""Benchmark → its table in this folder."""
SIZES: dict[str, int] = {"infibench": 234}
"""Benchmark → how many questions its table is about."""

_WORDS = {
    "access", "family", "model", "type", "domain", "context_length", "parameters", "generation_parameters", "responses",
}  # fmt: skip
"""Columns that are no figures."""
_SIZE_ALONE = re.compile(r"[\d.]+b(?:instruct)?")


class Row(Struct, frozen=True, kw_only=True):
    """One published row. `figures` maps the other columns to shares of 1 (HumanEval and the score included)."""

    model: str
    family: str
    access: str
    """Closed, Open, Human, or Ablation (GPT-4 with other sampling)."""
    sampling: str
    """(temperature, top-p), or greedy."""
    responses: int
    """Answers a question."""
    figures: dict[str, float]

    @property
    def name(self) -> str:
        """The model, with its family where the table gives only its size."""
        return f"{self.family} {self.model}" if _SIZE_ALONE.fullmatch(_plain(self.model)) else self.model

    @property
    def score(self) -> float:
        """best@10, a share of 1."""
        return self.figures["score"]

    @property
    def sd(self) -> float | None:
        """Its standard deviation over the groups; None for a single group, where the table prints 0."""
        return self.figures["score_std"] if self.responses > 10 else None

    @property
    def mean(self) -> float:
        """The mean over all answers, a share of 1."""
        return self.figures["mean_score"]


@cache
def leaderboard(benchmark: str) -> tuple[Row, ...]:
    """A benchmark's published rows, in the order of its table; empty where there is no table."""
    if benchmark not in LEADERBOARDS:
        return ()
    text = files(__name__).joinpath(LEADERBOARDS[benchmark]).read_text(encoding="utf-8")
    return tuple(
        Row(
            model=row["model"],
            family=row["family"],
            access=row["access"],
            sampling=row["generation_parameters"],
            responses=int(row["responses"]),
            figures={name: float(value) / 100 for name, value in row.items() if name not in _WORDS and value},
        )
        for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)
    )


def find(rows: Sequence[Row], model: str) -> Row | None:
    """The row of a model: the same name but for case, spaces, hyphens, and a vendor's prefix (`openai/gpt-4-0613`).

    Nothing is guessed: a name without its version (gpt-3.5-turbo) may be any version, so it has no row. Ablations are
    never found, since nothing but the sampling tells them apart.
    """
    wanted = _plain(model.rpartition("/")[2])
    found = [row for row in rows if row.access != "Ablation" and wanted == _plain(row.name)]
    return found[0] if len(found) == 1 else None


def called(rows: Sequence[Row], name: str) -> Row:
    """The row that a user names. Raises DataError with the names that come near."""
    row = find(rows, name)
    if row is None:
        near = [other.name for other in similar(rows, name)]
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise DataError(f"the published table has no row {name!r}{hint}")
    return row


def similar(rows: Sequence[Row], name: str) -> list[Row]:
    """At most three rows whose names begin as `name` does: other versions of a model, to be chosen by the user."""
    wanted = _plain(name.rpartition("/")[2])
    if len(wanted) < 3:
        return []
    near = [(row, _plain(row.name)) for row in rows if row.access != "Ablation"]
    return [row for row, other in near if other.startswith(wanted) or wanted.startswith(other)][:3]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())
