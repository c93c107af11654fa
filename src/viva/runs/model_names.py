"""Models named by a command: folders of a pattern, revisions of one model, rows of a file of checkpoints.

    --model hf/EleutherAI/pythia-70m --revision step1000=2.1B,step143000=300B    two revisions, and their tokens
    --model 'hf/checkpoints/step*'                                               folders, step2 before step10
    --checkpoints steps.csv                                                      models, revisions and tokens

Everything here only looks at names and folders: nothing is loaded or requested.
"""

from __future__ import annotations

import glob
import math
import os
import os.path
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from viva.errors import DataError, VivaError, option
from viva.io.tables import read_csv, table_text
from viva.models.weightfiles import HUB_NAME, read_json
from viva.providers import PROVIDERS
from viva.runs.config import ModelPlan
from viva.runs.progress import say
from viva.visible import one_line, some

_DIGITS = re.compile(r"([0-9]+)")
_MOST = 1e30
"""Larger numbers of training tokens are refused as mistakes."""


class Named(Struct, frozen=True, kw_only=True):
    """A model to ask."""

    name: str
    """For run.json: PROVIDER/NAME, hf/NAME@REVISION, or hf/ and a folder's full path."""
    shown: str = ""
    """Its name in tables; "" for the provider's default."""
    revision: str = ""
    trained: float | None = None
    """Tokens."""
    own: ModelPlan | None = None
    """Options of this model alone; None without any."""


def named_models(
    given: Sequence[str],
    revision: str | None,
    checkpoints: Checkpoints | None = None,
    settings: Mapping[str, ModelPlan] = MappingProxyType({}),
) -> list[Named]:
    """Return every model to ask, once: those of --model with their revisions, then those of the file of checkpoints.

    `settings`: name in `given` → that model's own options.

    Raises VivaError for a pattern without a match, and for revisions of a model that has none.
    """
    listed = [model for pattern in given if pattern not in settings for model in _named(pattern)]
    if revision is not None:
        listed = _revised(listed, _revisions(revision))
    for pattern, own in settings.items():
        named = _named(pattern)
        if own.weights.revision is not None:
            named = _revised(named, _revisions(own.weights.revision))
        listed += [msgspec.structs.replace(model, own=own) for model in named]
    listed += [
        Named(name=name, revision=split_revision(name)[1], trained=tokens) for name, tokens in _listed(checkpoints)
    ]
    if not listed:
        raise VivaError(
            f"whom to ask? {option('model', 'PROVIDER/NAME')} (repeat for several), or {option('checkpoints', 'FILE')}"
        )
    shown = _shown([model.name for model in listed])
    once: dict[str, Named] = {}
    for model, display in zip(listed, shown, strict=True):
        mine = msgspec.structs.replace(model, name=placed(model.name), shown=display)
        once[mine.name] = _merged(once[mine.name], mine) if mine.name in once else mine
    return [_said_by_itself(model) for model in once.values()]


