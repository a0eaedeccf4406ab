"""Draw anew the picture of a page that README and the site begin with: python .ci/map_picture.py

Makes the page of the sample cluster, opens it in Chromium (.ci/chromium says which) and keeps the top of it as
docs/map.png.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "map.png"
COMMAND = (
    "place samples/manifests/web.yaml samples/manifests/urgent.yaml samples/manifests/too-big.yaml "
    "--snapshot samples/cluster"
)
WIDTH, HEIGHT = 1200, 850


def main() -> None:
    chromium = subprocess.run([ROOT / ".ci/chromium"], check=True, capture_output=True, encoding="utf-8").stdout.strip()
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        words = [sys.executable, "-m", "kwhatif", *COMMAND.split(), "--report", f"html={page}"]
        subprocess.run(words, cwd=ROOT, check=False, capture_output=True)
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000")
        shot = (f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}")
        subprocess.run([chromium, *options, *shot, page.as_uri()], check=True, capture_output=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
