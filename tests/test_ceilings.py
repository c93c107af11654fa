"""Sizes only fall: ceilings.toml is not passed, and none of its numbers is above what it was in an earlier commit."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from measure import ROOT, named_options, sizes, tokens
from rows import table, tabled

pytestmark = pytest.mark.slow  # `make check` runs them
FILE = ROOT / "ceilings.toml"


def flat(content: str) -> dict[str, int]:
    """`tokens.core` → number."""
    return {
        f"{group}.{name}": number
        for group, said in tomllib.loads(content).items()
        if group != "added"
        for name, number in said.items()
    }


def added(content: str) -> dict[str, int]:
    """`tokens.core` → what features that may add have added, all together: the ceilings of before do not hold them."""
    found: dict[str, int] = {}
    for feature in tomllib.loads(content).get("added", {}).values():
        for name, number in feature.items():
            found[name] = found.get(name, 0) + number
    return found


def test_nothing_is_larger_than_its_ceiling() -> None:
    found, ceilings = sizes(), flat(FILE.read_text(encoding="utf-8"))
    assert found.keys() == ceilings.keys()
    for (name, number), row in tabled(*found.items()):
        with row:
            assert number <= ceilings[name], f"{name}: take as much away, or raise it by an [added.FEATURE]"


def test_no_ceiling_was_raised() -> None:
    if shutil.which("git") is None or not Path(ROOT, ".git").exists():
        pytest.skip("not a git checkout")

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    content = FILE.read_text(encoding="utf-8")
    now, more = flat(content), added(content)
    with table() as row:
        for commit in git("log", "--format=%H", "--", FILE.name).split():
            before = git("show", f"{commit}:{FILE.name}")
            known = added(before)
            for feature, numbers in tomllib.loads(before).get("added", {}).items():
                with row((commit[:8], feature, "grows")):
                    assert numbers == tomllib.loads(content).get("added", {}).get(feature), "make a table of your own"
            for name, number in flat(before).items():
                with row((commit[:8], name)):
                    assert now.get(name, 0) <= number + more.get(name, 0) - known.get(name, 0)


def test_the_measure_counts_code_alone() -> None:
    code = (
        '"""Text --option."""\n\n\ndef f(a: int) -> str:\n    """Say --more."""\n    return "--out" + "-x"  # --less\n'
    )
    counted = ["def", "f", "(", "a", ":", "int", ")", "->", "str", ":", "return", "'--out'", "+", "'-x'"]
    assert tokens(code) == len(counted)
    assert named_options(code) == 1
    assert named_options('x = "a --b c-d--out"') == 0
