"""Quotas, the draw, the line and the tag tree of InfiBench's curation."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build.dumps import lies_above
from rows import each_row, tables_beside
from viva.build.stackexchange.selection import draw, largest_remainders, quotas
from viva.build.stackexchange.tagtree import NONE, SEVERAL, TagTree, read_tree
from viva.build.stackexchange.view_line import Line
from viva.errors import DataError

TABLES = tables_beside(__file__)
TABLE_2 = TABLES["table_2"]
"""The paper's: language → initial seed set, tentative quota."""
PAPER_DIFFERS = {"vba": -1, "bash": 1}
"""The paper's quota less ours, for its own counts; 0 for the other fifteen."""


@cache
def bundled() -> TagTree:
    return read_tree(None)


def ours(size: int = 200, floor: int = 10) -> dict[str, int]:
    return quotas({name: count for name, (count, _) in TABLE_2.items()}, bundled(), size=size, floor=floor)


def test_two_cells_differ_and_the_total_does_not() -> None:
    assert {
        name: quota - ours()[name] for name, (_, quota) in TABLE_2.items() if quota != ours()[name]
    } == PAPER_DIFFERS
    assert sum(ours().values()) == sum(quota for _, quota in TABLE_2.values()) == 270
    assert list(TABLE_2) == [one.name for one in bundled().languages]
    assert sum(ours(floor=0).values()) == 200, "without a floor the budget is spent to the last question"


def test_nobody_gets_more_than_there_is() -> None:
    found = quotas({"python": 3, "r": 0, "bash": 500}, bundled(), size=200, floor=10)
    assert {name: quota for name, quota in found.items() if quota} == {"python": 3, "bash": 20}


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), max_size=8), st.integers(0, 1000))
def test_largest_remainders_spend_all_and_keep_within_one(weights: dict[str, int], budget: int) -> None:
    found = largest_remainders(weights, budget)
    total = sum(weights.values())
    assert sum(found.values()) == (budget if total else 0)
    assert all(abs(found[name] - budget * weight / total) < 1 + 1e-9 for name, weight in weights.items() if total)


def test_the_draw_is_a_matter_of_seed_and_id() -> None:
    drawn = draw(range(1, 1001), place=3, quota=10, times=2, seed=42)
    assert drawn == draw(reversed(range(1, 1001)), place=3, quota=10, times=2, seed=42)
    assert [one.rank for one in drawn] == list(range(1, 21))
    assert [one.reserve for one in drawn] == [False] * 10 + [True] * 10
    assert {one.id for one in drawn} != {one.id for one in draw(range(1, 1001), place=3, quota=10, times=2, seed=43)}
    assert [one.id for one in drawn[:10]] == [
        one.id for one in draw(range(1, 1001), place=3, quota=10, times=1, seed=42)
    ]
    assert len(draw(range(15), place=0, quota=10, times=2, seed=1)) == 15
    assert draw([], place=0, quota=0, times=2, seed=1) == []


VIEWS = TABLES["views"]


@each_row(*VIEWS)
def test_the_line_is_the_papers_with_the_natural_logarithm(views: int, age: int, above: bool) -> None:
    assert lies_above(Line(), views, age) == above


def test_other_logarithms_can_be_meant() -> None:
    assert lies_above(Line(logarithm="2"), 46_341, 3000)
    assert not lies_above(Line(logarithm="2"), 46_340, 3000)
    assert not lies_above(Line(logarithm="10"), 2_000_000_000, 3000)


TAGGED = [
    (("javascript", "html", "css"), "javascript"),
    (("html", "javascript"), "html"),
    (("typescript", "angular"), "javascript"),
    (("pandas", "dataframe"), "python"),
    (("sql", "pandas"), "python"),
    (("json", "python"), "python"),
    (("jquery", "php"), "php"),
    (("android", "json"), "json"),
    (("mysql",), "sql"),
    (("android", "kotlin"), "kotlin"),
    (("flutter",), "dart"),
    (("c",), "cpp"),
    (("haskell",), NONE),
    (("Python",), NONE),
    ((), NONE),
]


@each_row(*TAGGED)
def test_tags_give_a_language(tags: tuple[str, ...], name: str) -> None:
    assert bundled().names[bundled().place(tags)] == name


def test_questions_of_several_languages_can_be_left_out() -> None:
    tree = read_tree(None, "drop")
    names = [
        tree.names[tree.place(tags)]
        for tags in (("html", "css"), ("html", "html5"), ("json", "csv"), ("python", "jquery"))
    ]
    assert names == [SEVERAL, "html", "json", "python"]


AREA = 'areas = [{ name = "a", share = 100 }]\n'
PYTHON = '[[languages]]\nname = "python"\narea = "a"\ntags = ["python"]\n'


def own(name: str, **more: str) -> str:
    return f'[[languages]]\nname = "{name}"\narea = "{more.get("area", "a")}"\ntags = ["{more.get("tag", name)}"]\n'


TREES = [
    ("", "areas"),
    ("areas = [", "no TOML"),
    ("\x00", "no TOML"),
    (AREA, "languages"),
    (AREA + "languages = []", "0 languages"),
    (AREA + own("x", area="b"), "of the area 'b'"),
    (AREA + own("x") + own("x", tag="y"), "stands twice"),
    (AREA + own("x") + own("y", tag="x"), "belongs to x and to y"),
    (AREA + own("none"), "stands twice"),
    (AREA + own(" "), "stands twice, is empty"),
    (AREA.replace("100", "90") + PYTHON, "make 90"),
    (AREA.replace("100", "nan") + PYTHON, "make nan"),
    (AREA + PYTHON + 'colour = "red"', "colour"),
    (AREA + PYTHON.replace('["python"]', "7"), "tags"),
]


@each_row(*TREES)
def test_what_is_wrong_in_a_tree_is_named(content: str, says: str, *, tmp_path: Path) -> None:
    (tmp_path / "tree.toml").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_tree(tmp_path / "tree.toml")
    with pytest.raises(DataError, match="cannot read the tag tree"):
        read_tree(tmp_path / "absent.toml")


def test_a_tree_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "tree.toml").write_text(AREA + PYTHON, encoding="utf-8")
    tree = read_tree(tmp_path / "tree.toml")
    assert tree.names == ("python", SEVERAL, NONE)
    assert tree.fingerprint != bundled().fingerprint
