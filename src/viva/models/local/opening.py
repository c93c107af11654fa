"""Open a language model: a folder as `save_pretrained` or `hf download` make it, or NAME or NAME@REVISION on the Hub.

What a folder lacks, or what did not arrive whole, is said before anything heavy is imported. No code of a folder or of
the Hub is run unless asked for, pickled weights may hold nothing but tensors, and nothing is sent but the requests for
files. Needs torch and transformers (`pip install 'viva[hf]'`), imported when a model is opened.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from viva.errors import VivaError
from viva.models import templates, weightfiles
from viva.models.local.checking import (
    ADAPTERS,
    code_of_its_own,
    context_of,
    folder_of,
    kernel_of_others,
    length,
    problem,
    shown,
    split_revision,
    stored_dtype,
)
from viva.models.weightfiles import LM_SMALL, PANIC, QUIET
from viva.providers import DTYPES, Weights
from viva.visible import one_line, some

__all__ = ["Opened", "context_of", "identity", "known", "open_model", "open_tokenizer", "problem", "release"]

T = TypeVar("T")
_MIXED = "题目：下列 what is right? 答案是：A\n  x = 1"
"""Several scripts, marks and blanks, to see whether a tokenizer loses any."""


class Opened(Struct):
    """An opened model. `context` is in tokens, None where nothing says; `ends` are the tokens that end its texts."""

    name: str
    tokenizer: Any
    model: Any
    device: Any
    """Where token numbers are to be put: a torch.device."""
    dtype: str
    context: int | None
    ends: frozenset[int] = frozenset()


def identity(place: str, weights: Weights) -> dict[str, str]:
    """Return what tells this model from others: provider, weights (adapter included), context, dtype, bits, template.

    Of a folder a hash is taken (on all cores, once a process), of a Hub's name the commit, for which the Hub is
    asked if the name was never fetched; neither where the fingerprint is known: what a run remembers is graded without
    the weights. Where a folder lies is no part of it. Raises VivaError where there is no such model.
    """
    if not weights.fingerprint:
        trouble = problem(place, weights)
        if trouble:
            raise VivaError(trouble)
    known = weights.fingerprint or _fingerprint(place, weights)
    context = weights.context if weights.fingerprint else context_of(place, weights) or 0
    return {
        "provider": "hf",
        "weights": known,
        "context": str(context),
        "dtype": weights.dtype,
        "bits": str(weights.bits),
        "template": templates.version(weights.template),
    }


def _are(place: str, weights: Weights) -> bool:
    """Tell whether the weights have the fingerprint that a run remembers, in this Viva's form or in that of before."""
    return any(weights.fingerprint == _fingerprint(place, weights, **how) for how in ({}, {"part": 0}))


def _fingerprint(place: str, weights: Weights, **how: int) -> str:
    version = _version(place, weights, **how)
    return f"{version}+{_adapter_version(weights.adapter)}" if weights.adapter else version


def known(place: str, weights: Weights) -> Weights:
    """Return the settings with all that a run fixes at its start: the dtype of "auto", as stored on a GPU, else
    float32.

    Of a Hub's name that is not here yet, config.json and tokenizer_config.json are fetched first: dtype and context are
    the same before its weights are fetched and after. A run that remembers its weights asks nobody. Raises VivaError
    where the model or the device cannot be used.
    """
    if not weights.fingerprint:
        trouble = problem(place, weights)
        if trouble:
            raise VivaError(trouble)
        if not Path(place).expanduser().is_dir():
            _told(place, lambda _: _fetch_small(place, weights))
    return _settled(place, weights)


def _settled(place: str, weights: Weights) -> Weights:
    if weights.dtype != "auto":
        return weights
    trouble = problem(place, weights)
    if trouble:
        raise VivaError(trouble)
    on_card = _device(place, weights) != "cpu" and importlib.import_module("torch").cuda.is_available()
    stored = stored_dtype(place, weights) if on_card else ""
    return msgspec.structs.replace(weights, dtype=DTYPES.get(stored, "float32"))


def open_tokenizer(place: str, weights: Weights) -> Any:
    """Open the tokenizer alone, in a second or two. Raises VivaError where it cannot be used."""
    trouble = problem(place, weights)
    if trouble:
        raise VivaError(trouble)
    return _told(place, lambda transformers: _anywhere(place, weights, _read_tokenizer(transformers, place)))


