"""How weights on a disk are opened: what `hf/NAME` takes beside the name. Written to run.json."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
DTYPES: dict[str, Dtype] = {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"}
"""Those that name numbers, by name."""


class Weights(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a transformers model that can move a number or decide whether it fits.

    `dtype`: "auto" is float32 on a CPU, and as stored on a GPU. `device`: auto, cpu, cuda, cuda:1, or map (spread over
    all there is). `bits`: 4 or 8 quantise; 0 does not. `template`: "" is the model's own chat
    template, "raw" none, else a family of models/templates.toml. `batch`: rows at once, 0 to find out. `fingerprint` is
    that of the files when a run began, "" if not known yet; `context` is how many tokens the model reads, as a run
    remembers it, 0 where nothing says.
    """

    revision: str = ""
    dtype: Dtype = "auto"
    device: str = "auto"
    bits: Literal[0, 4, 8] = 0
    adapter: str = ""
    trust_remote_code: bool = False
    template: str = ""
    batch: int = 0
    fingerprint: str = ""
    context: int = 0
