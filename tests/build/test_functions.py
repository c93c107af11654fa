"""Commands of `viva build` as they are registered: functions of `viva.build`, groups with their help, arguments."""

from __future__ import annotations

import pytest

import viva
from rows import table
from servers.fixtures import Viva
from viva.errors import VivaError


def test_commands_are_functions_and_words_above_them_are_not() -> None:
    found = viva.build.stats("cmmlu", by="home")
    assert (found.found[0].questions, found.chart() is not None) == (96, True)
    assert {"syneval", "split", "translate", "translate_check", "infibench_human_answers"} <= set(dir(viva.build))
    with table() as row:
        for name in ("build", "clrbench", "infibench", "verify"):
            with row(name):
                assert name not in dir(viva.build)
                assert not hasattr(viva.build, name)


def test_errors_name_parameters() -> None:
    with table() as row:
        for function, given, options, said in [
            (viva.build.syneval, ("x.mrg",), {}, "^out: must be given"),
            (viva.build.split, ("x.yaml",), {"out": "o", "share": "200%"}, "^share '200%': write a share"),
            (viva.build.infibench_pool, ("x",), {"out": "o", "line": (0, 1)}, "a list of length 4$"),
            (viva.build.stats, ("cmmlu",), {"by": "nope"}, "no dimension 'nope'"),
        ]:
            with row(said), pytest.raises(VivaError, match=said):
                function(*given, **options)


def test_a_missing_argument_is_named_and_groups_have_help(viva: Viva) -> None:
    with table() as row:
        for arguments, code, said in [
            (("split", "--out", "x"), 2, "Missing argument 'SET'"),
            (("clrbench", "check"), 2, "Missing argument 'PROJECT'"),
            (("clrbench", "sheet"), 2, "which PROJECT?"),
            (("clrbench", "-h"), 0, "  viva build clrbench graph PROJECT --toc"),
            (("infibench", "-h"), 0, "  viva build infibench pool Posts.xml"),
            (("verify", "-h"), 0, "Have people verify a random share of a set"),
            (("translate", "-h"), 0, "viva build translate review"),
        ]:
            with row(arguments):
                ended = viva("build", *arguments)
                assert (ended.code, said in ended.out + ended.err) == (code, True), ended.err