def open_model(place: str, weights: Weights) -> Opened:
    """Open the model. Blocking: seconds to minutes, and a download the first time.

    Raises VivaError, naming the model and the cause, where it cannot be used, and where the weights are others than
    when the run began (`Weights.fingerprint`).
    """
    trouble = problem(place, weights)
    if trouble:
        raise VivaError(trouble)
    if weights.fingerprint and not _are(place, weights):
        fingerprint = _fingerprint(place, weights)
        raise VivaError(
            f"the weights of {shown(place)} are not those that this run began with ({fingerprint} in place of "
            f"{weights.fingerprint}): begin a new run"
        )

    def read(transformers: Any) -> Opened:
        device = _device(place, weights)
        tokenizer = _anywhere(place, weights, _read_tokenizer(transformers, place))
        model = _anywhere(place, weights, lambda source, how: _read_model(transformers, source, how, device, weights))
        if weights.adapter:
            _adapt(model, weights.adapter)
        if trouble := problem(place, weights):  # by what was fetched just now
            raise VivaError(trouble)
        model.eval()
        _checked(place, tokenizer, model)
        return Opened(
            name=place,
            tokenizer=tokenizer,
            model=model,
            device=model.get_input_embeddings().weight.device,
            dtype=str(model.dtype).removeprefix("torch."),
            context=length(model.config.to_dict(), getattr(tokenizer, "model_max_length", None)),
            ends=_ends(model),
        )

    return _told(place, read)


def release(opened: Opened) -> None:
    """Release the memory of its weights; it cannot be used afterwards."""
    opened.model = None
    gc.collect()
    torch = importlib.import_module("torch")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


# --- which weights they are


def _version(place: str, weights: Weights, **how: int) -> str:
    folder = Path(place).expanduser()
    if not (place and folder.is_dir()):
        name, revision = split_revision(place, weights)
        return f"{name}@{_commit(place, name, revision)}"
    code = sorted(path.name for path in folder.glob("*.py")) if weights.trust_remote_code else []
    return _hash(folder.absolute(), weightfiles.model_weights(folder), (*LM_SMALL, *_indices(folder), *code), **how)


