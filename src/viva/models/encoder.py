"""Open an encoder: NAME on the Hugging Face Hub or a folder, either with #LAYER. What it computes: embedding.py.

    roberta-large           the Hub's, layer 17 (encoders.toml: BERTScore's choice); fetched once, then read offline
    ./models/roberta-large  a folder with config.json, tokenizer and weights, as `save_pretrained` or `hf download` make
    ./my-encoder#9          the ninth hidden layer; without it a listed name's, otherwise the last

Needs torch and transformers (`pip install 'viva[encoder]'`), which are imported when an encoder is opened. No code from
the Hub or a folder is run, and nothing is sent but the requests for files.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from viva.contracts import Encoder
from viva.errors import VivaError, option
from viva.files import shipped_table
from viva.models import weightfiles
from viva.models.embedding import CACHE, ContextualEncoder
from viva.models.weightfiles import (
    HUB_NAME,
    PANIC,
    QUIET,
    SMALL,
    TOKENIZERS,
    any_weights,
    foreign_code,
    look_up_the_hub,
)
from viva.sources.sourcelist import hub_cache, offline
from viva.visible import some

VERSION = "1"
"""Raised whenever the same texts could get another similarity."""
_INSTALL = "pip install 'viva[encoder]'"


def missing(name: str) -> str:
    """Return why this encoder cannot be used here, with what to do; "" if it can. Imports and requests nothing.

    A name that is not on this machine yet counts as usable unless the Hub is switched off (HF_HUB_OFFLINE).
    """
    absent = [package for package in ("torch", "transformers") if importlib.util.find_spec(package) is None]
    if absent:
        return f"comparing texts needs {' and '.join(absent)}: {_INSTALL}{_without()}"
    place, _ = _split_revision(name)
    folder = Path(place).expanduser()
    if place and folder.is_dir():
        return _lacking(name, folder)
    if not HUB_NAME.fullmatch(place) or place.startswith(("./", "../")) or folder.is_absolute():
        return (
            f"{option('encoder')} {name!r}: there is no such folder, and it is no Hugging Face name such as "
            "roberta-large"
        )
    if offline() and not hub_cache("models", place).is_dir():
        return f"the encoder {place} is not here, and HF_HUB_OFFLINE is set: name a folder that holds it{_without()}"
    return ""


def open_encoder(name: str, capacity: int = CACHE) -> Encoder:
    """Open the encoder `name`; `capacity`: bytes of its cache. Takes seconds, and a download the first time.

    Raises VivaError where it cannot be used, saying what to do.
    """
    problem = missing(name)
    if problem:
        raise VivaError(problem)
    os.environ.update(QUIET)
    place, layer = _split_revision(name)
    folder = Path(place).expanduser()
    tokenizer, model, revision, layer = _load(name, place, layer)
    weights = fingerprint(folder) if folder.is_dir() else f"{place}@{revision}"
    identity = {"encoder": "token matching F1", "version": VERSION, "weights": weights, "layer": str(layer)}
    return ContextualEncoder(name, identity, tokenizer, model, capacity)


def fingerprint(folder: Path) -> str:
    """Return a hash over the files that a similarity depends on: weights, configuration, tokenizer. About a second a
    GB.
    """
    return weightfiles.fingerprint(folder, any_weights(folder), SMALL)


def published_layer(place: str, *, folder: bool) -> int | None:
    """Return BERTScore's layer for a Hub name, or for a folder with such a name; None where it has none."""
    table, owners = _published()
    names = [place]
    if folder:
        parts = Path(place).parts
        cached = next(
            (part for part in parts if part.startswith("models--")), ""
        )  # a model's folder in the cache of the Hub's client
        names = [cached.removeprefix("models--").replace("--", "/"), "/".join(parts[-2:]), *parts[-1:]]
    for name in names:
        owner, _, rest = name.partition("/")
        layer = table.get(name) or (table.get(rest) if owner in owners else None)
        if layer:
            return layer
    return None


