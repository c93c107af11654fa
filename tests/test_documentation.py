"""Pages lead where they say, name commands and options that exist, and make a site that can be searched from a disk."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rows import table
from viva import plugins
from viva.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("src/viva/**/README.md"),
        *ROOT.glob("performance/*.md"),
    ]
)
OF_CONTRIBUTING = {"longest"}
"""Commands of the package that the page writes (tests/benchmarks/test_contributing.py)."""
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`(viva [^`]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings: lower case, blanks as hyphens, no other punctuation."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().strip() for heading in _HEADING.findall(text)]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def broken(page: Path) -> Iterator[str]:
    for link in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        place, _, anchor = link.partition("#")
        if place.startswith(("http://", "https://", "mailto:")):
            continue
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield link


def test_the_readme_asks_published_sets_by_name_right_after_the_sample() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    first, second = [line for line in text.splitlines() if line.startswith("viva run ")][:2]
    assert "--model baseline/random" in first
    assert second.startswith("viva run mmlu-pro gsm8k --model ")


def test_links_lead_somewhere() -> None:
    assert {"start.md", "README.md", "coverage.md"} <= {page.name for page in PAGES}
    with table() as row:
        for page in PAGES:
            with row(page.relative_to(ROOT)):
                assert list(broken(page)) == []


def written(page: Path) -> Iterator[list[str]]:
    """The commands in a page's code, blocks and `in a line`, as words; a line that ends in a backslash goes on."""
    for inline in _INLINE.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if "…" not in inline:
            yield shlex.split(inline.replace("\\|", "|"))[1:]
    for block in _FENCE.findall(page.read_text("utf-8")):
        if block.startswith("```python"):  # of CONTRIBUTING.md: a package's own command, in its help
            continue
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(?:^|\s)#.*|\s{3,}\S.*", "", line.strip())  # what is said beside it
            for part in re.split(r" (?:&&|\|\||\||;|>) ", command):
                if part.startswith("viva ") and "…" not in part:
                    yield shlex.split(part)[1:]


def unknown(words: list[str]) -> str:
    """What is no command or no option among these words; empty where all are known."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        name = words[0]
        if name in {"--help", "-h", "--version"}:
            return ""
        try:
            _, found, words = command.resolve_command(click.Context(command, resilient_parsing=True), words)
        except click.UsageError:
            return name
        command = found
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    used = [word.partition("=")[0] for word in words if re.match("--?[a-z]", word)]
    return " ".join(option for option in used if option not in known | {"--help", "-h", "--help-all"})


def test_commands_in_pages_are_there_with_their_options() -> None:
    seen = 0
    with table() as row:
        for page in PAGES:
            if page.name == "CHANGELOG.md":
                continue
            for words in written(page):
                if words and re.fullmatch("[a-z-]+", words[0]) and words[0] not in OF_CONTRIBUTING:
                    seen += 1
                    with row((str(page.relative_to(ROOT)), " ".join(words))):
                        assert unknown(words) == ""
    assert seen > 200


def test_an_option_that_moved_is_where_it_is_said_to_be() -> None:
    packages = [importlib.import_module(one.value) for one in plugins.entry_points("viva.commands")]
    moved = {(command, name) for one in packages for command, names in one.MOVED.items() for name in names}
    assert {("run", "vary"), ("build translate", "check")} <= moved
    with table() as row:
        for command, name in moved:
            with row((command, name)):
                option = f"--{name.replace('_', '-')}"
                assert unknown([*command.split(), option]) == option
                now = plugins.moved(command, option).strip("`").split()
                assert now[0] == "viva"
                assert unknown(now[1:]) == ""


def test_help_names_values_and_says_what_may_be_left_out() -> None:
    """Facts that were in help texts before these were generated, and no placeholder that only a program understands."""
    with table() as row:
        for words, told in (
            ("plan", ("[OPTIONS] [RUN|TABLE...]", "--power 0..1")),
            ("variance", ("[OPTIONS] RUN...",)),
            ("published", ("[OPTIONS] [BENCHMARK] [TABLE]",)),
            ("agreement", ("[OPTIONS] RUN|RATINGS.csv|.jsonl",)),
            ("compare", ("--between FACTOR,...", "models, languages, shots, cot", "seeds, all")),
            ("report", ("--max-size MB", ".csv, .json, .md, .tex")),
            ("training", ("[default: terminal; in a file, as its name says]", ".csv, .json, .md, .tex")),
            ("judge-bias", ("--answers N", "--seed N")),
            ("resume", ("else of its models]",)),
            ("build infibench review", ("Also what is approved or rejected already.", "Experts wanted")),
            ("build clrbench review", ("Also what is approved already.", "Experts wanted")),
            ("build clrbench approve", ("question, decision, rationale", "comment.")),
            ("build translate approve", ("from a sheet (CSV)",)),
            ("build stats", ("Exit codes: 0 told; 2 wrong use",)),
        ):
            with row(words):
                helped = " ".join(help_of(words).split())
                assert [text for text in told if text not in helped] == []
        for words in (*COMMANDS, *plugins.registered()):
            with row(words):
                assert not re.search(r"^  --\S+ (INTEGER|FLOAT)|\bRANGE\b", help_of(words), re.M)


def help_of(words: str) -> str:
    """What `viva WORDS --help` prints."""
    return CliRunner().invoke(cli, [*words.split(), "--help"], terminal_width=110).output


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as `make docs` writes it, without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True, timeout=240)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


@pytest.mark.slow
@pytest.mark.peers("mkdocs")
def test_the_site_has_every_page_and_the_reference_and_asks_nobody_for_a_font(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    written = {path.stem for path in ROOT.glob("docs/[a-z]*.md")}
    benchmarks = {path.parent.name for path in ROOT.glob("src/viva/benchmarks/*/README.md")}
    made = {"commands", "names", "columns", "examples"}
    assert written | benchmarks | made | {"index", "changes", "contributing"} <= {page.stem for page in pages}
    loaded = re.compile(r"<(?:script|img|iframe|link rel=\"?stylesheet\"?)[^>]+(?:src|href)=\"?(?:https?:)?//[^>]*")
    with table() as row:
        for page in pages:
            with row(page.name):
                assert loaded.findall(page.read_text("utf-8")) == []
    for page, part in (("commands", "--max-cost"), ("names", "UnansweredWarning"), ("columns", "tag_domain")):
        assert part in (site / f"{page}.html").read_text("utf-8")
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.peers("mkdocs")
@pytest.mark.browser
def test_the_search_of_the_site_works_from_a_disk(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "models.html").as_uri())
    page.click("label.md-header__button[for=__search], .md-search__input >> visible=true")
    page.keyboard.type("prediction-powered")
    page.wait_for_selector(".md-search-result__item a", timeout=240_000)
    found = page.eval_on_selector_all(".md-search-result__item a", "links => links.map((link) => link.href)")
    assert any("judges.html" in link for link in found)
    assert [address for address in asked if not address.startswith(("file:", "about:", "data:"))] == []
    page.close()
