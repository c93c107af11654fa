"""Which addresses and key variables of a run its user agreed to: a MAC in the run folder under a secret of the user's.

A run folder says where its models are and which environment variable holds the key, and may come from anybody: gone on
with, it would send any variable to any address. So a run that was begun here carries endpoints.json, made with a secret
that lies in the user's configuration and never in a folder; without it, somebody has to agree first (`runs/trust.py`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.folder import ModelRecord, RunRecord
from viva.errors import StorageError
from viva.files import UNREADABLE, read_regular, write_whole
from viva.secretkey import derived_key, existing_key

FILE = "endpoints.json"
_PURPOSE = b"endpoints 1"


class Approval(Struct, kw_only=True):
    """All of endpoints.json. `secret` tells under which secret it was made, as 16 digits of its hash."""

    mac: str
    secret: str


def addressed(record: RunRecord) -> list[ModelRecord]:
    """The models and judges for which run.json names an address or the variable of a key."""
    return [
        one
        for one in (*record.models, *record.judges)
        if one.base_url or one.key_variable or "://" in one.name or _headers(one)
    ]


def is_approved(folder: Path, record: RunRecord) -> bool:
    """Whether this user agreed to the run's addresses, or it has none. Raises StorageError where the user's secret
    cannot be had."""
    if not addressed(record):
        return True
    try:
        found = msgspec.json.decode(read_regular(folder / FILE, 1 << 16), type=Approval)
    except (OSError, *UNREADABLE):
        return False
    secret = existing_key(_PURPOSE)
    if secret is None:
        return False
    return hmac.compare_digest(found.mac.encode("utf-8", "replace"), _mac(secret, record).encode())


def approve(folder: Path, record: RunRecord) -> str:
    """Write down that this user agrees to them; returns why that could not be, or "".

    Raises StorageError where the folder cannot be written.
    """
    if not addressed(record):
        return ""
    try:
        secret = derived_key(_PURPOSE)
    except StorageError as problem:
        return str(problem)
    content = Approval(mac=_mac(secret, record), secret=hashlib.sha256(secret).hexdigest()[:16])
    try:
        write_whole(folder / FILE, msgspec.json.encode(content) + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {folder / FILE}: {problem.strerror}") from None
    return ""


def personal_key(*purpose: str) -> str:
    """32 characters that only this user can make, the same every time: 192 bits. Raises StorageError."""
    return base64.urlsafe_b64encode(derived_key(b"personal key 1\0" + msgspec.json.encode(purpose))[:24]).decode()


def _headers(one: ModelRecord) -> tuple[tuple[str, str], ...]:
    """Headers may have variables of the environment in them."""
    return one.request.headers if one.request else ()


def _mac(secret: bytes, record: RunRecord) -> str:
    """Over names, addresses and variables of models and judges; whatever else run.json says, it chooses no address."""
    said = [
        [[one.name, one.base_url, one.key_variable, *_headers(one)] for one in many]
        for many in (record.models, record.judges)
    ]
    return hmac.new(secret, msgspec.json.encode(said), hashlib.sha256).hexdigest()
