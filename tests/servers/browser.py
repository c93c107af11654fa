"""A real browser for all tests of pages: one process, to which each module connects."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers.fixtures import wait_until
from tiers import BROWSERS

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-extensions"),
    *("--force-color-profile=srgb", "--hide-scrollbars", "--mute-audio", "--remote-debugging-port=0", "about:blank"),
)


@pytest.fixture(scope="session")
def browser_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return where a headless Chromium listens: starting it takes as long as many tests."""
    profile = tmp_path_factory.mktemp("chromium")
    browser = next(path for path in BROWSERS if Path(path).exists())
    told = profile / "DevToolsActivePort"
    apart: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen([browser, f"--user-data-dir={profile}", *FLAGS], **apart) as process:
        wait_until(lambda: told.exists() and told.read_text().count("\n") > 0, "Chromium")
        yield f"http://127.0.0.1:{told.read_text().split()[0]}"
        os.killpg(process.pid, signal.SIGTERM)  # what is started may be a script around the browser


@pytest.fixture(scope="module")
def chromium(browser_address: str) -> Iterator[Any]:
    """A headless Chromium: for tests that are marked `browser`.

    It is left with the module, for its driver has an event loop that nothing else could run in this thread.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(browser_address, timeout=240_000)
        yield browser
        browser.close()
