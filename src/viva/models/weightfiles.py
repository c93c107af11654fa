"""Files of weights: contents of a folder, completeness, hash; and the Hub's cache folder.

For encoders (encoder.py) and language models (local/opening.py). Reads files, imports nothing heavy; only
`look_up_the_hub` uses the network. A folder's JSON is untrusted: no name in it leads out of the folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import socket
import struct
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from viva.sources.sourcelist import HUB, hub_cache
from viva.visible import one_line, some

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "DISABLE_SAFETENSORS_CONVERSION": "1"}
"""No telemetry, and no request to a service that converts a repository's weights."""
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model")
SMALL = (
    *TOKENIZERS,
    *("config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt"),
)
"""Files that an encoder's similarity depends on besides its weights."""
LM_TOKENIZERS = (*TOKENIZERS, "tokenizer.model", "tokenizer.tiktoken", "qwen.tiktoken", "tiktoken.model", "tekken.json")
LM_SMALL = (*sorted({*SMALL, *LM_TOKENIZERS}), "chat_template.jinja", "chat_template.json", "generation_config.json")
"""Files that a language model's answers depend on besides its weights."""
_SINGLE = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
"""Files in which transformers looks for weights, in its order."""
_SHARD = re.compile(r"(?:model|pytorch_model)-(\d{5})-of-(\d{5})\.(?:safetensors|bin)")
_LONGEST_HEADER = 100 << 20
"""Most bytes of a header: safetensors' own limit."""
_PART, _READ = 1 << 30, 1 << 20
_LFS = b"version https://git-lfs"


def fingerprint(folder: Path, weights: Iterable[Path], small: Iterable[str], *, part: int = _PART) -> str:
    """Hash names and contents of these files, of which `small` may be missing. About a second a GB, on all cores.

    A file longer than `part` bytes counts by the hashes of its parts; with 0 it is hashed as a whole, as by every Viva
    before 2026-12.
    """
    files = [path for path in [*weights, *(folder / name for name in sorted(small))] if path.is_file()]
    starts = [range(0, path.stat().st_size or 1, part) if part else range(1) for path in files]
    digest = hashlib.blake2b(digest_size=16)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = [(path, start) for path, of_path in zip(files, starts, strict=True) for start in of_path]
        digests = pool.map(lambda each: _hash(each[0], each[1], part), parts)
        for path, of_path in zip(files, starts, strict=True):
            hashes = list(islice(digests, len(of_path)))
            whole = hashes[0] if len(hashes) == 1 else hashlib.blake2b(b"".join(hashes)).digest()
            digest.update(path.name.encode() + b"\0" + whole)
    return digest.hexdigest()


def _hash(path: Path, start: int, size: int) -> bytes:
    """Hash `size` bytes of a file; all of it if 0."""
    digest = hashlib.blake2b()
    with path.open("rb") as content:
        content.seek(start)
        left = size or path.stat().st_size
        while left and (read := content.read(min(left, _READ))):
            digest.update(read)
            left -= len(read)
    return digest.digest()


def any_weights(folder: Path) -> list[Path]:
    """Return all files of weights: safetensors, or else pickled tensors."""
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        files = sorted(folder.glob(pattern))
        if files:
            return files
    return []


def model_weights(folder: Path) -> list[Path]:
    """Return the files of weights that transformers would read of a folder, existing or not; [] without any."""
    for name in _SINGLE:
        path = folder / name
        if not path.is_file():
            continue
        return _shards(path) if name.endswith(".json") else [path]
    return []


def read_json(path: Path) -> dict[str, object]:
    """Return a JSON object. Raises ValueError with a few words where it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise ValueError(f"{path.name} is {_unlike(path) or 'no valid JSON'}") from problem
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return cast("dict[str, object]", content)


def lacking(folder: Path) -> str:
    """Return what a language model's folder lacks, in a few words ("no config.json and no tokenizer"); "" if
    nothing.
    """
    lacks = []
    if not (folder / "config.json").is_file():
        lacks.append("config.json")
    if not any((folder / name).is_file() for name in LM_TOKENIZERS):
        lacks.append("tokenizer (tokenizer.json, tokenizer.model, ...)")
    if not any((folder / name).is_file() for name in _SINGLE):
        parts = sorted(path.name for path in folder.glob("*") if _SHARD.fullmatch(path.name))
        index = (
            "model.safetensors.index.json" if not parts or parts[0].endswith("s") else "pytorch_model.bin.index.json"
        )
        lacks.append(f"{index}, which says what {parts[0]} holds" if parts else "weights (model.safetensors, ...)")
    return f"no {' and no '.join(lacks)}" if lacks else ""


PANIC = "PanicException"
"""Exception of failing Rust libraries, such as tokenizers at an invalid expression in tokenizer.json; it is no
`Exception`."""


def foreign_code(config: object, *, deepest: int = 8) -> str:
    """Return the part of a config.json that would make transformers fetch and run code, in a few words; "" without any.

    It takes an unknown name of attention for a kernel on the Hub, also in configurations of parts; and so it does with
    flash attention if flash_attn is missing.
    """
    if not isinstance(config, dict) or not deepest:
        return ""
    flash = {"flash_attention_2"} if importlib.util.find_spec("flash_attn") else set()
    for key, value in config.items():
        if str(key).endswith(("attn_implementation", "attn_implementation_internal", *_EXPERTS)):
            for name in value.values() if isinstance(value, dict) else [value]:
                if not (name is None or name in (*_COMPUTED, *flash)):
                    return f"{one_line(str(key), 60)}: {one_line(str(name), 60)!r}"
        elif code := foreign_code(value, deepest=deepest - 1):
            return code
    return ""


_EXPERTS = ("experts_implementation", "experts_implementation_internal")
_COMPUTED = ("eager", "sdpa", "flex_attention", "batched_mm", "grouped_mm")
"""Implementations of attention and experts that are PyTorch's own."""


