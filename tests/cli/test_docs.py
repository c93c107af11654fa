"""`viva docs`: every page on the terminal, from the package or the checkout, rendered and escaped."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rows import table
from viva.cli.look import docs
from viva.cli.main import cli

ROOT = Path(__file__).parents[2]


def viva_docs(*topic: str) -> str:
    ended = CliRunner().invoke(cli, ["docs", *topic])
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_every_page_is_listed_with_its_title_and_printed() -> None:
    listed = dict(line.split(maxsplit=1) for line in viva_docs().splitlines())
    assert set(listed) == {path.stem for path in ROOT.glob("docs/[a-z]*.md")} | {
        path.parent.name for path in ROOT.glob("src/viva/benchmarks/*/README.md")
    }
    with table() as row:
        for topic, title in listed.items():
            with row(topic):
                assert viva_docs(topic).startswith(f"# {title}\n")


def test_a_wrong_topic_names_the_nearest_page_or_all() -> None:
    def refused(topic: str) -> str:
        return str(CliRunner().invoke(cli, ["docs", topic]).exception)

    assert refused("judgez") == "there is no page 'judgez'; did you mean judges?"
    assert "; there are: " in refused("qqqq")
    assert "did you mean csbench?" in refused("csbenhc")
    assert "\x1b" not in refused("\x1b[31mqqqq")
    assert "there is no page '../README'" in refused("../README")


def test_on_a_terminal_a_page_is_rendered_and_what_cannot_be_seen_is_spelled_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    links = "[models](models.md#keys), [CS](../src/viva/benchmarks/csbench/README.md)"
    page = f"# A page\n\nSee {links}.\n\n\x1b[31m[red]x[/red]\n"
    (tmp_path / "docs" / "a.md").write_text(page)
    (tmp_path / "docs" / "models.md").write_text("# Models\n")
    monkeypatch.setattr(docs, "PACKAGE", tmp_path)  # of an installed package: the pages lie in it
    monkeypatch.setattr(docs, "screen", lambda out: (60, False))
    shown = viva_docs("a")
    assert "See models (viva docs models), CS." in shown
    assert "<U+001B>" in shown
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown
    assert "#" not in shown
    assert max(map(len, shown.splitlines())) <= 60


def test_the_package_brings_the_pages() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {"docs": "viva/docs"}
    assert "docs" in targets["sdist"]["include"]
