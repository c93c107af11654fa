"""A real browser for all tests of pages: one process, to which each module connects."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from servers.fixtures import wait_until
from tiers import BROWSERS

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--in-process-gpu"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-extensions"),
    *("--force-color-profile=srgb", "--hide-scrollbars", "--mute-audio", "--remote-debugging-port=0", "about:blank"),
)


@pytest.fixture(scope="session")
def browser_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a headless Chromium, started once because that takes as long as many tests."""
    profile = tmp_path_factory.mktemp("chromium")
    browser = next(path for path in BROWSERS if Path(path).exists())
    told = profile / "DevToolsActivePort"
    apart: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen([browser, f"--user-data-dir={profile}", *FLAGS], **apart) as process:
        wait_until(lambda: told.exists() and told.read_text().count("\n") > 0, "Chromium")
        yield f"http://127.0.0.1:{told.read_text().split()[0]}"
        os.killpg(process.pid, signal.SIGTERM)  # the process may be a script that starts the browser


@pytest.fixture(scope="session")
def driven(browser_address: str) -> Iterator[tuple[Any, asyncio.AbstractEventLoop]]:
    """Give the driver's process, also slow to start, and its event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(browser_address, timeout=240_000)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def chromium(driven: tuple[Any, asyncio.AbstractEventLoop]) -> Iterator[Any]:
    """Give a headless Chromium, for tests marked `browser`.

    The driver's event loop belongs to this thread during a module; other modules' tests can have their own.
    """
    browser, loop = driven
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@contextmanager
def windows(chromium: Any, *, harmless: Sequence[str] = ()) -> Iterator[Callable[..., Any]]:
    """Open pages of new browser sessions: `window(inside, **settings)`.

    A request of a page that begins with none of `inside`, or an error, fails the test at its end, unless it contains a
    word of `harmless`. A page without `inside` is not watched.
    """
    contexts: list[Any] = []
    troubles: list[str] = []

    def window(*inside: str, **settings: Any) -> Any:
        context = chromium.new_context(**settings)
        context.set_default_timeout(240_000)
        contexts.append(context)
        page = context.new_page()
        if inside:
            page.on("request", lambda asked: asked.url.startswith(inside) or troubles.append(f"asked for {asked.url}"))
            page.on("console", lambda said: troubles.append(f"console: {said.text}") if said.type == "error" else None)
            page.on("pageerror", lambda problem: troubles.append(f"error: {problem}"))
            page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    yield window
    for context in contexts:
        context.close()
    assert not [trouble for trouble in troubles if not any(word in trouble for word in harmless)]
