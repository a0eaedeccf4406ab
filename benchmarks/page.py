"""Time the page of a server in Chromium: the first picture, and the drain of a node by a click. One JSON line a round.

    page.py [--nodes 2000] [--pods 40000] [--rounds 5]

The cluster is the one of gate.py, known to the server when the page is opened. ``first`` is from the navigation to
the frame after the map is drawn, ``drain`` from the click to the frame after the answer is: seconds by the clock, of
which the answer took ``answer``, and processor seconds of the server and of what draws the page. ``load`` is that of
the machine. Needs playwright and Chromium, as make test-browser installs them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from gate import write
from report import busy
from serve import parser_of, seconds_of, serving

from tests.browser.conftest import CHROMIUM, QUIET, QUIETER

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
ASKED = "() => performance.getEntriesByType('resource').findLast((each) => each.name.includes('/v1/')).duration"


def main() -> None:
    parser = parser_of(__doc__, 2_000, 40_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), given.nodes, given.pods, 0)
        with serving("--snapshot", f"{name}/cluster.json") as (pid, port):
            look(f"http://127.0.0.1:{port}/", pid, given.rounds)


def look(address: str, server: int, rounds: int) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *QUIETER])
        client = browser.new_browser_cdp_session()
        for number in range(rounds):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto("about:blank")
            clock = partial(time_act, client, server, page)
            first = clock(partial(page.goto, address, wait_until="commit"), "snapshot")
            page.locator("#find").fill(f"n{number:05d}")
            page.keyboard.press("Enter")
            drain = clock(page.locator("#panel").get_by_role("button", name="Drain").click, "drained")
            print(json.dumps({"first": first, "drain": drain, "load": round(os.getloadavg()[0], 1)}), flush=True)
            page.close()
        browser.close()


def time_act(client: Any, server: int, page: Any, act: Callable[[], object], verdict: str) -> dict[str, float]:
    """What an act takes until the answer with this verdict is drawn."""
    begun, spent, drawn = time.perf_counter(), seconds_of(server), busy(client)
    act()
    page.locator("#verdict", has_text=verdict).wait_for()
    page.wait_for_selector("html.ready", state="attached")
    page.evaluate(DRAWN)
    found = {"seconds": time.perf_counter() - begun, "answer": page.evaluate(ASKED) / 1000}
    found |= {"serverCpu": seconds_of(server) - spent, "browserCpu": busy(client) - drawn}
    return {name: round(value, 2) for name, value in found.items()}


if __name__ == "__main__":
    main()
