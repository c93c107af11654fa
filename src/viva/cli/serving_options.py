"""The options of pages that are served: what a visitor must know."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.cli.options import derive
from viva.pages.review.invitations import Token, TokenFile, token_given


class _Tokens(Struct):
    token: Token = ""
    token_file: TokenFile = None


def token_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--token and --token-file, which become `token`."""

    @functools.wraps(function)
    def merged(*arguments: Any, token: str, token_file: Path | None, **given: Any) -> Any:
        return function(*arguments, token=token_given(token, token_file), **given)

    return derive(_Tokens)(merged)
