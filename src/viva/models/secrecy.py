"""Removing secrets from texts: keys, in the forms in which servers quote them, and secret parts of addresses.

Keys are read from the environment and go to their server alone; journals, errors and logs are shared.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, urlsplit

from viva.errors import VivaError, option

SHORTEST_KEY = 6
"""Fewest characters of a secret: a user's own server may have "x" as its key, which is in every text."""
SHORTEST_IN_REPLIES = 12
"""The same in a model's text, which is graded: no word of an answer may be taken for a key."""
KEY = "[key]"
_URL = re.compile(r"""https?://[^\s"'<>`\\)\]}]+""")
_SECRET_PART = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_.~%=+-]{16,}")
"""A part of a path that may be a key: gateways have addresses such as /v1/ACCOUNT/TOKEN."""


class Key(str):
    """The key in an environment variable; "" where that is not set."""

    def __new__(cls, variable: str) -> Key:
        """Read the `variable`."""
        key = super().__new__(cls, os.environ.get(variable, "").strip())
        key.variable = variable
        return key

    variable: str


def key_from(named: str | None, *usual: str, field: str = "api_key_env") -> Key:
    """Return the key in the variable `named` by the user with option `field`, else in the first `usual` one that is
    set.

    Raises VivaError where the `named` one is not set.
    """
    keys = [*map(Key, [named] if named else usual)]
    if named and not keys[0]:
        raise VivaError(f"the environment variable {named} ({option(field)}) is not set")
    return next(filter(None, keys), keys[0])


class Secrecy:
    """A remover of a key, and of secrets in the address that it goes to; `key`: None or "" for none."""

    def __init__(self, key: str | None, url: str = "") -> None:
        self._forms = sorted(set(_forms(key)), key=len, reverse=True) if key and len(key) >= SHORTEST_KEY else []
        self._in_replies = self._forms if key and len(key) >= SHORTEST_IN_REPLIES else []
        self._parts = [part for part in urlsplit(url).path.split("/") if _SECRET_PART.fullmatch(part)]
        self._url = self._without_parts(url)
        self._read = {getattr(key, "variable", "the environment"): bool(key)}

    def add(self, variables: Iterable[str]) -> None:
        """Add secrets besides the key: environment variables in headers."""
        for secret in map(Key, variables):
            self._read[secret.variable] = True
            forms = list(_forms(secret)) if len(secret) >= SHORTEST_IN_REPLIES else []
            self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)
            self._in_replies = sorted({*self._in_replies, *forms}, key=len, reverse=True)

    @property
    def url(self) -> str:
        """The address to display, without parts that may be keys."""
        return self._url

    @property
    def sent(self) -> str:
        """The source of the refused key, as the end of an error."""
        sent = ", ".join(filter(self._read.get, self._read))
        return f"; is the key in {sent} right?" if sent else f"; no key was sent: {next(iter(self._read))} is not set"

    def in_error(self, text: str) -> str:
        """Return an error without the key, and without paths, queries and fragments of addresses other than the
        model's.
        """
        text = self._without_parts(_replaced(text, self._forms))
        return _URL.sub(lambda match: self._address(match[0]), text)

    def in_reply(self, text: str) -> str:
        """Return a model's answer without the key; its addresses stay."""
        return _replaced(text, self._in_replies)

    def _without_parts(self, text: str) -> str:
        for part in self._parts:
            text = text.replace(part, "…")
        return text

    def _address(self, address: str) -> str:
        if self._url and address.startswith(self._url):
            return re.split(r"[?#]", address, maxsplit=1)[0]
        try:
            parts = urlsplit(address)
            host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        except ValueError:
            return "[an address]"
        return f"{host}/…" if parts.path.strip("/") or parts.query or parts.fragment else host


def _replaced(text: str, forms: list[str]) -> str:
    for form in forms:
        text = text.replace(form, KEY)
    return text


def _forms(key: str) -> Iterator[str]:
    """Yield the key, percent-encoded, and at each alignment the part common to all base64 of texts with the key."""
    yield key
    yield quote(key, safe="")
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + key.encode("utf-8", "replace")).decode()
        core = whole[(0, 2, 3)[offset] : (offset + len(key.encode("utf-8", "replace"))) * 8 // 6]
        if len(core) >= SHORTEST_KEY:
            yield core
            yield core.translate(str.maketrans("+/", "-_"))
