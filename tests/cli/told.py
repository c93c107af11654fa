"""Run a command in this process; returns what it prints, or the error that it raises."""

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
import pytest

from cli.collected import dangerous, refused
from rows import tabled
from servers.fixtures import Viva
from servers.inprocess import Ended
from servers.inprocess import command as in_process
from viva.cli.main import cli, main
from viva.errors import VivaError


def told(command: click.Command, *arguments: object) -> str:
    """What the command prints. Errors come out as they are raised: viva.cli.main turns them into sentences."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert command.main(list(map(str, arguments)), standalone_mode=False) == 0
    assert not dangerous(out.getvalue())
    return out.getvalue()


def rows_of(content: Any, title: str) -> list[dict[str, Any]]:
    """The rows of the tables of a study's JSON whose titles begin so."""
    return [row for table in content["tables"] if table["title"].startswith(title) for row in table["rows"]]


def refuses(command: Callable[..., object], rows: Iterable[tuple[Sequence[object], str]]) -> None:
    """That each of these arguments is refused with these words."""
    for (arguments, said), row in tabled(*rows):
        with row, pytest.raises(VivaError, match=re.escape(said)):
            command(*arguments)


def viva(*arguments: str) -> int:
    """The exit code of the whole command line."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return int(ended.value.code or 0)


def ended(command: click.Command, *arguments: object) -> Ended:
    """Both streams of a command and its exit code; errors come out as they are raised."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(list(map(str, arguments)), standalone_mode=False)
    assert not dangerous(out.getvalue())
    return Ended(code, out.getvalue(), err.getvalue())


def command_of(name: str) -> click.Command:
    """The command of that name, such as `build verify rate`."""
    found: click.Command = cli
    for word in name.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, name
        found = inner
    return found


def all_refused(
    viva: Viva,
    cases: Mapping[Sequence[object], Sequence[str]],
    files: Mapping[str, bytes],
    code: Callable[[Sequence[object]], int] = lambda _: 2,
) -> None:
    """Each of these commands is refused in these words, with no key, in a folder of these files, and leaves nothing."""
    environment = {name: value for name, value in viva.environment.items() if name != "OPENAI_API_KEY"}
    for (number, (given, said)), row in tabled(*enumerate(cases.items())):
        with row:
            folder = viva.folder / str(number)
            folder.mkdir()
            for name, content in files.items():
                (folder / name).write_bytes(content)
            refused(in_process(folder, *given, environment=environment), *said, code=code(given))
            assert set(os.listdir(folder)) == set(files)