def _indices(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.index.json"))


def _adapter_version(adapter: str) -> str:
    folder = Path(adapter).expanduser()
    if folder.is_dir():
        return _hash(folder.absolute(), [folder / name for name in ADAPTERS], ("adapter_config.json",))
    name, _, revision = adapter.partition("@")
    return f"{name}@{_commit(adapter, name, revision or 'main', 'adapter_config.json')}"


def _hash(folder: Path, weights: Iterable[Path], small: tuple[str, ...], **how: int) -> str:
    files = [path for path in (*weights, *(folder / name for name in small)) if path.is_file()]
    stats = [(path, path.stat()) for path in files]
    return _hash_once(
        folder, tuple(weights), small, tuple((stat.st_size, stat.st_mtime_ns) for _, stat in stats), **how
    )


@cache
def _hash_once(
    folder: Path, weights: tuple[Path, ...], small: tuple[str, ...], _stamps: tuple[tuple[int, int], ...], **how: int
) -> str:
    return weightfiles.fingerprint(folder, weights, small, **how)


def _commit(place: str, name: str, revision: str, file: str = "config.json") -> str:
    """Return the commit that a branch or tag names: as fetched, or else as the Hub says now."""
    folder = weightfiles.snapshot(name, revision)
    if folder is None:
        _told(place, lambda _: _fetch(name, revision, file))
        folder = weightfiles.snapshot(name, revision)
    return folder.name if folder else revision


def _fetch_small(place: str, weights: Weights) -> None:
    """Fetch the files from which dtype and context are read, unless the whole model is here."""
    name, revision = split_revision(place, weights)
    for file in ("config.json", "tokenizer_config.json"):
        folder = weightfiles.snapshot(name, revision)
        if folder and ((folder / file).is_file() or not (weightfiles.lacking(folder) or weightfiles.damage(folder))):
            continue
        try:
            _fetch(name, folder.name if folder else revision, file)  # both of one commit
        except Exception as cause:
            # The Hub says that there is no such file. Without the Hub the type is another.
            if file == "config.json" or type(cause).__name__ not in ("RemoteEntryNotFoundError", "EntryNotFoundError"):
                raise


def _fetch(name: str, revision: str, file: str) -> None:
    weightfiles.look_up_the_hub()
    importlib.import_module("huggingface_hub").hf_hub_download(name, file, revision=revision)


# --- opening


def _told(place: str, read: Callable[[Any], T]) -> T:
    """Call `read` with transformers; turn any error into a VivaError of one sentence."""
    os.environ.update(QUIET)
    transformers = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        return read(transformers)
    except VivaError:
        raise
    except BaseException as cause:
        if not isinstance(cause, Exception) and type(cause).__name__ != PANIC:
            raise
        why = one_line(f"{type(cause).__name__}: {cause}", 300)
        here = Path(place).expanduser().is_dir()
        if "trust_remote_code" in str(cause):
            raise VivaError(code_of_its_own(place)) from cause
        if type(cause).__name__ == "UnpicklingError":
            why = "its pickled weights are damaged or hold more than tensors, and are not run; convert to safetensors"
        elif "OutOfMemory" in why or "allocate memory" in why:
            why = f"not enough memory; a smaller dtype (bfloat16), 4 or 8 bits or device map take less; {why}"
        if here or not isinstance(cause, OSError):
            raise VivaError(f"the model {shown(place)} cannot be opened ({why})") from cause
        raise VivaError(
            f"the model {shown(place)} is not on this machine and could not be fetched; a folder with config.json, "
            f"tokenizer and weights works as well ({why})"
        ) from cause


def _anywhere(place: str, weights: Weights, read: Callable[[str, dict[str, Any]], T]) -> T:
    """Read from this machine, without any request, if all files are here; from the Hub otherwise."""
    how: dict[str, Any] = {"trust_remote_code": weights.trust_remote_code}
    folder = folder_of(place, weights)
    # By its folder, even if it was fetched by name: given a name, transformers asks the Hub, whatever it is told.
    if folder and not weightfiles.lacking(folder) and not weightfiles.damage(folder):
        return read(str(folder), how | {"local_files_only": True})
    name, revision = split_revision(place, weights)
    weightfiles.look_up_the_hub()
    return read(name, how | {"revision": folder.name if folder else revision})


def _read_tokenizer(transformers: Any, place: str) -> Callable[[str, dict[str, Any]], Any]:
    def read(source: str, how: dict[str, Any]) -> Any:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **how)
        tokenizer = _faithful(transformers, tokenizer, source, how)
        tokenizer.name_or_path = place  # what messages call it
        return tokenizer

    return read


def _faithful(transformers: Any, tokenizer: Any, source: str, how: Mapping[str, Any]) -> Any:
    """Return the tokenizer of its own file, where transformers' choice of class would lose text.

    It chooses the class by the model's type alone: a Qwen2 model with a SentencePiece tokenizer would not see a
    Chinese character of its prompts.
    """
    file = Path(source) / "tokenizer.json"
    if not file.is_file():
        return tokenizer
    own = importlib.import_module("tokenizers").Tokenizer.from_file(str(file))
    made = str(tokenizer.decode(tokenizer(_MIXED, add_special_tokens=False)["input_ids"]))
    meant = str(own.decode(own.encode(_MIXED, add_special_tokens=False).ids))
    lost = {sign for sign in _MIXED if sign in meant and sign not in made}
    return transformers.PreTrainedTokenizerFast.from_pretrained(source, **how) if lost else tokenizer


def _device(place: str, weights: Weights) -> str:
    torch = importlib.import_module("torch")
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if weights.device == "auto":
        device = "cuda" if cards else "cpu"
    elif weights.device.startswith("cuda") and int(weights.device[5:] or 0) >= cards:
        raise VivaError(f"no such device here for {shown(place)}: {weights.device}; there are {cards} GPUs")
    else:
        device = weights.device
    if weights.bits and not cards:
        raise VivaError(f"{weights.bits} bits need a GPU, and there is none here: leave them out")
    return device