def damage(folder: Path) -> str:
    """Return what is wrong with a folder's files, in a few words: missing, cut off, empty, never fetched; "" if
    nothing.

    Reads headers, never weights: a flipped bit is not seen.
    """
    try:
        read_json(folder / "config.json")
        weights = model_weights(folder)
        for name in LM_SMALL:
            if name.endswith(".json") and (folder / name).is_file():
                read_json(folder / name)
    except ValueError as problem:
        return str(problem)
    absent = [path.name for path in weights if not path.is_file()]
    if absent:
        return f"{some([one_line(name, 80) for name in absent], 1)} of {len(weights)} files of weights is not there"
    return next((f"{path.name} is {damage_found}" for path in weights if (damage_found := broken(path))), "")


def broken(path: Path) -> str:
    """Return what is wrong with one file of weights: "cut off: 100 of 2,000 bytes"; "" if its size is what its header
    says.
    """
    unlike = _unlike(path)
    if unlike or path.suffix == ".safetensors":
        return unlike or _broken_safetensors(path)
    with path.open("rb") as content:
        start = content.read(2)
    return "cut off" if start == b"PK" and not zipfile.is_zipfile(path) else ""


def _broken_safetensors(path: Path) -> str:
    """Compare a file's size with its header: 8 bytes of length, little-endian, then JSON with all offsets; tensors."""
    size = path.stat().st_size
    with path.open("rb") as content:
        length = content.read(8)
        header = struct.unpack("<Q", length)[0] if len(length) == 8 else 0
        if header > _LONGEST_HEADER:
            return "no safetensors file"
        text = content.read(header)
    if len(length) < 8 or len(text) < header:
        return f"cut off: {size:,} bytes, and its header is longer"
    try:
        table = json.loads(text)
        end = max((int(entry["data_offsets"][1]) for name, entry in table.items() if name != "__metadata__"), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return "no safetensors file"
    wanted = 8 + header + end
    if size < wanted:
        return f"cut off: {size:,} of {wanted:,} bytes"
    return f"longer than its header says: {size:,} for {wanted:,} bytes" if size > wanted else ""


def snapshot(name: str, revision: str) -> Path | None:
    """Return the Hub client's folder of a revision (a branch, a tag, a whole hash); None if it was not fetched."""
    if ".." in revision.split("/") or revision.startswith("/"):
        return None
    kept = hub_cache("models", name)
    reference = kept / "refs" / revision
    try:
        commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    except (OSError, UnicodeDecodeError):
        return None
    folder = kept / "snapshots" / commit
    return folder if re.fullmatch(r"[0-9a-f]{40}", commit) and folder.is_dir() else None


def look_up_the_hub() -> None:
    """Raise OSError without a network, where the Hub's client would try for half a minute."""
    if not any(os.environ.get(variable) for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        hub = urlsplit(os.environ.get("HF_ENDPOINT") or HUB)
        socket.getaddrinfo(hub.hostname, hub.port or 443)


def _shards(index: Path) -> list[Path]:
    table = read_json(index).get("weight_map")
    names = sorted({str(name) for name in table.values()}) if isinstance(table, dict) else []
    if not names:
        raise ValueError(f"{index.name} names no file of weights")
    for name in names:
        if Path(name).name != name or name in ("", ".", ".."):
            raise ValueError(f"{index.name} names {one_line(name, 60)!r}, which is no file of this folder")
    return [index.parent / name for name in names]


def _unlike(path: Path) -> str:
    """Return what a file holds in place of its content, in a few words."""
    if not path.is_file():
        return "not there"
    with path.open("rb") as content:
        start = content.read(len(_LFS))
    if not start:
        return "empty"
    return "a git-lfs pointer and not the file (`git lfs pull` fetches it)" if start == _LFS else ""
