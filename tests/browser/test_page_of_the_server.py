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
    with serving() as found:
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


@pytest.mark.parametrize("width", [1280, 390])
def test_a_workload_that_runs_is_taken_and_grows(chromium: Any, server: Server, width: int) -> None:
    """By keyboard: a pod is found, and asked where it would go; then its Deployment, and more of it."""
    said: list[str] = []
    page = open_page(chromium, server, said, width)
    page.keyboard.press("/")
    page.keyboard.type("shop/web-")
    page.keyboard.press("Enter")
    where = page.locator("#panel").get_by_role("button", name="Where would it go today?")
    where.focus()
    ask_and_wait(page, lambda: page.keyboard.press("Enter"), "scheduled today")
    page.locator("#workload").fill("deployment/shop/web")
    ask_and_wait(page, lambda: page.keyboard.press("Enter"), "Fits: 3 pods run; scheduled today, 3 would stay.")
    page.locator("#replicas").fill("5")
    ask_and_wait(page, lambda: page.keyboard.press("Enter"), "Fits: 2 of 2 pods placed")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []


def test_a_zone_is_removed_by_a_click(chromium: Any, server: Server) -> None:
    said: list[str] = []
    page = open_page(chromium, server, said)
    page.locator("#find").fill("general-a-1")
    page.keyboard.press("Enter")
    remove = page.locator("#panel").get_by_role("button", name="Remove zone eu-west-1a")
    ask_and_wait(page, remove.click, "Does not fit: 2 evicted pods stay pending")
    assert page.locator("#changes button").text_content() == "topology.kubernetes.io/zone=eu-west-1a removed ×"
    assert said == []


@pytest.mark.parametrize("width", [1280, 390])
def test_two_answers_stand_side_by_side(chromium: Any, server: Server, width: int) -> None:
    """A node is cordoned on one side and drained on the other; the link holds both, and pods that differ are named."""
    said: list[str] = []
    page = open_page(chromium, server, said, width)
    page.locator("#beside").click()
    page.locator("#difference", has_text="Every pod ends on the same node.").wait_for()
    right = page.frame_locator("#right")
    right.locator("#find").fill("general-a-1")
    right.locator("#find").press("Enter")
    right.locator("#panel").get_by_role("button", name="Drain").click()
    right.locator("#verdict", has_text="Not safe to drain").wait_for()
    page.locator("#difference", has_text="pods end elsewhere").wait_for()
    rows = page.locator("#differences tbody tr").all_text_contents()
    assert any("general-a-1" in row for row in rows)
    assert page.frame_locator("#left").locator("#verdict").text_content() == "What is in the snapshot"
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.frame_locator("#right").locator("#verdict", has_text="Not safe to drain").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ask_and_wait(page, page.locator("#keep-right").click, "Not safe to drain")
    assert said == []


def test_what_cannot_be_answered_is_said(chromium: Any, server: Server) -> None:
    """In place of the answer before, which is there again one step back."""
    said: list[str] = []
    page = open_page(chromium, server, said)
    page.locator("#manifests").fill("kind: [")
    page.locator("#place").click()
    page.locator("#state", has_text="Not answered: ").wait_for()
    assert "manifests[0]" in page.locator("#state").text_content()
    assert page.locator("#verdict").count() == 0
    ask_and_wait(page, page.locator("#undo").click, "What is in the snapshot")
    assert page.locator("#state").text_content() == ""


# --- an answer is drawn in place of the one before


def drain(page: Any, node: str, verdict: str = "Not safe to drain") -> None:
    page.locator("#find").fill(node)
    page.keyboard.press("Enter")
    ask_and_wait(page, page.locator("#panel").get_by_role("button", name="Drain").click, verdict)
    page.locator("#changes button", has_text=node).wait_for()


def test_the_page_is_loaded_once_whatever_is_asked(chromium: Any, server: Server) -> None:
    """Links hold the question, back and forward lead from one to the next, and what was typed stays."""
    said: list[str] = []
    page = open_page(chromium, server, said)
    page.evaluate("window.loaded = true")
    drain(page, "general-a-1")
    one = page.url
    page.locator("#manifests").fill(WEB)
    drain(page, "general-b-1")
    assert page.locator("#manifests").input_value() == WEB
    assert page.locator("#changes button").all_text_contents() == ["general-a-1 drained ×", "general-b-1 drained ×"]
    page.go_back()
    page.locator("#changes button", has_text="general-b-1").wait_for(state="detached")
    page.wait_for_selector("html.ready")
    assert page.url == one
    ask_and_wait(page, page.go_back, "What is in the snapshot")
    ask_and_wait(page, page.go_forward, "Not safe to drain")
    assert page.url == one
    ask_and_wait(page, page.locator("#again").click, "What is in the snapshot")
    assert page.evaluate("[window.loaded, location.hash]") == [True, ""]
    assert said == []


