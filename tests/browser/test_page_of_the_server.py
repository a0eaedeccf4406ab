"""The page of a server: the map is there, a node is drained by a click, a manifest is placed, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.serve.test_server import WEB, Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--workers", "1") as found:
        yield found


def open_page(chromium: Any, server: Server, said: list[str], width: int = 1280) -> Any:
    page = chromium.new_context(viewport={"width": width, "height": 900}).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"http://127.0.0.1:{server.port}/")
    page.wait_for_selector("html.ready")
    return page


def ask_and_wait(page: Any, act: Any, verdict: str) -> None:
    act()
    page.locator("#verdict", has_text=verdict).wait_for()
    page.wait_for_selector("html.ready")


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_done_with_the_cluster_is_answered_and_undone(chromium: Any, server: Server, width: int) -> None:
    """By keyboard alone, but for the buttons; the policy of the page forbids nothing that it needs."""
    said: list[str] = []
    page = open_page(chromium, server, said, width)
    assert page.locator("#verdict").text_content() == "What is in the snapshot"
    assert page.locator(".map canvas").count() > 0
    page.keyboard.press("/")
    page.keyboard.type("general-a-1")
    page.keyboard.press("Enter")
    drain = page.locator("#panel").get_by_role("button", name="Drain")
    ask_and_wait(page, drain.click, "Not safe to drain")
    assert page.locator("#changes button").text_content() == "general-a-1 drained ×"
    ask_and_wait(page, page.locator("#changes button").click, "What is in the snapshot")
    page.locator("#manifests").fill(WEB)
    ask_and_wait(page, page.locator("#place").click, "Fits: 4 of 4 pods placed")
    link = page.url
    ask_and_wait(page, page.locator("#undo").click, "What is in the snapshot")
    page.goto("about:blank")
    ask_and_wait(page, lambda: page.goto(link), "Fits: 4 of 4 pods placed")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []


def test_what_cannot_be_answered_is_said(chromium: Any, server: Server) -> None:
    said: list[str] = []
    page = open_page(chromium, server, said)
    page.locator("#manifests").fill("kind: [")
    page.locator("#place").click()
    page.locator("#state", has_text="Not answered: ").wait_for()
    assert "manifests[0]" in page.locator("#state").text_content()
