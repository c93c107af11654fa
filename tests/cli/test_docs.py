"""`viva docs`: every page on the terminal, from the package or the checkout, rendered and escaped."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rows import tabled
from viva.cli.look import docs
from viva.cli.main import cli

ROOT = Path(__file__).parents[2]
ANSI = r"\x1b\[[0-9;]*m"
STYLES = {f"\x1b[{style}m" for style in ("0", "1", "3", "4", "7", "1;4", "2")}


def viva_docs(*topic: str) -> str:
    ended = CliRunner().invoke(cli, ["docs", *topic])
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_every_page_is_listed_with_its_title_and_printed() -> None:
    listed = dict(line.split(maxsplit=1) for line in viva_docs().splitlines())
    assert set(listed) == {path.stem for path in ROOT.glob("docs/[a-z]*.md")} | {
        path.parent.name for path in ROOT.glob("src/viva/benchmarks/*/README.md")
    }
    for (topic, title), row in tabled(*listed.items()):
        with row:
            assert viva_docs(topic).startswith(f"# {title}\n")


def test_a_wrong_topic_names_the_nearest_page_and_all() -> None:
    for topic, said in {"judgez": "Did you mean 'judges'?", "csbenhc": "Did you mean 'csbench'?"}.items():
        ended = CliRunner().invoke(cli, ["docs", topic])
        assert (ended.exit_code, said in ended.output, f"{topic!r} is not one of 'building'" in ended.output) == (
            2,
            True,
            True,
        )
    assert "'../README' is not one of" in CliRunner().invoke(cli, ["docs", "../README"]).output


def test_on_a_terminal_a_page_is_rendered_and_what_cannot_be_seen_is_spelled_out(tmp_path: Path) -> None:
    links = "[models](models.md#keys), [CS](../src/viva/benchmarks/csbench/README.md), [this](../ARCHITECTURE.md)"
    page = tmp_path / "a.md"
    page.write_text(f"# A page\n\nSee {links}.\n\n\x1b[31m[red]x[/red] `[b]y[/b]`\n")
    text = " ".join(docs.shown(page, 60, colour=False).split())
    assert "See models (viva docs models), CS (viva docs csbench), this (../ARCHITECTURE.md)." in re.sub(ANSI, "", text)
    assert "<U+001B>" in text
    assert "[red]x[/red]" in text
    assert "[b]y[/b]" in text
    assert "#" not in text
    assert set(re.findall(ANSI, docs.shown(page, 60, colour=False))) <= STYLES, "bold and the like; no colour"
    assert max(map(len, re.sub(ANSI, "", docs.shown(page, 60, colour=True)).splitlines())) <= 60
    assert docs.shown(page, None, colour=False).startswith("# A page\n")


def test_pages_of_an_installed_package_are_found_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "start.md").write_text("# Start\n")
    monkeypatch.setattr(docs, "PACKAGE", tmp_path)
    assert docs.pages() == {"start": tmp_path / "docs" / "start.md"}
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {"docs": "viva/docs"}
    assert "sdist" not in targets, "a source distribution holds all that git does, or its tests fail"
    image, context = (set((ROOT / name).read_text().splitlines()) for name in ("Dockerfile", ".dockerignore"))
    assert {"COPY src src", "COPY docs docs"} <= image
    assert {"!src", "!docs"} <= context
