"""Former names of commands and options work, and say what to type."""

from __future__ import annotations

import click
import pytest

from rows import table
from viva.cli.renamed import current_command, current_options


@click.command()
@click.option("--exclude", multiple=True)
@click.option("--aggregate")
@click.option("--on")
def leaf(**given: object) -> None:
    """A command."""


@click.group()
@click.option("--backend")
def group(**given: object) -> None:
    """Commands."""


group.add_command(leaf)


def test_former_options(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        ("as two words", leaf, ["a", "--without", "x"], ["a", "--exclude", "x"], ["--exclude"]),
        ("as one", leaf, ["--without=--on"], ["--exclude=--on"], ["--exclude"]),
        ("twice", leaf, ["--without=x", "--without=y"], ["--exclude=x", "--exclude=y"], ["--exclude", "--exclude"]),
        ("by command", leaf, ["--attempts", "best@5"], ["--aggregate", "best@5"], ["--aggregate"]),
        ("which still has it", leaf, ["--on", "ray"], ["--on", "ray"], []),
        ("after --", leaf, ["--", "--without"], ["--", "--without"], []),
        ("of nothing", leaf, ["--over", "tag", "--withoutx"], ["--over", "tag", "--withoutx"], []),
        ("in a group", group, ["leaf", "--without", "x"], ["leaf", "--exclude", "x"], ["--exclude"]),
        ("of the group", group, ["--on", "ray"], ["--backend", "ray"], ["--backend"]),
    )
    with table() as row:
        for name, command, given, expected, new in rows:
            with row(name):
                assert current_options(command, given) == expected
                said = capsys.readouterr()
                assert not said.out
                assert [line.split(" now called ")[1].partition(";")[0] for line in said.err.splitlines()] == new


def test_former_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert current_command("reduce", ["score-table"]) == "score-table"
    assert "`viva score-table`" in capsys.readouterr().err
    for name, known in (("reduce", ["reduce"]), ("reduce", []), ("run", ["run"])):
        assert current_command(name, known) == name
    assert not capsys.readouterr().err
