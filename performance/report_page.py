"""How long a page takes from its address until something on it can be seen, in a headless Chromium."""

import importlib.util
import time
from pathlib import Path

BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
CHROMIUM = next((path for path in BROWSERS if Path(path).exists()), BROWSERS[0])


def missing() -> str:
    """What opening pages needs and is not there; empty where it can be done."""
    if importlib.util.find_spec("playwright") is None:
        return "the package playwright"
    return "" if Path(CHROMIUM).exists() else CHROMIUM


def opened(page: Path, awaited: str, loads: int) -> list[float]:
    """Seconds until `awaited` (a selector) is on the page and painted, a load each; every load has a browser anew."""
    from playwright.sync_api import sync_playwright

    found: list[float] = []
    with sync_playwright() as playwright:
        for _ in range(loads):
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
            )
            tab = browser.new_page()
            tab.goto("about:blank")
            start = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.locator(awaited).first.wait_for(state="visible")
            found.append(time.perf_counter() - start)
            browser.close()
    return found
