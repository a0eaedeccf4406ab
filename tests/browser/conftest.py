"""A real Chromium, driven by playwright. Where either is missing these tests are skipped, and say so."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("KWHATIF_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
QUIETER = ("--disable-component-update", "--disable-sync")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [] if importlib.util.find_spec("playwright") else ["playwright"]
    missing += [] if CHROMIUM else ["Chromium"]
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.long)
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"no {' and no '.join(missing)}: make test-browser installs it"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *QUIETER])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page in the browser, what it said on the console, and whom it asked."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def check(self) -> None:
        assert (self.said, self.asked) == ([], [])


Open = Callable[..., Opened]


@pytest.fixture
def opened(chromium: Any) -> Iterator[Open]:
    """Opens files; afterwards every page must have been silent, and must have asked nobody but the disk for itself."""
    all_opened: list[Opened] = []

    def open_(path: Path, *, width: int = 1280, scheme: str = "light", **more: Any) -> Opened:
        found = Opened(chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, **more))
        all_opened.append(found)
        found.page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))
        found.page.on(
            "request", lambda request: found.asked.append(request.url) if request.url != path.as_uri() else None
        )
        found.page.on("dialog", lambda dialog: found.said.append(f"dialog: {dialog.message}"))
        found.page.goto(path.as_uri())
        found.page.wait_for_selector("html.ready", state="attached")
        return found

    yield open_
    for each in all_opened:
        each.check()
        each.page.close()