EFFECTS = """(selector) => {
  window.effects = 0;
  window.watching?.disconnect();
  window.watching = new MutationObserver((records) => { window.effects += records.length; });
  window.watching.observe(document.querySelector(selector), { childList: true });
}"""


def effects_of(page: Any, key: str, selector: str) -> int:
    """How often a key press changes what an element holds."""
    page.evaluate(EFFECTS, selector)
    page.keyboard.press(key)
    return int(page.evaluate("() => new Promise((done) => setTimeout(() => done(window.effects), 20))"))


def test_after_ten_questions_a_key_has_one_effect(chromium: Any, server: Server) -> None:
    """No listener, chart or canvas of an answer outlives it."""
    said: list[str] = []
    page = open_page(chromium, server, said)

    def effects() -> list[int]:
        page.keyboard.press("/")
        found = [effects_of(page, "g", "#said"), effects_of(page, "Enter", "#panel")]
        page.keyboard.press("Escape")
        page.locator(".map").focus()
        return [*found, effects_of(page, "ArrowRight", "#said"), page.locator("canvas").count()]

    before = effects()
    for _ in range(5):
        drain(page, "general-a-1")
        ask_and_wait(page, page.locator("#undo").click, "What is in the snapshot")
    assert effects() == before
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 800, "height": 900})
    page.wait_for_timeout(50)
    assert said == []


def test_the_keyboard_goes_on_where_the_answer_is(chromium: Any, server: Server) -> None:
    """What asked is gone with the answer before; a field that is in use keeps the focus."""
    page = open_page(chromium, server, [])
    drain(page, "general-a-1")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("#said").text_content().startswith("Not safe to drain")
    page.locator("#workload").fill("deployment/shop/web")
    ask_and_wait(page, lambda: page.keyboard.press("Enter"), "Fits: 3 pods run; scheduled today, 3 would stay.")
    assert page.evaluate("document.activeElement.id") == "workload"


def test_a_link_to_a_part_of_the_answer_leaves_the_question_alone(chromium: Any, server: Server) -> None:
    page = open_page(chromium, server, [])
    drain(page, "general-a-1")
    link = page.url
    page.locator("#parts a").last.click()
    assert page.url == link
    assert page.evaluate("document.activeElement.id").startswith("part-")
    drain(page, "general-b-1")
    assert page.locator("#changes button").all_text_contents() == ["general-a-1 drained ×", "general-b-1 drained ×"]


def test_an_answer_that_nobody_waits_for_any_more_is_not_drawn(chromium: Any, server: Server) -> None:
    """The first question is overtaken by a second one."""
    said: list[str] = []
    page = open_page(chromium, server, said)
    page.locator("#manifests").fill(WEB)
    page.evaluate("() => { document.querySelector('#zones').click(); document.querySelector('#place').click(); }")
    page.locator("#verdict", has_text="Fits: 4 of 4 pods placed").wait_for()
    page.wait_for_timeout(300)
    assert page.locator("#verdict").text_content().startswith("Fits: 4 of 4 pods placed")
    assert said == []


def test_back_in_a_comparison_takes_back_what_a_side_asked(chromium: Any, server: Server) -> None:
    page = open_page(chromium, server, [])
    page.locator("#beside").click()
    page.locator("#difference", has_text="Every pod ends on the same node.").wait_for()
    right = page.frame_locator("#right")
    right.locator("#find").fill("general-a-1")
    right.locator("#find").press("Enter")
    right.locator("#panel").get_by_role("button", name="Drain").click()
    right.locator("#verdict", has_text="Not safe to drain").wait_for()
    both = page.url
    page.go_back()
    right.locator("#verdict", has_text="What is in the snapshot").wait_for()
    page.locator("#difference", has_text="Every pod ends on the same node.").wait_for()
    page.go_forward()
    right.locator("#verdict", has_text="Not safe to drain").wait_for()
    assert page.url == both
