"""Time the page of a server in Chromium: the first picture, and the drain of a node by a click. One JSON line a round.

    page.py [--nodes 2000] [--pods 40000] [--rounds 5]

The cluster is the one of gate.py, known to the server when the page is opened. ``firstSeconds`` are from the navigation to the
frame after the map is drawn, ``drainSeconds`` from the click to the frame after the answer is; of both ``server`` is the time of
the request. ``load`` is that of the machine. Needs playwright and Chromium, as make test-browser installs them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from gate import write
from serve import Client

from tests.browser.conftest import CHROMIUM, QUIET, QUIETER

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
ASKED = "() => performance.getEntriesByType('resource').findLast((each) => each.name.includes('/v1/')).duration"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--pods", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), given.nodes, given.pods, 0)
        words = ["-m", "kwhatif", "serve", "--snapshot", f"{name}/cluster.json", "--listen", "127.0.0.1:0"]
        with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            port = int(re.findall(r":(\d+)$", server.stderr.readline().strip())[0])
            try:
                while Client(port).ask(0)[0] == 503:
                    time.sleep(0.2)
                look(f"http://127.0.0.1:{port}/", given.rounds)
            finally:
                server.terminate()


def look(address: str, rounds: int) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *QUIETER])
        for number in range(rounds):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto("about:blank")
            first, server = seconds(page, lambda: page.goto(address, wait_until="commit"), "snapshot")
            page.locator("#find").fill(f"n{number:05d}")
            page.keyboard.press("Enter")
            drain = page.locator("#panel").get_by_role("button", name="Drain")
            drain.wait_for()
            drained, drain_server = seconds(page, drain.click, "drained")
            row = {"firstSeconds": first, "server": server, "drainSeconds": drained, "drainServer": drain_server}
            print(json.dumps(row | {"load": round(os.getloadavg()[0], 1)}), flush=True)
            page.close()
        browser.close()


def seconds(page: Any, act: Callable[[], object], verdict: str) -> tuple[float, float]:
    """From an act to the frame after which its answer is drawn, and how long of it the server took."""
    begun = time.perf_counter()
    act()
    page.locator("#verdict", has_text=verdict).wait_for()
    page.wait_for_selector("html.ready", state="attached")
    page.evaluate(DRAWN)
    return round(time.perf_counter() - begun, 2), round(page.evaluate(ASKED) / 1000, 2)


if __name__ == "__main__":
    main()
