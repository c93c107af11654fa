"""The user's secret: 32 random bytes in the user's configuration, never in a run folder.

Keys for single purposes are derived from it (HMAC-SHA-256, RFC 2104), so that none reveals another or the secret.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

import msgspec

from viva.errors import StorageError

_FILE = "secret.key"
_SIZE = 32


def config_folder() -> Path:
    """Return Viva's configuration folder: VIVA_CONFIG, else `viva` in the user's configuration folder.

    Raises StorageError where the user has no home.
    """
    if given := os.environ.get("VIVA_CONFIG"):
        return Path(given)
    if given := os.environ.get("XDG_CONFIG_HOME"):
        return Path(given) / "viva"
    try:
        return Path.home() / ".config" / "viva"
    except RuntimeError:
        raise StorageError("this user has no home folder; name one for Viva's secret in VIVA_CONFIG") from None


def derived_key(purpose: bytes) -> bytes:
    """Return 32 bytes that only this user has, stable for each purpose while the secret stays.

    The secret is made at first use: mode 0600, in a folder of mode 0700. Raises StorageError where it cannot be made or
    read, or where others could have read or written it.
    """
    key = existing_key(purpose)
    return hmac.digest(_make(config_folder() / _FILE), purpose, hashlib.sha256) if key is None else key


def existing_key(purpose: bytes) -> bytes | None:
    """Return `derived_key`, or None if no secret was made yet. Raises StorageError as that."""
    path = config_folder() / _FILE
    try:
        return hmac.digest(_read(path), purpose, hashlib.sha256)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}; {_REMEDY}") from None


_REMEDY = (
    "Viva keeps its secret there: make it readable, or name another folder in the environment variable VIVA_CONFIG"
)


def _read(path: Path) -> bytes:
    """Return the stored secret. Raises OSError, StorageError."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"{path} is not a regular file; remove it, and a new secret is made")
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise StorageError(
                f"{path} has owner {status.st_uid} and mode {status.st_mode & 0o777:03o}: others may have read it. "
                f"Remove it, and a new secret is made (or `chmod 600 {path}` if nobody else uses this machine)"
            )
        secret = opened.read(_SIZE + 1)
    if len(secret) != _SIZE:
        raise StorageError(
            f"{path} has {status.st_size} bytes in place of {_SIZE}; remove it, and a new secret is made"
        )
    return secret


def _make(path: Path) -> bytes:
    """Write a new secret; where another process was first, read that. Raises StorageError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(8)}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(secrets.token_bytes(_SIZE))
                opened.flush()
                os.fsync(file)
            with contextlib.suppress(FileExistsError):
                os.link(partial, path)
        finally:
            partial.unlink()
        return _read(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}; {_REMEDY}") from None


def personal_key(*purpose: str) -> str:
    """Return 32 characters (192 bits) that only this user can make, the same every time. Raises StorageError."""
    return base64.urlsafe_b64encode(derived_key(b"personal key 1\0" + msgspec.json.encode(purpose))[:24]).decode()
