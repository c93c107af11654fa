"""docs/start.md: its commands run in order, and print what it says they print."""

import contextlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / ".ci"))

from tutorial import PICTURES, SERVER, Tutorial, steps  # noqa: E402


def same_everywhere(printed: str) -> str:
    """Without what depends on the machine: the seconds of an answer, and how wide their column is."""
    return re.sub(r"(?<=unknown) +\d+\.\d+$", "  0.00", printed, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_the_tutorial_print_what_it_says(tmp_path: Path) -> None:
    tutorial = Tutorial(tmp_path)
    seen = []
    with contextlib.ExitStack() as stack:
        for command, output in steps():
            seen.append(command.split()[1])
            if SERVER in command:
                stack.enter_context(tutorial.started(command, f"http://127.0.0.1:{tutorial.port}/v1/models"))
            elif command == "viva view":
                address = f"http://127.0.0.1:{tutorial.port}/"
                stack.close()  # its port is free again
                with tutorial.started(f"{command} --port {tutorial.port}", address):
                    pass
            else:
                ended = tutorial.run(command)
                assert ended.returncode == 0, (command, ended.stderr)
                if output is not None:
                    assert same_everywhere(ended.stdout) == same_everywhere(output), command
    assert seen == ["run", SERVER, "run", "show", "view", "compare", "report"]
    assert "+48.96 [+33.80, +61.78]" in tutorial.run("viva compare runs/random runs/standin").stdout  # "49 points"
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_pictures_are_small_ask_nobody_and_are_all_used() -> None:
    page = (ROOT / "docs" / "start.md").read_text("utf-8")
    assert sorted(re.findall(r"\(pictures/([^)]+)\)", page)) == sorted(path.name for path in PICTURES.iterdir())
    for path in PICTURES.iterdir():
        assert path.stat().st_size <= 100_000, path.name
        if path.suffix == ".svg":
            assert not re.search(r"url\(.?https?:|href=", path.read_text("utf-8")), path.name
