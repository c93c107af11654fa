"""Building data sets: drafted by models, checked by rule, approved by people."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from viva.api.studies import of_package

    return of_package("build", name)


def __dir__() -> list[str]:
    from viva.api.studies import names_of_package

    return names_of_package("build")
