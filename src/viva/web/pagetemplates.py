"""Templates of pages: invisible characters of every text are shown, then it is escaped; unknown names are errors."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from viva.files import shipped_text
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 100_000
"""The most characters of one text on a page."""


def shown(text: str, longest: int = LONGEST) -> str:
    """Return text with invisible characters shown and uniform line ends, cut to `longest` characters."""
    whole = text[:longest].replace("\r\n", "\n")
    if len(text) <= longest:
        return escape_invisible(whole)
    return f"{escape_invisible(whole)}\n… ({len(text) - longest:,} more characters)"


def highlighted(text: str, marks: Iterable[tuple[int, int, str]]) -> Markup:
    """Return an escaped text with parts marked (start, end, class); marks may overlap."""
    kept = text[:LONGEST]
    inside = [(start, min(end, len(kept)), name) for start, end, name in marks if 0 <= start < min(end, len(kept))]
    edges = sorted({0, len(kept), *(edge for start, end, _ in inside for edge in (start, end))})
    opened: dict[int, list[str]] = {}
    closed: dict[int, list[str]] = {}
    for start, end, name in inside:
        opened.setdefault(start, []).append(name)
        closed.setdefault(end, []).append(name)
    names: list[str] = []
    made: list[str] = []
    for start, end in itertools.pairwise(edges):
        for name in closed.get(start, ()):
            names.remove(name)
        names += opened.get(start, ())
        piece = escape(escape_invisible(kept[start:end].replace("\r\n", "\n")))
        made.append(f'<mark class="{" ".join(sorted(set(names)))}">{piece}</mark>' if names else str(piece))
    if len(text) > len(kept):
        made.append(f"\n… ({len(text) - len(kept):,} more characters)")
    return Markup("".join(made))  # noqa: S704 - every piece is escaped above


def digest(text: str) -> str:
    """Return the hash of an inline script or style for a policy. Raises ValueError for text that a page would end or
    change.
    """
    for broken in ("</script", "</style", "<!--", "\r", "\0"):
        if broken in text:
            raise ValueError(f"an inline script or style cannot hold {broken!r}")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
    """Return the `content` of `<meta http-equiv="Content-Security-Policy">` for these inline texts, exactly as they
    stand.

    No request leaves the page; images are only those that it makes itself. Nothing is evaluated, and no text becomes
    markup (`require-trusted-types-for`, if the browser supports it).
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


def environment(package: str) -> Environment:
    """Return the templates in the folder `templates` of a package ("viva.review")."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalised,
    )
    made.globals |= {"one_line": one_line}
    made.filters["commands"] = lambda text: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(shown(text)))))  # noqa: S704
    return made


def finalised(value: object) -> object:
    """Return a template's value with invisible characters shown, before it is escaped; markup is ours and unchanged."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    """Return a style sheet or script of `viva.web`, to embed into a page or to serve."""
    return shipped_text(__file__, f"static/{name}")
