"""File names that no model chooses: letters and digits of its name for the reader, a hash of it for the file system."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_LONGEST = 40


def slug(name: str, longest: int = _LONGEST) -> str:
    """Return the ASCII letters and digits of a name, the rest hyphens: never empty, a dot, a path or a device."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:longest].strip("-") or "x"


def page_name(*parts: str) -> str:
    """Return a file name for a page about these parts (whose model, its name): two pages never share one.

    The hash is of all of every part, so names that look alike (`a/b` and `a-b`, two scripts' letters) stay apart.
    """
    digest = hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))
    return f"{slug(parts[-1])}-{digest.hexdigest()[:12]}.html"