def _read_model(transformers: Any, source: str, how: dict[str, Any], device: str, weights: Weights) -> Any:
    torch = importlib.import_module("torch")
    stored = device != "cpu" and torch.cuda.is_available()
    dtype = getattr(torch, weights.dtype) if weights.dtype != "auto" else "auto" if stored else torch.float32
    how = {**how, "dtype": dtype, "weights_only": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    placed = device == "map" or (device != "cpu" and importlib.util.find_spec("accelerate") is not None)
    if placed:
        how["device_map"] = "auto" if device == "map" else {"": device}
    if weights.bits:
        how["quantization_config"] = transformers.BitsAndBytesConfig(**{f"load_in_{weights.bits}bit": True})
    where = {name: how[name] for name in ("local_files_only", "revision") if name in how}
    config, _ = transformers.PretrainedConfig.get_config_dict(source, **where)
    if foreign := weightfiles.foreign_code(config):
        raise VivaError(kernel_of_others(source, foreign))
    model, loaded = transformers.AutoModelForCausalLM.from_pretrained(source, **how)
    _whole(source, loaded)
    return model if placed or device == "cpu" else model.to(device)


def _whole(source: str, loaded: Mapping[str, Any]) -> None:
    """Raise VivaError where a tensor would be initialised at random."""
    absent = sorted(str(name) for name in loaded.get("missing_keys") or ())
    if absent:
        raise VivaError(f"the weights of {shown(source)} lack {_listed(absent)}: are they a causal language model's?")
    wrong = sorted(
        str(entry[0] if isinstance(entry, tuple) else entry) for entry in loaded.get("mismatched_keys") or ()
    )
    if wrong:
        raise VivaError(
            f"the weights of {shown(source)} have another shape than its config.json says, in {_listed(wrong)}: "
            "are both of one model?"
        )


def _listed(names: list[str]) -> str:
    return some([one_line(name, 80) for name in names], 1)


def _adapt(model: Any, adapter: str) -> None:
    folder: Path | None = Path(adapter).expanduser()
    name, _, revision = adapter.partition("@")
    if folder is not None and not folder.is_dir():
        folder = weightfiles.snapshot(name, revision or "main")
        folder = folder if folder and any((folder / file).is_file() for file in ADAPTERS) else None
    try:
        if folder is not None:
            loaded = model.load_adapter(str(folder.absolute()), adapter_kwargs={"local_files_only": True})
        else:
            weightfiles.look_up_the_hub()
            loaded = model.load_adapter(name, adapter_kwargs={"revision": revision or "main"})
    except Exception as cause:
        why = one_line(f"{type(cause).__name__}: {cause}", 300)
        if folder is None and isinstance(cause, OSError):
            raise VivaError(
                f"the adapter {shown(adapter)} is not on this machine and could not be fetched; a folder with "
                f"adapter_config.json and adapter_model.safetensors works as well ({why})"
            ) from cause
        raise VivaError(f"the adapter {shown(adapter)} does not fit this model ({why})") from cause
    absent = sorted(str(key) for key in getattr(loaded, "missing_keys", None) or ())
    if absent:
        raise VivaError(f"the adapter {shown(adapter)} lacks {_listed(absent)}: is it whole, and this model's?")


def _checked(place: str, tokenizer: Any, model: Any) -> None:
    """Raise VivaError where it computes no numbers, sees what is to come, or has another model's tokenizer."""
    torch = importlib.import_module("torch")
    embeddings = model.get_input_embeddings()
    rows = int(embeddings.weight.shape[0])
    if int(tokenizer.vocab_size) > rows:
        raise VivaError(
            f"the tokenizer of {shown(place)} knows {tokenizer.vocab_size:,} tokens and its weights {rows:,}: "
            "are both of one model?"
        )
    start = [rows // 2, rows // 3, rows // 4]
    ids = torch.tensor([[*start, rows // 5], [*start, rows // 6]], device=embeddings.weight.device)
    with torch.inference_mode():
        # One row at a time: rows of a batch may be routed together.
        first, other = (model(input_ids=row[None], use_cache=False).logits[0].float() for row in ids)
    if not bool(torch.isfinite(first).all()):
        raise VivaError(
            f"the model {shown(place)} computes no numbers in {str(model.dtype).removeprefix('torch.')}: are its "
            "weights damaged? Another dtype (float32, bfloat16) may do"
        )
    if float((first[:3] - other[:3]).abs().max()) > 0.02 * float(first.abs().max()):
        raise VivaError(f"{shown(place)} sees what is to come, so it is no model that continues a text")


def _ends(model: Any) -> frozenset[int]:
    """Return the tokens that end a text, as the generation config and the config have them."""
    tokens: set[int] = set()
    for config in (getattr(model, "generation_config", None), model.config):
        declared = getattr(config, "eos_token_id", None)
        tokens |= {
            int(token)
            for token in (declared if isinstance(declared, (list, tuple)) else [declared])
            if token is not None
        }
    return frozenset(tokens)
