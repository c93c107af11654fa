"""The tutorial's commands, run in order as the page has them, and its pictures, taken of what they leave.

    python .ci/tutorial.py          runs docs/start.md and writes docs/pictures/ (Chromium, playwright)

A block of docs/start.md without a language is commands, a line each; a block `text` below one is what the last of
them prints on stdout; the block `python` is the file that the next command starts. tests/test_tutorial.py compares.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "start.md"
PICTURES = ROOT / "docs" / "pictures"
SERVER = "standin.py"
PORT = "8000"
"""The port in the page; a free one takes its place."""
WIDTH = 100
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A command, and what the page says that it prints; None where it says nothing."""

    command: str
    output: str | None


def steps() -> Iterator[Step]:
    """The page's commands in order."""
    waiting: list[str] = []
    for block in _BLOCK.finditer(PAGE.read_text("utf-8")):
        if block["language"] == "text":
            *before, last = waiting
            yield from (Step(command, None) for command in before)
            yield Step(last, block["body"])
            waiting = []
        elif not block["language"]:
            waiting += [re.sub(r"\s{2,}#.*", "", line) for line in block["body"].splitlines()]
    yield from (Step(command, None) for command in waiting)


class Tutorial:
    """A folder in which the tutorial is followed."""

    def __init__(self, folder: Path, port: str = "") -> None:
        self.folder = folder
        (program,) = [
            block["body"] for block in _BLOCK.finditer(PAGE.read_text("utf-8")) if block["language"] == "python"
        ]
        (folder / SERVER).write_text(program, "utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = port or str(free.getsockname()[1])
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("VIVA_", "OPENAI_"))
        }
        self.environment |= {"COLUMNS": str(WIDTH), "HOME": str(folder), "VIVA_CONFIG": str(folder / ".config")}

    def words(self, command: str) -> list[str]:
        """The command for this folder and this Python."""
        given = shlex.split(
            command.replace(f":{PORT}/", f":{self.port}/").replace(f"{SERVER} {PORT}", f"{SERVER} {self.port}")
        )
        program = {"viva": [sys.executable, "-m", "viva"], "python": [sys.executable]}[given[0]]
        return [*program, *given[1:]]

    @contextlib.contextmanager
    def started(self, command: str, address: str) -> Iterator[None]:
        """A command that goes on until the block ends: it answers at `address` when the block begins."""
        with subprocess.Popen(  # noqa: S603
            self.words(command), cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL
        ) as it:
            try:
                for _ in range(600):
                    if answers(address):
                        break
                    time.sleep(0.1)
                else:
                    sys.exit(f"{command}: nothing answers at {address}")
                yield
            finally:
                it.terminate()

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(  # noqa: S603
            self.words(command),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def on_a_terminal(self, command: str) -> str:
        """What a command prints on a terminal, with its colours."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(  # noqa: S603
            self.words(command), cwd=self.folder, env=self.environment | {"TERM": "xterm-256color"},
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
        ) as it:  # fmt: skip
            os.close(theirs)
            parts = []
            with contextlib.suppress(OSError):  # the terminal is gone when the command has ended
                while part := os.read(ours, 65536):
                    parts.append(part)
            it.wait()
        os.close(ours)
        return b"".join(parts).decode().replace("\r\n", "\n")


def answers(address: str) -> bool:
    """Whether anything listens there, if only to refuse."""
    try:
        urllib.request.urlopen(address, timeout=5).close()  # noqa: S310
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def draw(text: str, title: str, path: Path) -> None:
    """Write what a terminal shows as SVG, without the font that rich would load from somebody else's server."""
    from rich.console import Console
    from rich.terminal_theme import DIMMED_MONOKAI
    from rich.text import Text

    with Path(os.devnull).open("w") as nothing:
        console = Console(record=True, width=WIDTH, file=nothing, force_terminal=True)
        console.print(Text.from_ansi(text.rstrip() + "\n"))  # a line more: the last one is cut off
        picture = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id=path.stem)
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    path.write_text("\n".join(line.rstrip() for line in picture.splitlines() if line.strip()) + "\n", "utf-8")


def photograph(tutorial: Tutorial) -> None:
    """Take the pictures of pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": 960, "height": 680}, color_scheme="light")
        with tutorial.started(f"viva view --port {tutorial.port}", f"http://127.0.0.1:{tutorial.port}/"):
            page.goto(f"http://127.0.0.1:{tutorial.port}/")
            page.get_by_role("link", name="standin", exact=True).first.click()
            page.wait_for_selector("#tables")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / "viewer.png")
            page.get_by_role("link", name="Answers").first.click()
            page.get_by_label("Outcome").select_option("unparsed")
            page.wait_for_url("**outcome=unparsed**")
            page.locator(".rows a").first.click()
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / "answer.png")
        page.goto((tutorial.folder / "report.html").as_uri())
        page.locator("#summary").scroll_into_view_if_needed()
        page.wait_for_timeout(3000)
        page.screenshot(path=PICTURES / "report.png")
        browser.close()


def main() -> None:
    """Follow the tutorial and take its pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        tutorial = Tutorial(Path(name), PORT)
        for command, _ in steps():
            print(command)
            if SERVER in command:
                stack.enter_context(tutorial.started(command, f"http://127.0.0.1:{tutorial.port}/v1/models"))
            elif not command.startswith("viva view"):
                draw_as = {"run": "run.svg", "compare": "compare.svg"}.get(command.split()[1], "")
                if draw_as:
                    draw(tutorial.on_a_terminal(command), command, PICTURES / draw_as)
                else:
                    tutorial.run(command)
        stack.close()
        photograph(tutorial)
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
