"""Run many short commands, each in a separate folder."""

import os
from collections.abc import Mapping, Sequence

from servers.fixtures import Viva
from servers.inprocess import Ended, command


def batch(
    viva: Viva, cases: Sequence[Sequence[object]], files: Mapping[str, bytes] | None = None
) -> list[tuple[Ended, list[str]]]:
    """Run each command in a folder that holds `files`, without a key to anything; and what it left there."""
    given = files or {}
    environment = {name: value for name, value in viva.environment.items() if name != "OPENAI_API_KEY"}
    found = []
    for number, case in enumerate(cases):
        folder = viva.folder / str(number)
        folder.mkdir()
        for name, content in given.items():
            (folder / name).write_bytes(content)
        ended = command(folder, *case, environment=environment)
        found.append((ended, sorted(set(os.listdir(folder)) - set(given))))
    return found
