"""Which models a server lists, and what to say of one that it does not."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from viva.errors import ModelError, option
from viva.models.openaiapi.openaiwire import Wire, decode_json
from viva.visible import one_line, some

SHOWN = 20
"""Names in an error."""
LONGEST = 1 << 20
"""Bytes of a list of models: a router of thousands has some hundred KiB."""
PATIENCE = 5.0
"""Seconds to wait for the list."""
_NO_MODEL = re.compile(
    rb"not[ _](be[ _])?found|(does|do) not exist|no such|unknown|invalid model|not a valid model"
    rb"|is not (available|supported|loaded|served)",
    re.IGNORECASE,
)


class _Named(Struct):
    id: str = ""
    owned_by: object = None


class _Listing(Struct):
    data: list[_Named]


def names_in(content: bytes) -> list[str] | None:
    """Return the names that a body of GET /models lists; None for what is no list of models."""
    try:
        return [one.id for one in decode_json(content, _Listing).data if one.id]
    except msgspec.DecodeError:
        return None


def says_no_model(status: int, content: bytes) -> bool:
    """Tell whether a refusal may be about the model's name or the address, in any server's words."""
    return status in (404, 405) or (status in (400, 422) and b"model" in content and bool(_NO_MODEL.search(content)))


async def hint(url: str, key: str | None, model: str, field: str = "base_url") -> str:
    """Return what the server's list says of a model that it refuses; empty where it lists the model, or has no list.

    An address without /v1 is looked up with it, too.
    """
    names = await _listed(url, key)
    if names is not None:
        return "" if model in names else _missing(model, names)
    if not url.endswith("/v1") and await _listed(f"{url}/v1", key) is not None:
        return f"the server is at {url}/v1: the base URL ends in /v1 ({option(field)})"
    return ""


async def _listed(url: str, key: str | None) -> list[str] | None:
    wire = Wire(url, key, LONGEST)
    try:
        status, content, _ = await asyncio.wait_for(wire.ask("/models", None), PATIENCE)
    except (ModelError, TimeoutError):
        return None
    finally:
        await wire.close()
    return names_in(content) if status == 200 else None


async def owner_of(wire: Wire, model: str) -> str:
    """Whose the server says that its models are ("vllm", "library", ...); "" where it does not say."""
    try:
        status, content, _ = await asyncio.wait_for(wire.ask("/models", None), PATIENCE)
        listed = msgspec.json.decode(content, type=_Listing).data if status == 200 else []
    except (ModelError, TimeoutError, msgspec.DecodeError):
        return ""
    owners = [one.owned_by for one in listed if one.id == model] or [one.owned_by for one in listed]
    return next((owner for owner in owners if isinstance(owner, str)), "")


def _missing(model: str, names: Sequence[str]) -> str:
    """Return the sentence for a name that is not among those listed: the nearest first, at most `SHOWN` of them."""
    if not names:
        return f"the server lists no models, so {one_line(model, 80)!r} is none of them"
    folded = {name.casefold(): name for name in reversed(names[:1000])}
    wanted = model.casefold()
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.5)
    near = list(dict.fromkeys([*near, *(one for one in folded if wanted and wanted in one)]))[:3]
    ordered = list(dict.fromkeys([*(folded[one] for one in near), *names]))
    shown = some([one_line(name, 80) for name in ordered], SHOWN)
    meant = f" (did you mean {one_line(ordered[0], 80)!r}?)" if near else ""
    return f"the server lists no model {one_line(model, 80)!r}{meant}; it has: {shown}"
