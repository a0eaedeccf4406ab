"""Draw anew the pictures of pages in README, on the site and in the how-to of serve: python .ci/map_picture.py

Makes the page of the sample cluster, and asks a server of it, opens them in Chromium (.ci/chromium says which) and
keeps the top of each as docs/map.png, docs/serve.png and docs/serve-compare.png.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = (
    "place samples/manifests/web.yaml samples/manifests/urgent.yaml samples/manifests/too-big.yaml "
    "--snapshot samples/cluster"
)
SIZE = 1200, 850
DRAINED = {"drain": ["general-a-1"]}
COMPARED = {"left": DRAINED, "right": {"removeNode": ["topology.kubernetes.io/zone=eu-west-1a"]}}
SERVED = {"serve.png": DRAINED, "serve-compare.png": COMPARED}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        words = [sys.executable, "-m", "kwhatif", *COMMAND.split(), "--report", f"html={page}"]
        subprocess.run(words, cwd=ROOT, check=False, capture_output=True)
        take(page.as_uri(), "docs/map.png", SIZE)
    with served() as address:
        for name, asked in SERVED.items():
            take(f"{address}/#{urllib.parse.quote(json.dumps(asked))}", f"docs/{name}", (1000, 760))


def take(address: str, picture: str, size: tuple[int, int]) -> None:
    """Keep the top of a page."""
    chromium = subprocess.run([ROOT / ".ci/chromium"], check=True, capture_output=True, encoding="utf-8").stdout.strip()
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000")
    shot = (f"--window-size={size[0]},{size[1]}", f"--screenshot={ROOT / picture}")
    subprocess.run([chromium, *options, *shot, address], check=True, capture_output=True)
    print(f"{picture}: {(ROOT / picture).stat().st_size} bytes")


@contextmanager
def served() -> Iterator[str]:
    """The address of a server of the sample cluster."""
    words = [sys.executable, "-m", "kwhatif", "serve", "--snapshot", "samples/cluster", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = re.findall(r"http://\S+", server.stderr.readline())[0].rstrip("/")
        while not is_ready(address):
            pass
        try:
            yield address
        finally:
            server.terminate()


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz") as reply:
            return bool(reply.status == 200)
    except urllib.error.URLError:
        return False


if __name__ == "__main__":
    main()
