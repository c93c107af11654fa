"""Every command of the lab and of building as a function: its options, a result of one shape, errors that name
parameters."""

from pathlib import Path
from typing import Any

import click
import pytest

import viva
from api.test_studies import assert_same_options, assert_shape, here, options_of
from rows import tabled
from viva import plugins
from viva.api.studies import python_name
from viva.cli.main import cli

__all__ = ["here"]


def test_every_option_of_a_command_is_its_functions_with_the_same_default() -> None:
    known = {name: one for name, one in plugins.registered().items() if ":" in one.place}
    assert len(known) > 35
    for (name, one), row in tabled(*known.items()):
        if plugins.load(one).kind == "way":
            continue
        with row:
            command: click.Command = cli
            words = [*name.split(), "--help"]
            while isinstance(command, click.Group):
                _, found, words = command.resolve_command(click.Context(command), words)
                command = found
            function = getattr(getattr(viva, one.package), python_name(name, one.package))
            assert_same_options(name, options_of(one.place), command, function)


def test_what_every_study_finds_has_one_shape(here: viva.Run) -> None:
    varied = viva.lab.variance_run("cmmlu", model="baseline/random", limit=20, vary="prompt=2,order=2", run="varied")
    called: list[tuple[Any, tuple[Any, ...], dict[str, Any], bool]] = [
        (viva.lab.item_analysis, ("run",), {}, True),
        (viva.lab.overlap, ("texts.jsonl",), {"field": "text"}, False),
        (viva.lab.plan, (here,), {"difference": 3}, False),
        (viva.build.stats, ("cmmlu",), {"by": "home"}, True),
        (viva.lab.variance, (varied,), {"budget": 100}, True),
    ]
    for (function, given, options, drawn), row in tabled(*called):
        with row:
            assert_shape(function(*given, **options), drawn=drawn)


def test_errors_name_parameters(here: viva.Run) -> None:
    refused: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
        (viva.lab.judge_bias, ("run",), {}, "name the one to examine with judge=MODEL"),
        (viva.lab.overlap, ("cmmlu",), {"threshold": 2}, "^threshold=2: must be at most 1"),
        (viva.lab.perplexity, ("cmmlu",), {"k": 0}, "^k=0: must be above 0"),
        (viva.lab.perplexity, ("cmmlu",), {"model": "baseline/first"}, "how probable a text is"),
        (viva.build.split, (Path("texts.jsonl"),), {}, "^out: must be given"),
    ]
    for (function, given, options, said), row in tabled(*refused):
        with row, pytest.raises(viva.VivaError, match=said):
            function(*given, **options)
    with pytest.raises(AttributeError, match=r"module 'viva\.lab' has no attribute 'plam'"):
        viva.lab.plam  # noqa: B018
