"""How large a report is and how long a browser takes to open it: 5,000 nodes and 50,000 pods unless told otherwise.

    python benchmarks/report.py [--nodes 5000] [--pods 50000]

Needs playwright and Chromium, as make test-browser installs them. Times are processor seconds of all the processes of
Chromium that draw pages, so other work on the machine adds little; the clock's stand beside them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kwhatif.commands.page import html_page
from tests.browser.conftest import CHROMIUM, QUIET, QUIETER
from tests.browser.views import large

STEPS = {
    "search": "() => { const f = document.getElementById('find'); f.focus(); f.value = 'service-69'; "
    "f.dispatchEvent(new Event('input')); }",
    "before": "() => { const s = document.getElementById('state'); s.value = '0'; "
    "s.dispatchEvent(new Event('input')); }",
    "open a node": "() => document.querySelector('details .link').click()",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    given = parser.parse_args()
    result = large(given.nodes, given.pods)
    began = time.process_time()
    text = html_page(result)
    print(f"rendered in {time.process_time() - began:.2f} s, {len(text.encode()) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "report.html"
        path.write_text(text, encoding="utf-8")
        open_in_browser(path)


def open_in_browser(path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *QUIETER])
        client = browser.new_browser_cdp_session()
        for number in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            before = busy(client)
            began = time.monotonic()
            page.goto(path.as_uri())
            page.wait_for_selector("html.ready", state="attached")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            wall = time.monotonic() - began
            print(f"opened {number + 1}: {busy(client) - before:.2f} s busy, {wall:.2f} s by the clock")
            for name, script in STEPS.items():
                before = busy(client)
                page.evaluate(script)
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                print(f"  {name}: {1000 * (busy(client) - before):.0f} ms busy")
            print(f"  elements: {page.evaluate('document.querySelectorAll(`*`).length')}")
            page.close()
        browser.close()


def busy(client: Any) -> float:
    processes = client.send("SystemInfo.getProcessInfo")["processInfo"]
    return sum(float(each["cpuTime"]) for each in processes if each["type"] == "renderer")


if __name__ == "__main__":
    main()
