"""Time ``kwhatif review`` as a user runs it: three changes to the cluster of a working week, a JSON line each.

    review.py [--repeat N]

60 nodes, 894 pods, and what its team has in git; start-up and reading are included. ``seconds`` is the median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def double_cpu(deployment: Any) -> None:
    deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"


def forbid_evictions(budget: Any) -> None:
    budget["spec"] = {"minAvailable": 5, "selector": budget["spec"]["selector"]}


def scale_beyond_room(deployment: Any) -> None:
    deployment["spec"]["replicas"] = 12


CHANGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "checkout requests 1500m cpu instead of 750m": ("shop/deployment-checkout.json", double_cpu),
    "kafka's budget needs all of its 5 pods": ("data/poddisruptionbudget-kafka.json", forbid_evictions),
    "embeddings runs 12 replicas with a GPU each instead of 2": ("ml/deployment-embeddings.json", scale_beyond_room),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--text", action="store_true", help="print what is reviewed, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base, snapshot = Path(scratch) / "base", Path(scratch) / "week.json"
        make = [sys.executable, str(HERE / "working_week.py"), "--manifests", str(base), "-o", str(snapshot)]
        subprocess.run(make, check=True)
        for name, (file, change) in CHANGES.items():
            before = (base / file).read_text()
            manifest = json.loads(before)
            change(manifest)
            head = Path(scratch) / "head.json"
            head.write_text(json.dumps(manifest))
            old = Path(scratch) / "old.json"
            old.write_text(before)
            print(json.dumps({"change": name, **_timed(head, old, snapshot, options)}))


def _timed(head: Path, base: Path, snapshot: Path, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "kwhatif", "review", str(head), "--base", str(base), "--snapshot", str(snapshot)]
    seconds = []
    for _ in range(options.repeat):
        start = time.monotonic()
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds.append(time.monotonic() - start)
    if options.text:
        print(ran.stdout, file=sys.stderr)
    return {
        "code": ran.returncode,
        "verdict": ran.stdout.partition("\n")[0],
        "lines": ran.stdout.count("\n"),
        "seconds": round(statistics.median(seconds), 2),
    }


if __name__ == "__main__":
    main()
