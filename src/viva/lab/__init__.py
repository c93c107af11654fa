"""Experiments on top of the core: how far a score may move, and what it takes to know it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from viva.api.studies import of_package

    return of_package("lab", name)


def __dir__() -> list[str]:
    from viva.api.studies import names_of_package

    return names_of_package("lab")
