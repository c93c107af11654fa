"""docs/python.md: every example runs and prints what the page shows."""

import ast
import doctest
import re
import warnings
from pathlib import Path

from viva.api.examining import RUN_OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_examples_show_what_they_say(elsewhere: None) -> None:
    found = doctest.DocTestParser().get_doctest("\n".join(blocks("pycon")), {}, PAGE.name, str(PAGE), 0)
    assert len(found.examples) > 30
    said: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(optionflags=options).run(found, out=said.append)
    assert not said, "".join(said)


def test_what_needs_a_server_names_options_that_there_are() -> None:
    known = {*RUN_OPTIONS, "model", "config"}
    for block in blocks("python"):
        calls = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
        assert calls
        assert {keyword.arg for call in calls for keyword in call.keywords} <= known
