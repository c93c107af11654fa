"""Posted forms, read within bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from starlette.requests import Request

FIELDS_LIMIT = 200
BODY_SECONDS = 30.0
Form = dict[str, str]


class FormError(Exception):
    """A form that cannot be used: a status, and a sentence for whoever posted it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


async def read_form(request: Request) -> Form:
    """Return the fields of a posted form; of two with one name the last. Raises FormError, as soon as there is too
    much.
    """
    from starlette.requests import ClientDisconnect

    from viva.pages.serving.guard import BODY_LIMIT

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise FormError(415, "Only the forms of these pages can be posted.")
    too_much = FormError(413, f"That is too much text for one form: at most {BODY_LIMIT:,} bytes. Nothing was saved.")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()) or int(length[:20]) > BODY_LIMIT:
        raise too_much
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > BODY_LIMIT:
                    raise too_much
    except TimeoutError:
        raise FormError(408, "The form did not arrive in time. Nothing was saved.") from None
    except ClientDisconnect:
        raise FormError(400, "The form did not arrive as a whole. Nothing was saved.") from None
    try:
        pairs = parse_qsl(
            bytes(body).decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=FIELDS_LIMIT
        )
    except ValueError:
        raise FormError(400, "That is no form of these pages. Nothing was saved.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