@cache
def _published() -> tuple[dict[str, int], frozenset[str]]:
    data = shipped_table(__file__, "encoders.toml", dict[str, Any])
    return data["layers"], frozenset(data["owners"])


def _split_revision(name: str) -> tuple[str, int | None]:
    """Split NAME#17 into name and layer; a folder's own name may contain "#"."""
    place, sign, layer = name.rpartition("#")
    if not sign or not re.fullmatch("[0-9]{1,4}", layer) or Path(name).expanduser().is_dir():
        return name, None
    return place, int(layer)


def _lacking(name: str, folder: Path) -> str:
    lacks = []
    if not (folder / "config.json").is_file():
        lacks.append("config.json")
    if not any((folder / file).is_file() for file in TOKENIZERS):
        lacks.append("tokenizer (tokenizer.json, vocab.txt, ...)")
    if not any_weights(folder):
        lacks.append("weights (*.safetensors, pytorch_model.bin)")
    if not lacks:
        return ""
    return (
        f"the folder {option('encoder')} {name!r} has no {' and no '.join(lacks)}: name the folder of an "
        f"encoder{_without()}"
    )


def _load(name: str, place: str, layer: int | None) -> tuple[Any, Any, str, int]:
    """Return tokenizer, model, Hub revision and layer; from this machine without any request if all files are here."""
    transformers = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = Path(place).expanduser()
    try:
        if folder.is_dir():
            return _read(transformers, name, str(folder.absolute()), layer, local_files_only=True)
        try:
            return _read(transformers, name, place, layer, local_files_only=True)
        except OSError:
            look_up_the_hub()
            return _read(transformers, name, place, layer, local_files_only=False)
    except VivaError:
        raise
    except BaseException as problem:
        if not isinstance(problem, Exception) and type(problem).__name__ != PANIC:
            raise
        why = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        if folder.is_dir():
            raise VivaError(f"the folder {name} cannot be read as an encoder ({why})") from problem
        raise VivaError(
            f"the encoder {name} is not on this machine and could not be fetched; "
            f"a folder with config.json, tokenizer and weights works as well{_without()} ({why})"
        ) from problem


def _read(transformers: Any, name: str, source: str, wanted: int | None, **how: Any) -> tuple[Any, Any, str, int]:
    settings, _ = transformers.PretrainedConfig.get_config_dict(source, **how)
    if foreign := foreign_code(settings):
        raise VivaError(
            f"the config.json of the encoder {name} has attention computed by code from elsewhere ({foreign}), which "
            "would be fetched and run: take the entry out"
        )
    config = transformers.AutoConfig.from_pretrained(source, **how)
    layer = _layer(name, source, wanted, config)
    config.num_hidden_layers = layer  # later layers are not needed
    revision = getattr(config, "_commit_hash", None) or ""
    if revision:
        how["revision"] = revision
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, **how)
    torch = importlib.import_module("torch")
    model, loaded = transformers.AutoModel.from_pretrained(
        source, config=config, dtype=torch.float32, output_loading_info=True, **how
    )
    made_up = [key for key in loaded["missing_keys"] if "pooler" not in key]  # the pooler is not used
    if made_up:
        raise VivaError(f"the weights of {name} lack {some(made_up, 1)}: are they an encoder's?")
    return tokenizer, model.get_encoder() if config.is_encoder_decoder else model, revision, layer


def _layer(name: str, source: str, wanted: int | None, config: Any) -> int:
    highest = int(getattr(config, "num_hidden_layers", 0))
    layer = wanted if wanted is not None else published_layer(source, folder=Path(source).is_dir()) or highest
    if not 1 <= layer <= highest:
        raise VivaError(
            f"{name!r}: layer {layer} of {highest}; name one from 1 on, as in NAME#{highest}", field="encoder"
        )
    return layer


def _without() -> str:
    return f"; or {option('encoder', 'none')}, and the judge decides"
