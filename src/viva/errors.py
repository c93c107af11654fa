"""Errors and their exit codes.

Every message names the thing, shows the value and says what to do next; the command line prints it without a traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EXIT_OK = 0
EXIT_UNEXPECTED = 1
"""A defect of Viva itself: the traceback is shown."""
EXIT_USAGE = 2
"""A wrong flag, file or value: nothing was asked."""
EXIT_INCOMPLETE = 3
"""Something is unanswered or failed a check: the run folder is whole, `viva resume` goes on."""
EXIT_REFUSED = 4
"""The endpoint refuses the key or the model: nothing more was sent."""
EXIT_STORAGE = 5
"""The run folder cannot be written: disk full, read-only, or held by another process."""
EXIT_GATE = 6
"""A gate that the user asked for does not hold (`viva compare --fail-if`): all was computed and printed."""
EXIT_INTERRUPTED = 130
"""Ctrl-C, as shells expect it."""


_SPELLED = {"wrote": "from", "beside": "reference"}
"""Options with another spelling on the command line."""
_IN_PROGRAM = ContextVar("in program", default=False)


@contextmanager
def in_program() -> Iterator[None]:
    """Name options in messages as keyword arguments, not as on a command line, inside the block."""
    before = _IN_PROGRAM.set(True)
    try:
        yield
    finally:
        _IN_PROGRAM.reset(before)


def option(name: str, value: str | bool = "") -> str:
    """Return an option as its reader writes it: `--max-cost 3` on a command line, `max_cost=3` in a program.

    A name in capitals, of an argument or a variable, stays.
    """
    if name.isupper():
        return name
    if _IN_PROGRAM.get():
        return name if value == "" else f"{name}={value}"
    return flag(name, value)


def flag(name: str, value: str | bool = "") -> str:
    """Return an option as on a command line, `--max-cost 3`, for texts with many readers, such as notes of tables."""
    spelled = _SPELLED.get(name, name).replace("_", "-")
    return f"--no-{spelled}" if value is False else f"--{spelled} {value}".rstrip()


class VivaError(Exception):
    """An error with a sentence for the user; `exit_code` is what the process ends with.

    `field`: the option that it is about, by name; the sentence begins with it, as the user writes it.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str = "", *, field: str = "") -> None:
        super().__init__(f"{option(field)} {message}" if field else message)
        self.field = field


class DataError(VivaError):
    """A question set, answer file or prompt file that cannot be used."""


class MissingDataError(DataError):
    """A question set that is missing (rather than damaged)."""


class MissingEncoderError(VivaError):
    """An encoder that cannot be loaded here."""


EXTRAS = {
    "polars": "analysis", "scipy": "analysis",
    "altair": "pages", "h11": "pages", "starlette": "pages", "uvicorn": "pages", "vl_convert": "pages",
    "langdetect": "instructions",
}  # fmt: skip
"""Package → the extra that installs it, for packages beyond asking, grading and summing up."""


class MissingExtraError(VivaError):
    """A package of an extra that is not installed."""


@contextmanager
def missing_extras() -> Iterator[None]:
    """Turn the ImportError of a missing package into MissingExtraError, which names the extra."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingExtraError(
            f"this needs {package}, which is not installed: pip install 'viva[{EXTRAS[package]}]' "
            "('viva[all]' for all tables, pages and charts)"
        ) from None


class StorageError(VivaError):
    """A run folder that cannot be read or written."""

    exit_code = EXIT_STORAGE


class MissingRunError(StorageError):
    """A run folder that does not exist, from a wrong name rather than a faulty disk."""

    exit_code = EXIT_USAGE


class RefusedError(VivaError):
    """An endpoint that refuses a key or a model, raised to programs; other models' answers are kept."""

    exit_code = EXIT_REFUSED


class ModelError(Exception):
    """One request failed. Raised by models, decided upon by the engine.

    `retry`: another attempt may succeed. `retry_after`: seconds the server asked to wait, if it did. `overload`: the
    server has too much to do (429, 503, 529), so concurrency should fall. `fatal`: every further request to this model
    would fail alike (bad key, unknown model). `lasting`: so for this run's model, address and options; only a new run
    can change that. `unreachable`: no reply came at all; before the first one, the server may not exist.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = False,
        retry_after: float | None = None,
        overload: bool = False,
        fatal: bool = False,
        lasting: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry = retry
        self.retry_after = retry_after
        self.overload = overload
        self.lasting = lasting
        self.fatal = fatal or lasting
        self.unreachable = unreachable
