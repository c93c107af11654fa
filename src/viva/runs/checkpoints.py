"""A file of checkpoints: which model at which address, or which run, is how far in its training.

    model,base_url,revision,tokens
    pythia-step1000,http://127.0.0.1:8001/v1,step1000,2.1B
    hf/EleutherAI/pythia-70m,,step143000,300B
    checkpoints/last,,,300B

CSV with a header. `model` is named as for --model, or as its server calls it (then it is an openai/ model), or is a
folder of weights, beside the file where it is not here; `base_url` is its address where each has one of its own; `run`
is a run folder (or its last name), for one server that served one checkpoint after the other under the same name;
`revision` is that of a name on the Hugging Face Hub, and what any other checkpoint is called. A row needs `model` or
`run`, and `tokens` (or `steps`): 0 or more, with k, M, B or T for thousands to trillions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from viva.errors import DataError
from viva.io.tables import read_csv, table_text
from viva.models import PROVIDERS
from viva.runs.model_names import HF, existing, folder_of, is_model, is_revision, resolve_path, split_revision
from viva.visible import one_line

AXES = {"tokens": "training tokens", "steps": "training steps"}
"""Column → what the axis counts; the first that the header has."""
COLUMNS = ("model", "base_url", "run", "revision", *AXES)
_PATHS = ("/", "./", "../", "~")
"""How a name begins that can only be a folder's."""
_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_NUMBER = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[+-]?[0-9]{1,3})?) ?([kmbgt]?)", re.IGNORECASE)


class Checkpoint(Struct, frozen=True, kw_only=True):
    """One row."""

    line: int
    model: str = ""
    base_url: str = ""
    run: str = ""
    revision: str = ""
    at: float | None = None
    """Tokens or steps; None where the file does not say."""
    beside: str = ""
    """The file's folder."""

    @property
    def name(self) -> str:
        """The model as --model names it, a folder of weights by its full path; "" where the row is about a run."""
        if not self.model:
            return ""
        if self.model.startswith(HF):
            folder = folder_of(self.model, self.beside)
            named = "@" in self.model or not self.revision
            return HF + folder if folder else self.model if named else f"{self.model}@{self.revision}"
        if self.model.partition("/")[0] in PROVIDERS and "/" in self.model:
            name = self.model
        else:
            folder = "" if self.base_url else existing(self.model, self.beside)
            if is_model(folder):
                return HF + resolve_path(folder)
            name = f"openai/{self.model}"
        return f"{name}@{self.base_url}" if self.base_url else name

    def is_of(self, run: Path, model: str, recorded: str = "") -> bool:
        """Whether it is this model of this run. A model without an address is meant at any.

        `model` is what tables call it, and `recorded` how run.json names one from weights: hf/ and a full path, or
        hf/NAME@REVISION.
        """
        if self.run and self.run.rstrip("/") not in (str(run), run.name) and Path(self.run).resolve() != run.resolve():
            return False
        if not self.model:
            return True
        if recorded:
            return bool(self._names(folder=recorded.startswith(f"{HF}/")) & {model, recorded})
        provider, _, rest = self.name.partition("/")
        name = f"replay/{Path(rest).name}" if provider == "replay" else self.name  # as runs call it
        return name == model or (not self.base_url and model.partition("@http")[0] in (name, self.model))

    def _names(self, *, folder: bool) -> set[str]:
        """What a model from weights may be called. A folder is known by its path, even if it is not there any more."""
        if not folder:
            return {self.name}
        path = self.model.removeprefix(HF)
        return {self.name, self.model, HF + resolve_path(path), HF + resolve_path(str(Path(self.beside, path)))}


class Checkpoints(Struct, frozen=True, kw_only=True):
    """A file of them."""

    path: Path
    axis: str
    rows: tuple[Checkpoint, ...]

    @property
    def in_tokens(self) -> bool:
        """Whether it counts tokens, and not steps."""
        return self.axis == AXES["tokens"]

    def find(self, run: Path, model: str, recorded: str = "") -> Checkpoint | None:
        """The row of a model of a run (see `Checkpoint.is_of`); None where the file has none.

        Raises DataError where it has several.
        """
        found = [row for row in self.rows if row.is_of(run, model, recorded)]
        if len(found) > 1:
            lines = " and ".join(str(row.line) for row in found[:2])
            raise DataError(
                f"{self.path}, lines {lines}: both are {one_line(model, 80)} of {run}; tell them apart by `base_url` "
                "or `run`"
            )
        return found[0] if found else None