def separate_benchmarks_and_models(arguments: Iterable[str], models: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return (benchmarks, models): a shell that expands hf/step* makes arguments of all but the first folder."""
    benchmarks: list[str] = []
    more: list[str] = []
    for argument in arguments:
        folder = argument.startswith(HF) and Path(argument).is_dir()
        (more if folder else benchmarks).append(argument)
    return benchmarks, [*models, *more]


def in_natural_order(paths: Iterable[str]) -> list[str]:
    """Sort paths with numbers by value: step2 before step10."""
    return sorted(paths, key=_natural)


def tails(paths: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return for each path, given as its parts, the shortest end that no other one has. Equal paths stay whole."""
    return [_tail(path, [other for other in paths if tuple(other) != tuple(path)]) for path in paths]


def _tail(path: Sequence[str], others: Sequence[Sequence[str]]) -> tuple[str, ...]:
    for length in range(1, len(path)):
        tail = tuple(path[-length:])
        if all(tuple(other[-length:]) != tail for other in others):
            return tail
    return tuple(path)


def _named(pattern: str) -> list[Named]:
    return [Named(name=name, revision=split_revision(name)[1]) for name in _expanded(pattern)]


def _natural(path: str) -> tuple[list[tuple[str, int, str]], str]:
    parts = _DIGITS.split(path)  # texts and numbers alternate; a number sorts by its length first, without a limit
    numbers = [number.lstrip("0") for number in parts[1::2]] + [""]
    return [(text, len(number), number) for text, number in zip(parts[::2], numbers, strict=True)], path


def _expanded(name: str) -> list[str]:
    """Return the folders of a pattern; any other name as it is."""
    if not name.startswith(HF) or folder_of(name) or not glob.has_magic(name):
        return [name]
    pattern = os.path.expanduser(name.removeprefix(HF))  # noqa: PTH111 - Path raises for an unknown user
    folders = in_natural_order(path for path in glob.glob(pattern, recursive=True) if Path(path).is_dir())  # noqa: PTH207
    models = [path for path in folders if is_model(path)]
    strange = [one_line(path, 200) for path in folders if path not in models]
    listed = some(strange, 5)
    if not models:
        why = f"none of these has a config.json: {listed}" if strange else "there is no such folder"
        raise VivaError(f"{one_line(name, 200)} names no folder of a model: {why}", field="model")
    if strange:
        say(f"viva: left out, without a config.json: {listed}")
    return [HF + path for path in models]


def _revisions(text: str) -> dict[str, float | None]:
    """Parse `step1=2.1B,main` as {"step1": 2.1e9, "main": None}. Raises VivaError for an invalid revision."""
    revisions: dict[str, float | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, tokens = part.rpartition("=")
        name = (name if equals else part).strip()
        trained = amount(tokens) if equals else None
        if equals and trained is None:
            raise VivaError(
                f"{part[:80]!r}: {tokens[:40]!r} is no number of tokens; write {name[:40]}=300000000000, "
                f"{name[:40]}=3e11 or {name[:40]}=300B",
                field="revision",
            )
        if not is_revision(name):
            raise VivaError(
                f"{part[:80]!r} is no branch, tag or commit; write NAME,NAME or NAME=TOKENS,...", field="revision"
            )
        if revisions.get(name, trained) != trained:
            raise VivaError(f"names {name[:80]!r} twice, after different numbers of tokens", field="revision")
        revisions[name] = trained
    if not revisions:
        raise VivaError(f"{text[:80]!r} names none; write NAME,NAME or NAME=TOKENS,...", field="revision")
    return revisions


def _revised(listed: Sequence[Named], revisions: dict[str, float | None]) -> list[Named]:
    """Return the list with the revisions in place of the only model that can have any."""
    first = next(iter(revisions))
    weights = [model for model in listed if model.name.startswith(HF)]
    if not weights:
        raise VivaError(
            f"{first[:80]} is of weights on the Hugging Face Hub: it needs one {option('model')} hf/OWNER/NAME",
            field="revision",
        )
    # An error about one folder is clearer than one about many.
    for weight in weights:
        if folder_of(weight.name) or not HUB_NAME.fullmatch(split_revision(weight.name)[0]):
            raise VivaError(
                f"{first[:80]}: {one_line(weight.name, 200)} names a folder, and a folder has no revisions; "
                f"name the folders of its checkpoints, as in {option('model')} 'hf/checkpoints/step*'",
                field="revision",
            )
    if len(weights) > 1:
        raise VivaError(
            f"{first[:80]}: of which model, {one_line(weights[0].name, 80)} or "
            f"{one_line(weights[1].name, 80)}? Write {option('model')} hf/NAME@REVISION for each, or a file "
            f"({option('checkpoints')})",
            field="revision",
        )
    name, revision = split_revision(weights[0].name)
    if revision:
        raise VivaError(
            f"{one_line(weights[0].name, 200)} names a revision, and so does {option('revision')} {first[:80]}: "
            "name them in one "
            "place"
        )
    many = [Named(name=f"{HF}{name}@{part}", revision=part, trained=tokens) for part, tokens in revisions.items()]
    return [new for model in listed for new in (many if model is weights[0] else [model])]


def _listed(checkpoints: Checkpoints | None) -> list[tuple[str, float | None]]:
    """Return name and training tokens of every row; None for tokens where the file counts steps."""
    if checkpoints is None:
        return []
    return [(name, row.at if checkpoints.in_tokens else None) for name, row in models_of(checkpoints)]


def _shown(names: Sequence[str]) -> list[str]:
    """Return names for tables: of a folder, the shortest end of its path that no other one has."""
    parts: list[tuple[str, ...]] = []
    for name in names:
        folder = typed_folder(name)
        parts.append(Path(folder).parts if folder else tuple(name.removeprefix(HF).split("/")))
    once = dict.fromkeys(path for name, path in zip(names, parts, strict=True) if name.startswith(HF))
    short = dict(zip(once, tails(list(once)), strict=True))
    return [
        "" if not name.startswith(HF) else HF + str(Path(*short[path])) if typed_folder(name) else name
        for name, path in zip(names, parts, strict=True)
    ]


def _merged(model: Named, same: Named) -> Named:
    """Return one entry for a model that is named twice."""
    if None not in (model.trained, same.trained) and model.trained != same.trained:
        raise VivaError(
            f"{one_line(model.name, 200)} is there twice, after {model.trained:g} and {same.trained:g} tokens"
        )
    return msgspec.structs.replace(model, trained=same.trained if model.trained is None else model.trained)


def _said_by_itself(model: Named) -> Named:
    """Return the model with the training tokens stored in a folder of transformers' Trainer, unless they are given."""
    folder = folder_of(model.name)
    if model.trained is not None or not folder:
        return model
    try:
        seen = read_json(Path(folder) / "trainer_state.json").get("num_input_tokens_seen")
    except ValueError:
        return model
    known = isinstance(seen, int | float) and not isinstance(seen, bool) and 0 < seen < _MOST
    return msgspec.structs.replace(model, trained=float(seen)) if known else model  # type: ignore[arg-type]


HF = "hf/"
_NOT_IN_REVISIONS = re.compile(r"[\s\x00-\x1f\x7f~^:?*\[\\@]|\.\.|^[/-]")
"""Text that git allows in no name of a branch or tag, or that would be a path."""


def existing(path: str, beside: str = "") -> str:
    """Return a folder's full path, with links as typed; "" if there is none. It is looked for here, then in
    `beside`.
    """
    # os.path, since Path raises for an unknown user and for an invalid path.
    for start in dict.fromkeys(("", beside)):
        folder = os.path.join(start, os.path.expanduser(path))  # noqa: PTH111, PTH118
        if path and os.path.isdir(folder):  # noqa: PTH112
            return os.path.abspath(folder)  # noqa: PTH100 - links stay as they are
    return ""


def is_model(folder: str) -> bool:
    """Return whether a folder looks like a model's."""
    return bool(folder) and os.path.isfile(os.path.join(folder, "config.json"))  # noqa: PTH113, PTH118


def resolve_path(path: str) -> str:
    """Return the full path, links followed, of a file or folder that may be missing."""
    return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111


def typed_folder(name: str, beside: str = "") -> str:
    """Return the folder of `hf/FOLDER`, with links as they were typed; "" if there is no such folder.

    A folder counts before a name on the Hub, as transformers has it. `hf/FOLDER` itself may be one, which a shell
    completes: of a model, and if FOLDER is none.
    """
    if not name.startswith(HF):
        return ""
    folder = existing(name.removeprefix(HF), beside)
    if not folder:
        itself = existing(name, beside)
        folder = itself if is_model(itself) else ""
    return folder


def folder_of(name: str, beside: str = "") -> str:
    """Return `typed_folder` with links followed, so that it stays the same folder when a link is changed."""
    typed = typed_folder(name, beside)
    return resolve_path(typed) if typed else ""


def split_revision(name: str) -> tuple[str, str]:
    """Split `hf/NAME@REVISION` into NAME and REVISION; "" for a folder's revision, and where none is named.

    Raises VivaError for FOLDER@REVISION.
    """
    rest = name.removeprefix(HF)
    before, separator, revision = rest.partition("@")
    if not name.startswith(HF) or not separator or typed_folder(name):
        return rest, ""
    if typed_folder(HF + before):
        raise VivaError(f"{one_line(name, 200)}: {before[:200]!r} is a folder, and a folder has no revisions")
    return (before, revision) if HUB_NAME.fullmatch(before) else (rest, "")


def is_revision(text: str) -> bool:
    """Return whether a branch, tag or commit can have this name."""
    return bool(text) and not _NOT_IN_REVISIONS.search(text)


def placed(name: str) -> str:
    """Return a name for run.json: with the full path of a replay's file or a folder of weights.

    Raises VivaError for a folder whose path run.json cannot hold.
    """
    if name.startswith("replay/") and name != "replay/":
        return f"replay/{resolve_path(name.removeprefix('replay/'))}"
    folder = folder_of(name)
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise VivaError(f"the name of the folder {folder!r} is no UTF-8: give it another") from None
    return HF + folder if folder else name


AXES = {"tokens": "training tokens", "steps": "training steps"}
"""Column → label of the axis; the first column that the header has counts."""
COLUMNS = ("model", "base_url", "run", "revision", *AXES)
_PATHS = ("/", "./", "../", "~")
"""Beginnings of names that can only be folders."""
_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_NUMBER = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[+-]?[0-9]{1,3})?) ?([kmbgt]?)", re.IGNORECASE)


