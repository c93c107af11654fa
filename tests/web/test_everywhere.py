"""Hostile texts, alone and in runs that every command prints in every form: spelled out, escaped, and never active."""

import csv
import io
import itertools
import json
import re
import sys
import unicodedata

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rows import tabled, tables_beside
from viva import plugins
from viva.cli.main import cli, main
from viva.render.markuptext import json_text
from viva.visible import escape_invisible, escaped
from viva.web.pagetemplates import environment, highlighted
from web.hostile import TEXTS, assert_harmless, assert_no_formula, make_run

FORMS = ("terminal", "csv", "markdown", "latex", "json")
COMMANDS = {name: [name, "A"] for name in plugins.studies()} | tables_beside(__file__)["commands"]
COMMANDS = {name: given for name, given in COMMANDS.items() if given}  # the others print no scores of a run's
EVIL = "\x1b[31m[b]|\\input{x}_&\u202e<i>"
FILES = {
    "RATINGS": f"item,rater,value\n=q,=r{EVIL},1\n=q,b,0\nz,=r{EVIL},0\nz,b,0\n",
    "MODELS": f"model,size,score\n=x{EVIL},1,20\n<b>,7,30\n+1,13,35\na,70,36\n",
    "ITEMS": "model,case,sample,score,tag\n"
    + "".join(f"={EVIL},{n},0,{n % 2},{EVIL * (n % 3 > 1)}\n" for n in range(40)),
}
"""Tables of others in which every name is an attack."""
OF_FILES = {
    "agreement of a file": ("agreement", "RATINGS", "--all"),
    "scaling of a file": ("scaling", "MODELS"),
    "score of a file": ("score", "ITEMS", "--by", "tag"),
    "breakdown of a file": ("breakdown", "ITEMS", "--by", "tag"),
}
COMMANDS |= OF_FILES
FEW = ["score", "compare", "correlate", *OF_FILES]
OTHERS = [name for name in COMMANDS if name not in FEW]
NAMES = ("openai/<svg onload=window.vivaattack=1>", "openai/@SUM(1) \u202e|\\input{x}&%$#")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two graded runs, and what commands want to know of their models."""
    folder = tmp_path_factory.mktemp("everywhere")
    one, two = make_run(folder / "one"), make_run(folder / "two", models=NAMES, answered=0.9)
    for run in (one, two):
        CliRunner().invoke(cli, ["score", str(run)], catch_exceptions=False)
    models = [model["name"] for model in json.loads((one / "run.json").read_text())["models"]]
    for name, header in (("sizes", ("model", "billions")), ("steps", ("model", "tokens"))):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *((model, 7 * 10**place) for place, model in enumerate(models))])
    for name, content in FILES.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    known = {"A": one, "B": two, "SIZES": folder / "sizes.csv", "STEPS": folder / "steps.csv"}
    known |= {name: folder / f"{name}.csv" for name in FILES}
    return {name: str(path) for name, path in known.items()}


def printed(runs: dict[str, str], command: tuple[str, ...], form: str) -> str:
    arguments = [runs.get(one, one) for one in command]
    ended = CliRunner().invoke(cli, [*arguments, "--format", form])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    assert ended.stdout
    assert_harmless(ended.stderr)
    return ended.stdout


@pytest.mark.parametrize("names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["few", "others"])
def test_what_is_printed_of_hostile_runs_is_text(runs: dict[str, str], names: list[str]) -> None:
    for name, row in tabled(*names):
        with row:
            assert_printed_as_text(runs, COMMANDS[name])


def assert_printed_as_text(runs: dict[str, str], command: tuple[str, ...]) -> None:
    """In every form."""
    said = {form: printed(runs, command, form) for form in FORMS}
    for text in said.values():
        assert_harmless(text)
    assert_no_formula([cell for row in csv.reader(io.StringIO(said["csv"])) for cell in row])
    json.loads(said["json"])
    for line in said["markdown"].splitlines():
        assert not re.search(r"(?<!\\)[<`]", line), line
    pipes = [len(re.findall(r"(?<!\\)\|", line)) for line in said["markdown"].splitlines()]
    assert all(a == b or 0 in (a, b) for a, b in itertools.pairwise(pipes)), "no text breaks a table's row"
    for line in said["latex"].splitlines():
        if not line.startswith("%"):
            assert not re.search(r"\\(input|write|def)\b", line), line
            assert not re.search(r"(?<!\\)[#$]", line.replace("\\ensuremath", "")), line


def test_whatever_is_said_of_them_steers_no_terminal(runs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    commands = (
        ("show", "A", "--limit", "200", "--prompt"),
        ("show", "A", "--question", "\x1b[31m"),
        ("compare", "A", "B", "--baseline", "\u202e\x1b[2J"),
        ("training", "A"),
        ("scaling", "A"),
        ("breakdown", "A", "--by", "<b>\x9b31m"),
        ("report", "A", "--format", "csv", "--published-rows", "\u2066x"),
    )
    for arguments, row in tabled(*commands):
        with row:
            with pytest.raises(SystemExit) as ended:
                main([runs.get(one, one) for one in arguments])
            said = capsys.readouterr()
            assert ended.value.code in (0, 2, 3)
            assert said.out or said.err
            assert_harmless(said.out)
            assert_harmless(said.err)


ANY = st.text(st.characters(codec="utf-8"))


def test_every_character_of_a_category_c_is_spelled_out_alone_and_among_others() -> None:
    for code in (*range(0x3000), *range(0x3000, sys.maxunicode, 61), *range(0xE0000, 0xE0200)):
        character = chr(code)
        hidden = unicodedata.category(character)[0] == "C" and character not in "\n\t"
        for around in ("", "a\nb 中\t"):
            shown = escape_invisible(around + character)
            assert not hidden or shown == f"{around}<U+{code:04X}>", hex(code)
            assert hidden or len(shown) - len(around) in (1, 8, 9), hex(code)


@given(ANY, ANY)
def test_escaped_json_means_the_same_and_hides_nothing(name: str, text: str) -> None:
    content = {name: [text, 1]}
    for said in (json_text(content), escaped(json.dumps(content, ensure_ascii=False))):
        assert json.loads(said) == content
        assert escape_invisible(said) == said


def test_hostile_texts_are_unharmed_in_json_and_harmless_in_a_terminal() -> None:
    said = json_text(TEXTS)
    assert json.loads(said) == TEXTS
    assert_harmless(said)


def test_parts_of_a_text_are_marked_where_they_overlap() -> None:
    assert environment("viva.pages").from_string("{{ with_code(x) }}").render(x="`a<b`") == "<code>a&lt;b</code>"
    made = highlighted("one <two> three", [(0, 9, "only"), (4, 9, "read"), (90, 95, "only")])
    assert made == '<mark class="only">one </mark><mark class="only read">&lt;two&gt;</mark> three'
