"""The work of the tests' workers, in a module because recipes are functions of one."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from viva.errors import DataError, ModelError
from viva.types import Generate, Response


def doubling() -> Callable[[int], tuple[int, int]]:
    """Twice the piece, and who did it."""
    return lambda piece: (2 * piece, os.getpid())


def shouting() -> Callable[[str], str]:
    return str.upper


def counting(folder: Path) -> Callable[[int], int]:
    """Leaves a file for each time that it is called."""
    (folder / f"recipe-{os.getpid()}").touch()
    return abs


def uneven() -> Callable[[int], int]:
    """The earlier ones take longer."""

    def work(piece: int) -> int:
        time.sleep(0.05 if piece % 5 == 0 else 0)
        return piece

    return work


def failing() -> Callable[[int], int]:
    def work(piece: int) -> int:
        if piece == 3:
            raise DataError("piece three is no piece")
        if piece == 4:
            raise ModelError("kind", "cannot be read again", retry=True)
        if piece == 5:
            raise ZeroDivisionError("five")
        return piece

    return work


def unopenable() -> Callable[[int], int]:
    raise DataError("nothing to work with")


def unpicklable() -> Callable[[int], object]:
    return lambda piece: (lambda: piece) if piece == 2 else piece


def dying(folder: Path, times: int) -> Callable[[int], int]:
    """Piece 7 ends its worker so many times; every piece notes each time that it is begun."""

    def work(piece: int) -> int:
        begun = len(list(folder.glob(f"{piece}-*")))
        (folder / f"{piece}-{begun}").touch()
        if piece == 7 and begun < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece * piece

    return work


def endless(folder: Path) -> Callable[[int], int]:
    """Says who it is and goes on for minutes."""

    def work(piece: int) -> int:
        (folder / f"{piece}").write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)
        return piece

    return work


def chatty() -> Callable[[int], int]:
    print("noise of a library", flush=True)
    return abs


def where() -> Callable[[int], tuple[int, str]]:
    """The piece, and the node that it was worked on at."""
    import ray

    return lambda piece: (piece, ray.get_runtime_context().get_node_id())


class Lengths:
    """An encoder of a kind: how much longer the reference is."""

    def report(self) -> tuple[str, dict[str, str], int]:
        return "lengths", {"encoder": "lengths"}, 4

    def __call__(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [len(text) / len(reference) for text, reference in pairs]


def lengths(_place: int) -> Lengths:
    return Lengths()


class Parrot:
    """A model of a kind: repeats the last word, refuses what says so, and tells how many requests came together."""

    def report(self) -> dict[str, str]:
        return {"provider": "hf", "weights": "parrot"}

    def __call__(self, requests: list[Generate]) -> list[Response | dict[str, object]]:
        return [self._one(request, len(requests)) for request in requests]

    def _one(self, request: Generate, together: int) -> Response | dict[str, object]:
        if "refuse" in str(request.prompt):
            return {"kind": "context", "message": "too long"}
        if "die" in str(request.prompt):
            os.kill(os.getpid(), signal.SIGKILL)
        return Response(text=f"{str(request.prompt).split()[-1]} {together}")


def parrot(_place: int) -> Parrot:
    return Parrot()