def read_checkpoints(path: Path) -> Checkpoints:
    """The file's rows. Raises DataError with the line and the value."""
    header, rows = read_csv(path, table_text(path, "file of checkpoints"))
    axis = next((name for name in AXES if name in header), "")
    if not {"model", "run"} & set(header):
        raise DataError(f"{path}, line 1: no column `model` or `run`; it has: {_listed(header)}")
    unknown = [name for name in header if name not in COLUMNS]
    if unknown:
        raise DataError(f"{path}, line 1: unknown column {unknown[0][:40]!r}; there are: {', '.join(COLUMNS)}")
    found = tuple(_checkpoint(path, line, row, axis) for line, row in rows)
    if not found:
        raise DataError(
            f"{path} names no checkpoint; a row is, for example: my-model-step1000,2.1B under `model,tokens`"
        )
    return Checkpoints(path=path, axis=AXES.get(axis, ""), rows=found)


def models_of(checkpoints: Checkpoints) -> list[tuple[str, Checkpoint]]:
    """Every checkpoint that can be asked, as --model names it.

    Raises DataError for a row without a model, for one that cannot be, and for the same one twice.
    """
    rows: dict[str, Checkpoint] = {}
    for row in checkpoints.rows:
        where = f"{checkpoints.path}, line {row.line}"
        name = row.name
        if not name:
            raise DataError(f"{where}: no model to ask; `run` says only where one was asked")
        if name.startswith(HF):
            _check_weights(where, row)
        elif row.model.startswith(_PATHS):
            raise DataError(f"{where}: there is no folder {one_line(row.model, 120)} with a config.json")
        if name in rows:
            raise DataError(
                f"{checkpoints.path}, lines {rows[name].line} and {row.line}: both are {one_line(name, 80)}; serve "
                "each checkpoint under a name (--served-model-name) or at an address (base_url) of its own"
            )
        rows[name] = row
    return list(rows.items())


def _check_weights(where: str, row: Checkpoint) -> None:
    if row.base_url:
        raise DataError(f"{where}: weights on this machine have no address; leave base_url out, or name a server's")
    if row.name.startswith(f"{HF}/"):
        return  # a folder: `revision` is only what it is called
    _, named = split_revision(row.name)
    if row.revision and row.revision != named:
        raise DataError(
            f"{where}: {one_line(row.model, 120)} names a revision, and so does the column: {row.revision[:80]!r}"
        )
    if named and not is_revision(named):
        raise DataError(f"{where}: revision {named[:80]!r} is no branch, tag or commit")


def amount(text: str) -> float | None:
    """`300B`, `2.1e9`, `1000`, `1.5 T` as a number; None for what is none."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    value = float(found[1]) * _SIZES[found[2].lower()]
    return value if math.isfinite(value) else None


def _checkpoint(path: Path, line: int, row: Mapping[str, str], axis: str) -> Checkpoint:
    given = {name: row.get(name, "").strip() for name in COLUMNS}
    where = f"{path}, line {line}"
    if not given["model"] and not given["run"]:
        raise DataError(f"{where}: neither a model nor a run")
    at = amount(given[axis]) if axis else None
    if axis and given[axis] and at is None:
        raise DataError(
            f"{where}: {axis} {given[axis][:40]!r} is no number from 0 on; write 300000000000, 3e11 or 300B"
        )
    if given["base_url"] and not given["base_url"].startswith(("http://", "https://")):
        raise DataError(f"{where}: base_url {given['base_url'][:80]!r} is no address such as http://127.0.0.1:8000/v1")
    if given["base_url"] and "@http" in given["model"]:
        raise DataError(f"{where}: the model has an address of its own, {given['model'][:80]!r}, beside base_url")
    return Checkpoint(
        line=line,
        model=given["model"],
        base_url=given["base_url"].rstrip("/"),
        run=given["run"],
        revision=given["revision"],
        at=at,
        beside=str(path.parent),
    )


def _listed(header: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in header[:20]) or "nothing"
