"""Untrusted texts made safe in exported files: valid Unicode in JSON, and names that are no paths."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import Any

import msgspec

NAN = msgspec.Raw(b"NaN")
"""Not a number, as Python's json and Inspect write and read it; msgspec itself would write null."""
_PLAIN = re.compile(r"[^A-Za-z0-9._+-]+")


def clean(text: str) -> str:
    """Return text that can be encoded: half a surrogate pair becomes U+FFFD. Invisible characters stay: JSON escapes
    them, and code that displays them must do so.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encoded(content: Any) -> bytes:
    """Encode content as compact JSON, the same bytes for the same content. NaN and infinities become null (see NAN)."""
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(msgspec.to_builtins(content, builtin_types=(msgspec.Raw,))))


def cleaned(content: Any) -> Any:
    """Return plain content with every text passed through `clean`."""
    if isinstance(content, str):
        return clean(content)
    if isinstance(content, dict):
        return {cleaned(key): cleaned(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [cleaned(value) for value in content]
    return content


def pretty(content: Any) -> bytes:
    """Encode content as indented JSON in ASCII, which cannot control a terminal."""
    return json.dumps(json.loads(encoded(content)), indent=2, ensure_ascii=True).encode() + b"\n"


def sha256(content: bytes | str) -> str:
    """Return the SHA-256 of a text or bytes, in hexadecimal digits."""
    return hashlib.sha256(clean(content).encode() if isinstance(content, str) else content).hexdigest()


def file_part(text: str, longest: int = 60, between: str = "-") -> str:
    """Return a text as a safe part of a file name: ASCII letters, digits, `._+-`, other stretches as `between`. Never
    empty, a path, hidden or an option; with a hash where another text would give the same (only a slash may become
    `__` without one: that is how lm-eval names models).
    """
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = _PLAIN.sub(between, folded).strip(".-_")[:longest].strip(".-_")
    same = text.replace("/", between) if between == "__" and between not in text else text
    if plain == same and plain and (between != "__" or between not in text):
        return plain
    return f"{plain or 'x'}-{sha256(text)[:8]}"
