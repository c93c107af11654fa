"""Checks of a model without opening it: whether it can be used here, and its context in tokens.

Reads the folder's configuration and the headers of its files; imports nothing heavy, requests nothing.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from viva.errors import option
from viva.models import templates, weightfiles
from viva.models.weightfiles import HUB_NAME, read_json
from viva.providers import Dtype, Weights
from viva.sources.sourcelist import offline
from viva.visible import one_line

_INSTALL = "pip install 'viva[hf]'"
_DEVICE = re.compile(r"auto|cpu|map|cuda(:\d{1,3})?")
_LENGTHS = (
    *("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len", "max_sequence_length"),
    *("max_seq_length", "model_max_length", "seq_len"),
)
"""Names of the number of positions in configurations."""
_SENSIBLE = range(8, 100_000_001)
"""Plausible contexts in tokens: tokenizers without a limit state 10**30, some configurations 0 or -1."""
_OTHER_HEAD = re.compile(
    r"For(MaskedLM|PreTraining|NextSentencePrediction|MultipleChoice|\w*Classification|QuestionAnswering|Seq2SeqLM)$"
)
"""Architectures whose weights are not trained to predict the next token."""
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")


def problem(place: str, weights: Weights) -> str:
    """Return why this model cannot be used here, with what to do; "" if it can. Imports nothing heavy, requests
    nothing.

    A name that is not on this machine yet counts as usable unless the Hub is switched off (HF_HUB_OFFLINE).
    """
    trouble = _settings(weights) or _packages(weights) or _place(place, weights)
    if trouble or not weights.adapter:
        return trouble
    return _adapter(weights.adapter)


def context_of(place: str, weights: Weights) -> int | None:
    """Return the model's context in tokens, by its files alone; None where they are missing or do not state it."""
    folder = folder_of(place, weights)
    if folder is None:
        return None
    limit: object = None
    try:
        config = read_json(folder / "config.json")
        if (folder / "tokenizer_config.json").is_file():
            limit = read_json(folder / "tokenizer_config.json").get("model_max_length")
    except ValueError:
        return None
    return length(config, limit)


def stored_dtype(place: str, weights: Weights) -> str:
    """Return the dtype in which the weights are stored, by the config alone; "" where missing or not stated."""
    folder = folder_of(place, weights)
    try:
        config = read_json(folder / "config.json") if folder else {}
    except ValueError:
        return ""
    return str(config.get("dtype") or config.get("torch_dtype") or "").removeprefix("torch.")


def _settings(weights: Weights) -> str:
    if weights.dtype not in get_args(Dtype):
        return f"no such dtype: {one_line(weights.dtype, 40)!r}; there are {', '.join(get_args(Dtype))}"
    if not _DEVICE.fullmatch(weights.device):
        return f"no such device: {one_line(weights.device, 40)!r}; there are auto, cpu, cuda, cuda:1 and map"
    if weights.bits not in (0, 4, 8):
        return f"weights cannot be had in {weights.bits} bits: 4, 8, or 0 for as they are"
    if weights.bits and weights.device == "cpu":
        return f"{weights.bits} bits need a GPU: leave them out, or choose another device"
    if weights.template in ("", "raw"):
        return ""
    unknown = templates.unknown(weights.template)
    return f"{unknown}; raw uses none, and without one the model's own is used" if unknown else ""


def _packages(weights: Weights) -> str:
    wanted = ["torch", "transformers"]
    wanted += ["accelerate"] if weights.device == "map" or weights.bits else []
    wanted += ["bitsandbytes"] if weights.bits else []
    wanted += ["peft"] if weights.adapter else []
    absent = [package for package in wanted if importlib.util.find_spec(package) is None]
    if not absent:
        return ""
    extra = [package for package in absent if package == "bitsandbytes"]
    install = f"pip install {' '.join(extra)}" if absent == extra else " ".join([_INSTALL, *extra])
    return f"a model from its weights needs {' and '.join(absent)}: {install}"


def split_revision(place: str, weights: Weights) -> tuple[str, str]:
    """Return a Hub name and its revision, "main" if none is given."""
    name, _, revision = place.partition("@")
    return name, revision or weights.revision or "main"


def folder_of(place: str, weights: Weights) -> Path | None:
    """Return the folder of the files; None if they are not on this machine."""
    folder = Path(place).expanduser()
    if place and folder.is_dir():
        return folder.absolute()
    name, revision = split_revision(place, weights)
    return weightfiles.snapshot(name, revision) if HUB_NAME.fullmatch(name) else None


