"""How long a page takes from its address until something on it can be seen, in a headless Chromium."""

import time
from pathlib import Path

CHROMIUM = "/usr/bin/chromium"
LOADS = 3


def opened(page: Path, awaited: str) -> list[float]:
    """Seconds until `awaited` (a selector) is on the page and painted, a load each; every load has a browser anew."""
    from playwright.sync_api import sync_playwright

    found: list[float] = []
    with sync_playwright() as playwright:
        for _ in range(LOADS):
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
