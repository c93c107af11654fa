"""Viva evaluates language models by asking them questions, and reports how far each score can be trusted.

import viva

run = viva.run("cmmlu", model="openai/NAME", base_url="http://127.0.0.1:8000/v1")
run.mean, run.table(), run.scores()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viva.version import __version__

__all__ = [
    "DataError", "MissingDataError", "Prompt", "RefusedError", "Run", "StorageError", "UnansweredWarning",
    "VivaError", "__version__", "grade", "open_run", "resume", "run",  # noqa: F405
]  # fmt: skip
"""All public names but the studies, which are added below."""

if TYPE_CHECKING:
    from viva.api import signatures
    from viva.api.examining import UnansweredWarning
    from viva.api.opened import Run, open_run
    from viva.api.signatures import *  # noqa: F403
    from viva.errors import DataError, MissingDataError, RefusedError, StorageError, VivaError
    from viva.models.called import Prompt

    __all__ += signatures.__all__
else:
    from viva.plugins import studies

    __all__ += [study.place.split(".")[2] for study in studies().values()]

_PLACES = {
    "viva.errors": ("DataError", "MissingDataError", "RefusedError", "StorageError", "VivaError"),
    "viva.api.examining": ("UnansweredWarning", "grade", "resume", "run"),
    "viva.api.opened": ("Run", "open_run"),
    "viva.models.called": ("Prompt",),
}
"""Module → its public names, studies aside; imported on first use, so that `import viva` is quick."""


def __getattr__(name: str) -> object:
    import importlib.util

    if name in __all__:
        module = next((module for module, names in _PLACES.items() if name in names), "viva.api.studies")
        return getattr(importlib.import_module(module), name)
    if importlib.util.find_spec(f"viva.{name}") is not None:  # a subpackage: `viva.NAME.function`
        return importlib.import_module(f"viva.{name}")
    raise AttributeError(f"module 'viva' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
