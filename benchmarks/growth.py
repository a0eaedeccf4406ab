"""Measure how the work of a command grows with the number of objects of each kind: a JSON line for each.

    growth.py [--size 1000] [--only ConfigMap] [--command manifests]

Each list is made of so many objects, and of twice as many; ``exponent`` is that of the processor time by which the two
differ, user time alone, 1 for work that grows in a line. Each measurement is a process of its own, in which all is
imported. Lists that could be held against each other come after the kinds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.cli.running import run
from tests.fuzz.good_files import documents
from tests.growing_kinds import LISTS, container, kinds, many, pod

Json = dict[str, Any]
FILES = ("list", "pod", "cluster", "both")
COMMANDS = {
    "manifests": "place {list} {pod} --snapshot {cluster}",
    "expand": "expand {list} --snapshot {cluster}",
    "snapshot": "place {pod} --snapshot {both}",
    "unchanged": "gate {list} --base {list} --snapshot {both}",
}


def lists(only: str) -> Iterator[tuple[str, Callable[[int], list[Json]]]]:
    for name, obj in kinds().items():
        if only in name:
            yield name, lambda number, obj=obj: list(many(obj, number))  # type: ignore[misc]
    for name, made in LISTS.items():
        if only in name:
            yield name, made


def spent(folder: Path, command: str, objects: list[Json]) -> tuple[float, float]:
    """Seconds of the processor, and by how many MiB the most memory grew."""
    small = pod("small", {"containers": [container()]})
    files = {"list": objects, "pod": [small], "cluster": documents("cluster.yaml")}
    files["both"] = [*files["cluster"], *objects]
    for name, items in files.items():
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    words = command.format(**{name: folder / f"{name}.json" for name in files}).split()
    read, write = os.pipe()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF)
        run(*words)
        after = resource.getrusage(resource.RUSAGE_SELF)
        grown = (after.ru_maxrss - before.ru_maxrss) / (2**20 if sys.platform == "darwin" else 2**10)
        os.write(write, json.dumps([after.ru_utime - before.ru_utime, grown]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        seconds, memory = json.loads(file.read())
    os.wait()
    return seconds, memory


def measure(folder: Path, size: int, command: str, made: Callable[[int], list[Json]]) -> Json:
    (none, _), (one, _), (two, most) = map(partial(spent, folder, command), (made(1), made(size), made(2 * size)))
    exponent = math.log2((two - none) / (one - none)) if two > none and one > none else 0.0
    return {"exponent": round(exponent, 2), "userSeconds": round(two, 3), "memoryMiB": round(most, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how work grows with the number of objects of each kind.")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--only", default="", help="kinds with this in their names")
    parser.add_argument("--command", choices=COMMANDS, help="one of the commands; all by default")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for command in [asked.command] if asked.command else COMMANDS:
            spent(Path(directory), COMMANDS[command], list(many(kinds()["v1 ConfigMap"], 1)))
            run(*COMMANDS[command].format(**{each: f"{directory}/{each}.json" for each in FILES}).split())
            for name, made in lists(asked.only):
                figures = measure(Path(directory), asked.size, COMMANDS[command], made)
                print(json.dumps({"name": name, "command": command, "objects": 2 * asked.size, **figures}), flush=True)


if __name__ == "__main__":
    main()
