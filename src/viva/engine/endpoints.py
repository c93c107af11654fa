"""Which addresses and key variables of a run its user agreed to: a MAC in the run folder under a secret of the user's.

A run folder says where its models are and which environment variable holds the key, and may come from anybody: gone on
with, it would send any variable to any address. So a run that was begun here carries endpoints.json, made with a secret
that lies in the user's configuration and never in a folder; without it, somebody has to agree first (`cli/trust.py`).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.folder import ModelRecord, RunRecord
from viva.errors import StorageError
from viva.files import UNREADABLE, open_regular, read_regular, write_whole

FILE = "endpoints.json"
_SECRET = re.compile(rb"[0-9a-f]{64}\s*")
_PERSON = b"viva endpoints 1\0"


class Approval(Struct, kw_only=True):
    """All of endpoints.json. `secret` tells under which secret it was made, as 16 digits of its hash."""

    mac: str
    secret: str


def secret_file() -> Path:
    """Where the user's secret lies: $XDG_CONFIG_HOME/viva/secret, else ~/.config/viva/secret."""
    given = os.environ.get("XDG_CONFIG_HOME") or ""
    root = Path(given) if Path(given).is_absolute() else Path("~/.config").expanduser()
    return root / "viva" / "secret"


def addressed(record: RunRecord) -> list[ModelRecord]:
    """The models and judges for which run.json names an address or the variable of a key."""
    return [one for one in (*record.models, *record.judges) if one.base_url or one.key_variable or "://" in one.name]


def is_approved(folder: Path, record: RunRecord) -> bool:
    """Whether this user agreed to the run's addresses, or it has none. Raises StorageError for a secret of others."""
    if not addressed(record):
        return True
    try:
        found = msgspec.json.decode(read_regular(folder / FILE, 1 << 16), type=Approval)
        secret = _read_secret()
    except (OSError, *UNREADABLE):
        return False
    return hmac.compare_digest(found.mac.encode("utf-8", "replace"), _mac(secret, record).encode())


def approve(folder: Path, record: RunRecord) -> str:
    """Write down that this user agrees to them; returns why that could not be, or "". The secret is made on first use.

    Raises StorageError for a secret of others, and where the folder cannot be written.
    """
    if not addressed(record):
        return ""
    try:
        secret = _made_secret()
    except OSError as problem:
        return f"cannot keep a secret in {secret_file()}: {problem.strerror or problem}"
    content = Approval(mac=_mac(secret, record), secret=hashlib.sha256(secret).hexdigest()[:16])
    try:
        write_whole(folder / FILE, msgspec.json.encode(content) + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {folder / FILE}: {problem.strerror}") from None
    return ""


def personal_key(*purpose: str) -> str:
    """32 characters that only this user can make, the same every time: 192 bits. Raises OSError, StorageError."""
    digest = hmac.new(_made_secret(), b"viva key 1\0" + msgspec.json.encode(purpose), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:24]).decode()


def _mac(secret: bytes, record: RunRecord) -> str:
    """Over names, addresses and variables of models and judges; whatever else run.json says, it chooses no address."""
    said = [[[one.name, one.base_url, one.key_variable] for one in many] for many in (record.models, record.judges)]
    return hmac.new(secret, _PERSON + msgspec.json.encode(said), hashlib.sha256).hexdigest()


def _read_secret() -> bytes:
    path = secret_file()
    file = open_regular(path, follow=True)
    with os.fdopen(file, "rb") as content:
        about = os.fstat(file)
        found = content.read(100)
    if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077:
        raise StorageError(
            f"others can read or write {path}, which is to be a secret: remove it, and Viva makes another"
        )
    if not _SECRET.fullmatch(found):
        raise StorageError(f"{path} is no secret of Viva's: remove it, and Viva makes another")
    return found.strip()


def _made_secret() -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return _read_secret()
    path = secret_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(secrets.token_hex(32).encode() + b"\n")
        with contextlib.suppress(FileExistsError):  # another process was quicker
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return _read_secret()
