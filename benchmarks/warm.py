"""Time a question about a cluster that is loaded already: one JSON line.

    warm.py [--nodes N] [--pods P] [--questions Q] [--profile]

The cluster is the one of gate.py. It is loaded once; then a Deployment of ten is placed on it again and again, by the
Python API as by a command: manifest, admission, controllers, scheduler, verdict. ``medianMilliseconds`` and
``p99Milliseconds`` are of the questions after the first, which is ``firstMilliseconds``.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gate import deployment, write
from load import _peak_mebibytes


def measure(path: Path, questions: int) -> dict[str, Any]:
    import kwhatif

    started = time.perf_counter()
    snapshot = kwhatif.load_snapshot([str(path)])
    loaded = time.perf_counter()
    times, nodes = [], set[str]()
    for number in range(questions + 1):
        manifest = deployment(f"new{number % 3}", "team-1", 10, "1.0")
        begun = time.perf_counter()
        result = kwhatif.place([manifest], snapshot=snapshot, kubernetes_version="1.36")
        times.append((time.perf_counter() - begun) * 1000)
        assert all(each.node for each in result.placements), result.verdict
        nodes.update(each.node or "" for each in result.placements)
    first, *rest = times
    rest.sort()
    return {
        "questions": questions,
        "placed": len(result.placements),
        "nodes": len(nodes),
        "loadSeconds": round(loaded - started, 3),
        "firstMilliseconds": round(first, 1),
        "medianMilliseconds": round(statistics.median(rest), 1),
        "p99Milliseconds": round(rest[int(len(rest) * 0.99)], 1),
        "peakMemoryMiB": _peak_mebibytes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), arguments.nodes, arguments.pods, 0)
        profile = cProfile.Profile()
        if arguments.profile:
            profile.enable()
        found = measure(Path(name) / "cluster.json", arguments.questions)
        profile.disable()
        if arguments.profile:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
