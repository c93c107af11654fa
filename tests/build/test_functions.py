"""The registered commands of `viva build`: functions of `viva.build`, groups with their help, arguments."""

from typing import Any

import pytest

import viva
from rows import each_row, tabled
from servers.fixtures import Viva
from viva.errors import VivaError


def test_commands_are_functions_and_words_above_them_are_not() -> None:
    found = viva.build.stats("cmmlu", by="home")
    assert (found.found[0].questions, found.chart() is not None) == (96, True)
    assert {"syneval", "split", "translate", "translate_check", "infibench_human_answers"} <= set(dir(viva.build))
    for name, row in tabled("build", "clrbench", "infibench", "verify"):
        with row:
            assert name not in dir(viva.build)
            assert not hasattr(viva.build, name)


@each_row(
    (viva.build.syneval, ("x.mrg",), {}, "^out: must be given"),
    (viva.build.split, ("x.yaml",), {"out": "o", "share": "200%"}, "^share '200%': write a share"),
    (viva.build.infibench_pool, ("x",), {"out": "o", "line": (0, 1)}, "a list of length 4$"),
    (viva.build.stats, ("cmmlu",), {"by": "nope"}, "no dimension 'nope'"),
)
def test_errors_name_parameters(function: Any, given: tuple[str], options: object, said: str) -> None:
    with pytest.raises(VivaError, match=said):
        function(*given, **options)


@each_row(
    (("split", "--out", "x"), 2, "Missing argument 'SET'"),
    (("clrbench", "check"), 2, "Missing argument 'PROJECT'"),
    (("clrbench", "sheet"), 2, "which PROJECT?"),
    (("clrbench", "-h"), 0, "  viva build clrbench graph PROJECT --toc"),
    (("infibench", "-h"), 0, "  viva build infibench pool Posts.xml"),
    (("verify", "-h"), 0, "Have people verify a random share of a set"),
    (("translate", "-h"), 0, "viva build translate review"),
)
def test_a_missing_argument_is_named_and_groups_have_help(
    arguments: tuple[str, ...], code: int, said: str, *, viva: Viva
) -> None:
    ended = viva("build", *arguments)
    assert (ended.code, said in ended.out + ended.err) == (code, True), ended.err
