"""What a page that stands on its own allows its browser: its own scripts and styles by hash, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def digest(text: str) -> str:
    """Return the hash of an inline script or style as a policy names it. ValueError for what a page would end or
    change.
    """
    for broken in ("</script", "</style", "<!--", "\r", "\0"):
        if broken in text:
            raise ValueError(f"an inline script or style cannot hold {broken!r}")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
    """Return the `content` of `<meta http-equiv="Content-Security-Policy">` for these inline texts, exactly as they
    stand.

    No request of any kind leaves the page; images are those that it makes itself. Nothing is evaluated, and no text
    becomes markup (`require-trusted-types-for`, where the browser knows it).
    """
    allowed = {
        "script-src": " ".join(map(digest, scripts)) or "'none'",
        "style-src": " ".join(map(digest, styles)) or "'none'",
    }
    rest = (
        "default-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    return "; ".join([*(f"{name} {value}" for name, value in allowed.items()), rest])