def _place(place: str, weights: Weights) -> str:
    folder = Path(place).expanduser()
    if not (place and folder.is_dir()):
        return _hub(place, weights)
    if weights.revision:
        return f"the folder {shown(place)} has no revisions: leave out {one_line(weights.revision, 40)!r}"
    if lacks := weightfiles.lacking(folder):
        return f"the folder {shown(place)} has {lacks}: name the folder of a language model"
    damage = weightfiles.damage(folder)
    return f"the folder {shown(place)} is damaged: {damage}" if damage else _kind(place, folder, weights)


def _hub(place: str, weights: Weights) -> str:
    name, revision = split_revision(place, weights)
    if not HUB_NAME.fullmatch(name) or Path(place).expanduser().is_absolute():
        return f"no such model: {shown(place)!r}: there is no such folder, and it is no Hugging Face name (OWNER/NAME)"
    if "@" in place and weights.revision and weights.revision != revision:
        return (
            f"{shown(place)} names a revision, and so does {option('revision')} "
            f"{one_line(weights.revision, 40)!r}: name one"
        )
    snapshot = weightfiles.snapshot(name, revision)
    if snapshot is None and offline():
        return f"{shown(place)} is not on this machine, and HF_HUB_OFFLINE is set: name a folder that holds it"
    return _kind(place, snapshot, weights) if snapshot else ""


def _kind(place: str, folder: Path, weights: Weights) -> str:
    """Return why its configuration rules it out; "" if it does not."""
    try:
        config = read_json(folder / "config.json")
        tokenizer = folder / "tokenizer_config.json"
        both = [config, read_json(tokenizer)] if tokenizer.is_file() else [config]
    except ValueError:
        return ""  # of an incomplete snapshot: missing files are fetched
    if not weights.trust_remote_code and any(part.get("auto_map") for part in both):
        return code_of_its_own(place)
    if beside := _sibling(place, folder, config):
        return beside
    architectures = config.get("architectures")
    names = [str(name) for name in architectures] if isinstance(architectures, list) else []
    if config.get("is_encoder_decoder") is True or (names and all(_OTHER_HEAD.search(name) for name in names)):
        what = f" ({one_line(names[0], 60)})" if names else ""
        return f"{shown(place)} is no model that continues a text{what}: name a causal language model"
    return ""


def _sibling(place: str, folder: Path, config: Mapping[str, object]) -> str:
    """Return an error for files that transformers would read in place of the hashed weights, or on top of them."""
    if config.get("transformers_weights"):
        return (
            f"the config.json of {shown(place)} has its weights read from another file (transformers_weights: "
            f"{one_line(str(config['transformers_weights']), 60)!r}): take the entry out, and name the file as usual "
            "(model.safetensors)"
        )
    if foreign := weightfiles.foreign_code(config):
        return kernel_of_others(place, foreign)
    if (folder / "adapter_config.json").is_file():
        return (
            f"{shown(place)} has an adapter beside its weights (adapter_config.json), which would be put upon them "
            f"unasked: move its files to a folder of their own, and name that with {option('adapter')}"
        )
    return ""


def kernel_of_others(place: str, entry: str) -> str:
    """Return the error for a model that needs this code."""
    return (
        f"the config.json of {shown(place)} has attention computed by code from elsewhere ({entry}), which would be "
        "fetched and run: take the entry out (eager, sdpa and flex_attention are PyTorch's own)"
    )


def code_of_its_own(place: str) -> str:
    """Return the error for a model that needs this code."""
    return (
        f"{shown(place)} comes with code of its own (auto_map), which would be run on this machine: look at it, and "
        f"then say {option('trust_remote_code')}; or name a model that transformers knows"
    )


def _adapter(adapter: str) -> str:
    folder = Path(adapter).expanduser()
    if not folder.is_dir():
        name = adapter.partition("@")[0]
        if not HUB_NAME.fullmatch(name) or folder.is_absolute():
            return f"no such adapter: {shown(adapter)}: there is no such folder, and it is no Hugging Face name"
        return ""
    try:
        read_json(folder / "adapter_config.json")
    except ValueError as why:
        return f"the adapter {shown(adapter)} cannot be used: {why}"
    files = [folder / name for name in ADAPTERS if (folder / name).is_file()]
    if not files:
        return f"the adapter {shown(adapter)} has no weights (adapter_model.safetensors)"
    broken = weightfiles.broken(files[0])
    return f"the adapter {shown(adapter)} is damaged: {files[0].name} is {broken}" if broken else ""


def length(config: Mapping[str, Any], limit: object) -> int | None:
    """Return the smallest plausible context, in tokens, of a configuration and its tokenizer's `limit`."""
    nested = config.get("text_config")
    lengths = [part.get(key) for part in (config, nested) if isinstance(part, Mapping) for key in _LENGTHS]
    sensible = [number for number in (*lengths, limit) if type(number) is int and number in _SENSIBLE]
    return min(sensible, default=None)


def shown(place: str) -> str:
    """Return a place to display: in one line, escaped for terminals."""
    return one_line(place, 200)