class Checkpoint(Struct, frozen=True, kw_only=True):
    """One row of a file of checkpoints."""

    line: int
    model: str = ""
    base_url: str = ""
    run: str = ""
    revision: str = ""
    at: float | None = None
    """Tokens or steps; None where the file does not say."""
    beside: str = ""
    """The folder of the file of checkpoints."""

    @property
    def name(self) -> str:
        """The model as for --model, a folder of weights by its full path; "" where the row names a run."""
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
        """Return whether the row is about this model of this run. A model without an address matches any.

        `model`: its name in tables; `recorded`: its name in run.json if from weights: hf/ and a full path, or
        hf/NAME@REVISION.
        """
        if self.run and self.run.rstrip("/") not in (str(run), run.name) and Path(self.run).resolve() != run.resolve():
            return False
        if not self.model:
            return True
        if recorded:
            return bool(self._names(folder=recorded.startswith(f"{HF}/")) & {model, recorded})
        provider, _, rest = self.name.partition("/")
        name = f"replay/{Path(rest).name}" if provider == "replay" else self.name  # its name in runs
        return name == model or (not self.base_url and model.partition("@http")[0] in (name, self.model))

    def _names(self, *, folder: bool) -> set[str]:
        """Return the possible names of a model from weights. A folder is recognised by its path, even if it is gone."""
        if not folder:
            return {self.name}
        path = self.model.removeprefix(HF)
        return {self.name, self.model, HF + resolve_path(path), HF + resolve_path(str(Path(self.beside, path)))}


