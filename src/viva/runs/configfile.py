"""A run configuration file: the options of `viva run` as YAML, and settings per model.

    benchmarks: [cmmlu, csbench]
    model:
      - openai/first
      - name: openai/second
        base_url: http://127.0.0.1:8001/v1
    shots: 5
    max_cost: 10

Field names are those of the options. Paths are relative to the current directory, as on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from viva.benchmarks.basics import read_bytes
from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar, Unreadable, read_yaml
from viva.errors import DataError
from viva.fields import Option, options, unknown, written
from viva.providers import traits_of
from viva.runs.config import CONSENT, RUN, ModelOptions, RunPlan, ServerOptions, WeightsOptions
from viva.visible import one_line

KNOWN = options(*RUN, without=CONSENT)
OF_MODELS = options(ModelOptions, ServerOptions, WeightsOptions, without=(*CONSENT, "checkpoints"))
"""Settings that a single model may have."""


class Configuration(Struct, kw_only=True, frozen=True):
    """A configuration file, read and checked."""

    benchmarks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    settings: dict[str, dict[str, Any]] = {}
    """Model → its own options and their values."""
    values: dict[str, Any] = {}
    """Options that the file sets, by their names in `runs/config.py`."""


def read_config(path: Path, own: Map[str, Option] = MappingProxyType({})) -> Configuration:
    """Return the file's content; `own`: options of a way of asking, in addition to those of every run.

    Raises DataError, naming file and line, for anything that is not allowed.
    """
    known = {**own, **KNOWN}
    try:
        root = read_yaml(read_bytes(path, empty=True).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8") from None
    except Unreadable as problem:
        raise DataError(f"{path}, line {problem.problem.line}: {problem}") from None
    reader = _Reader(path)
    fields = reader.fields(root, (*known, "benchmarks", "model"))
    benchmarks = fields.pop("benchmarks", None)
    model = fields.pop("model", None)
    names, settings = reader.models(model) if model else ((), {})
    return Configuration(
        benchmarks=tuple(map(reader.text, _items(benchmarks))) if benchmarks else (),
        models=names,
        settings=settings,
        values={name: reader.value(known[name], node) for name, node in fields.items()},
    )


def config_text(
    plan: RunPlan, given: Map[str, Any] = MappingProxyType({}), own: Map[str, Option] = MappingProxyType({})
) -> str:
    """Return the plan as a configuration file, with those options `own` to a way of asking that are `given`."""
    import yaml

    chosen = {name: written(given[name]) for name, option in own.items() if given[name] != option.default}
    content = {**plan.kept(), **chosen}
    bare = "\\x85" not in repr(content)  # U+0085 ends a line in YAML: PyYAML writes it as it is, and reads a blank
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=bare, width=1000))


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Listing) else (node,)


class _Reader:
    """A converter from YAML nodes to options and values, whose errors name the place."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fields(self, node: Node, known: Sequence[str]) -> dict[str, Node]:
        if not isinstance(node, Mapping):
            raise self._wrong(node, "a configuration is a mapping of options and values, such as `shots: 5`")
        nodes: dict[str, Node] = {}
        for key, value in node.entries:
            name = key.value
            if name in CONSENT:
                switch = "--" + name.replace("_", "-")
                raise self._wrong(key, f"{name} is agreed to on the command line ({switch}), never by a file")
            problem = unknown(known, [name])
            if problem:
                raise self._wrong(key, one_line(problem, 200))
            if name in nodes:
                raise self._wrong(key, f"{name} is there twice")
            nodes[name] = value
        return nodes

    def models(self, node: Node) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
        settings: dict[str, dict[str, Any]] = {}
        names: list[str] = []
        for item in _items(node):
            if isinstance(item, Mapping):
                fields = self.fields(item, (*OF_MODELS, "name"))
                if "name" not in fields:
                    raise self._wrong(item, "a model with settings of its own needs its `name`: PROVIDER/NAME")
                name = self.text(fields.pop("name"))
                settings[name] = {key: self.value(OF_MODELS[key], value) for key, value in fields.items()}
                if "base_url" in settings[name] and not traits_of(name).served:
                    raise self._wrong(item, f"base_url is for openai/ models; {one_line(name, 80)} has its own address")
            else:
                name = self.text(item)
            if name in names:
                raise self._wrong(item, f"{one_line(name, 80)} is there twice")
            names.append(name)
        return tuple(names), settings

    def text(self, node: Node) -> str:
        if not isinstance(node, Scalar) or node.null or not node.value:
            raise self._wrong(node, "here belongs a name")
        return node.value

    def value(self, option: Option, node: Node) -> Any:
        if isinstance(node, Mapping):
            raise self._wrong(node, f"{option.name} is no mapping")
        if isinstance(node, Listing) and not option.several:
            raise self._wrong(node, f"{option.name} has one value, not a list")
        texts = [None if isinstance(each, Scalar) and each.null else self._scalar(each) for each in _items(node)]
        given = texts if option.several and texts != [None] else texts[0]
        return option.convert(given, f"{self._path}, line {node.line}: ", lax=True)

    def _scalar(self, node: Node) -> str:
        if not isinstance(node, Scalar):
            raise self._wrong(node, "here belongs a text or a number")
        return node.value

    def _wrong(self, node: Node, what: str) -> DataError:
        return DataError(f"{self._path}, line {node.line}: {what}")
