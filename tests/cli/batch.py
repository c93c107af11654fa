"""Run many short commands, each in a separate folder."""

import os
from collections.abc import Callable, Mapping, Sequence

from cli.collected import refused
from rows import tabled
from servers.fixtures import Viva
from servers.inprocess import command

Command = Sequence[object]


def all_refused(
    viva: Viva,
    cases: Mapping[Command, Sequence[str]],
    files: Mapping[str, bytes],
    code: Callable[[Command], int] = lambda _: 2,
) -> None:
    """Each of these commands is refused in these words, with no key, in a folder of these files, and leaves nothing."""
    environment = {name: value for name, value in viva.environment.items() if name != "OPENAI_API_KEY"}
    for (number, (given, said)), row in tabled(*enumerate(cases.items())):
        with row:
            folder = viva.folder / str(number)
            folder.mkdir()
            for name, content in files.items():
                (folder / name).write_bytes(content)
            refused(command(folder, *given, environment=environment), *said, code=code(given))
            assert set(os.listdir(folder)) == set(files)