class Checkpoints(Struct, frozen=True, kw_only=True):
    """A file of checkpoints."""

    path: Path
    axis: str
    rows: tuple[Checkpoint, ...]

    @property
    def in_tokens(self) -> bool:
        """Whether it counts tokens rather than steps."""
        return self.axis == AXES["tokens"]

    def find(self, run: Path, model: str, recorded: str = "") -> Checkpoint | None:
        """Return the row of a model of a run (see `Checkpoint.is_of`); None where the file has none.

        Raises DataError where it has several.
        """
        matching = [row for row in self.rows if row.is_of(run, model, recorded)]
        if len(matching) > 1:
            lines = " and ".join(str(row.line) for row in matching[:2])
            raise DataError(
                f"{self.path}, lines {lines}: both are {one_line(model, 80)} of {run}; tell them apart by `base_url` "
                "or `run`"
            )
        return matching[0] if matching else None


def read_checkpoints(path: Path) -> Checkpoints:
    """Return the file's rows. Raises DataError with the line and the value."""
    header, rows = read_csv(path, table_text(path, "file of checkpoints"))
    axis = next((name for name in AXES if name in header), "")
    if not {"model", "run"} & set(header):
        raise DataError(f"{path}, line 1: no column `model` or `run`; it has: {_columns(header)}")
    unknown = [name for name in header if name not in COLUMNS]
    if unknown:
        raise DataError(f"{path}, line 1: unknown column {unknown[0][:40]!r}; there are: {', '.join(COLUMNS)}")
    checkpoints = tuple(_checkpoint(path, line, row, axis) for line, row in rows)
    if not checkpoints:
        raise DataError(
            f"{path} names no checkpoint; a row is, for example: my-model-step1000,2.1B under `model,tokens`"
        )
    return Checkpoints(path=path, axis=AXES.get(axis, ""), rows=checkpoints)


def models_of(checkpoints: Checkpoints) -> list[tuple[str, Checkpoint]]:
    """Return every checkpoint that can be asked, with its name for --model.

    Raises DataError for a row without a model, an invalid one, and a repeated one.
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
        return  # a folder: its `revision` is only a label
    _, named = split_revision(row.name)
    if row.revision and row.revision != named:
        raise DataError(
            f"{where}: {one_line(row.model, 120)} names a revision, and so does the column: {row.revision[:80]!r}"
        )
    if named and not is_revision(named):
        raise DataError(f"{where}: revision {named[:80]!r} is no branch, tag or commit")


def amount(text: str) -> float | None:
    """Parse `300B`, `2.1e9`, `1000`, `1.5 T` as a number; None for anything else."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match[1]) * _SIZES[match[2].lower()]
    return value if math.isfinite(value) else None


def _checkpoint(path: Path, line: int, row: Mapping[str, str], axis: str) -> Checkpoint:
    given = {name: row.get(name, "").strip() for name in COLUMNS}
    where = f"{path}, line {line}"
    if not given["model"] and not given["run"]:
        raise DataError(f"{where}: neither a model nor a run")
    trained = amount(given[axis]) if axis else None
    if axis and given[axis] and trained is None:
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
        at=trained,
        beside=str(path.parent),
    )


def _columns(header: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in header[:20]) or "nothing"
