"""What a run folder cannot agree to in its user's place: where keys are sent, and that code of weights is run.

A folder may come from anybody. Options that gave such consent count for the command that they were given to, and
addresses count where `runs/trust.py` knows that this user agreed to them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.errors import StorageError, VivaError, option
from viva.files import UNREADABLE, read_regular, write_whole
from viva.requesting import RequestOptions
from viva.runs.config import LimitOptions
from viva.runs.progress import notify
from viva.secretkey import derived_key, existing_key
from viva.visible import one_line

_NO_KEY = "VIVA_SENDS_NOTHING"
"""Stands for the variable of a key: a model is opened for its name alone, and nothing is sent."""
_SHOWN = 8
"""Addresses that an error or a question names."""


def confirm_endpoints(folder: RunFolder, limits: LimitOptions, ask: Callable[[str, str], bool] | None = None) -> None:
    """Before anything is sent for a run that is gone on with: did its user agree to its addresses and key variables?

    `ask` is given what would be sent where and the question, and says whether the user agrees; without it the run is
    refused, and `--trust-endpoints` agrees. What was agreed to is kept with the run.
    Raises VivaError where nobody agreed.
    """
    if is_approved(folder.path, folder.record):
        return
    named = list(dict.fromkeys(_described(one) for one in addressed(folder.record)))
    shown = [*named[:_SHOWN], *([f"and {len(named) - _SHOWN} more in run.json"] if named[_SHOWN:] else [])]
    if not limits.trust_endpoints:
        if ask is None:
            raise VivaError(
                f"{folder.path} was not begun by you here, and says where requests and keys go: {'; '.join(shown)}. "
                f"Nothing was sent. If you know these addresses, say {option('trust_endpoints')}"
            )
        said = f"{folder.path} was not begun by you here. Going on with it sends requests and keys:"
        if not ask("\n  ".join([said, *shown]), "Do you know these addresses, and may the keys go there?"):
            raise VivaError(f"nothing was sent; {option('trust_endpoints')} agrees without asking")
    keep_approval(folder)


def keep_approval(folder: RunFolder) -> None:
    """Write down that the run's addresses are its user's: those of a command line, or confirmed."""
    if problem := approve(folder.path, folder.record):
        notify(
            f"{problem}; going on with {folder.path} will ask whether its addresses are yours "
            f"({option('trust_endpoints')})"
        )


def _described(one: ModelRecord) -> str:
    """Return `openai/NAME at http://… with the key in GITHUB_TOKEN`."""
    address = f" at {one_line(one.base_url, 200)}" if one.base_url else ""
    key = f"the key in {one_line(one.key_variable, 80)}" if one.key_variable else "its provider's usual key"
    headers = "".join(
        f" and {one_line(f'{name}: {value}', 120)}" for name, value in (one.request or RequestOptions()).headers
    )
    return f"{one_line(one.name, 200)}{address} with {key}{headers}"


def refuse_inherited_code(records: Sequence[ModelRecord], limits: LimitOptions) -> None:
    """Raise VivaError where run.json alone says that code which comes with weights is to be run."""
    for one in records:
        if one.weights and one.weights.trust_remote_code and not limits.trust_remote_code:
            raise VivaError(
                f"this run was begun with {option('trust_remote_code')}, and code that comes with "
                f"{one_line(one.name, 200)} "
                f"would run with all your rights: look at it, and then say {option('trust_remote_code')} again"
            )


def without_consent(record: RunRecord) -> RunRecord:
    """Return the same run with models that are opened for their names: no key is read, no code of theirs is run."""
    os.environ[_NO_KEY] = "none"

    def named(models: list[ModelRecord]) -> list[ModelRecord]:
        return [
            msgspec.structs.replace(
                model,
                key_variable=_NO_KEY,
                weights=model.weights and msgspec.structs.replace(model.weights, trust_remote_code=False),
            )
            for model in models
        ]

    return msgspec.structs.replace(record, models=named(record.models), judges=named(record.judges))


FILE = "endpoints.json"
_PURPOSE = b"endpoints 1"


class Approval(Struct, kw_only=True):
    """All of endpoints.json. `secret` tells under which secret it was made, as 16 digits of its hash."""

    mac: str
    secret: str


def addressed(record: RunRecord) -> list[ModelRecord]:
    """Return the models and judges for which run.json names an address or the variable of a key."""
    return [
        one
        for one in (*record.models, *record.judges)
        if one.base_url or one.key_variable or "://" in one.name or _headers(one)
    ]


def is_approved(folder: Path, record: RunRecord) -> bool:
    """Return whether this user agreed to the run's addresses, or it has none. Raises StorageError where the user's
    secret cannot be had.
    """
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
