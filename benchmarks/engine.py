"""Time the scheduling loop alone: one JSON line a scenario.

    engine.py SCENARIO.json... [--all-nodes] [--repeat N] [--profile]

A scenario is one in the format of docs/contributing/conformance.md, alone in its file; workloads.py makes some. Reading
the file and building the cluster are ``loadSeconds``; ``seconds`` are for scheduling all pods one after the
other, with up to three attempts each, victims leaving in between. Several scenarios run in a process each, so
that ``peakMemoryMiB`` is about one of them.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Objects
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.load import decode_objects
from kwhatif.versions import features_of


class Scenario(msgspec.Struct):
    name: str
    objects: list[msgspec.Raw]
    pods: list[msgspec.Raw]
    config: dict[str, Any] | None = None


@dataclass
class Outcome:
    """What became of one run over all pods."""

    seconds: float
    placed: int
    victims: int


class Run:
    """A cluster with its scheduler process, built anew for each repetition, so that every one starts cold."""

    def __init__(self, objects: Objects, setup: Setup) -> None:
        self.cluster = Cluster.load(objects, setup.features)
        self._driver = Driver(self.cluster, setup)
        self._driver.set_up_all()
        gc.collect()

    def time(self, pods: Sequence[Pod]) -> Outcome:
        placed = victims = 0
        started = time.perf_counter()
        for pod in pods:
            attempts = self._driver.schedule_with_preemption(self.cluster.shapes.info(pod))
            placed += attempts[-1].is_placed
            victims += sum(len(attempt.victims_to_evict) for attempt in attempts if attempt.nominated)
        return Outcome(time.perf_counter() - started, placed, victims)


def measure(path: Path, *, all_nodes: bool, repeat: int, profile: bool) -> dict[str, Any]:
    """The figures of one scenario; with ``profile``, where the time goes is printed to standard error."""
    started = time.perf_counter()
    scenario = msgspec.json.decode(path.read_bytes(), type=Scenario)
    objects = decode_objects(scenario.objects)
    pods = [decode_json(raw, Pod) for raw in scenario.pods]
    setup = Setup(load_configuration(scenario.config, source=scenario.name), features_of(), all_nodes=all_nodes)
    run = Run(objects, setup)
    load_seconds = time.perf_counter() - started
    nodes, bound = len(run.cluster), sum(1 for _ in run.cluster.pods())
    if profile:
        best = _profiled(run, pods)
    else:
        best = run.time(pods)
        for _ in range(repeat - 1):
            best = min(best, Run(objects, setup).time(pods), key=lambda outcome: outcome.seconds)
    return {
        "name": scenario.name,
        "nodes": nodes,
        "bound": bound,
        "pods": len(pods),
        "placed": best.placed,
        "victims": best.victims,
        "seconds": round(best.seconds, 4),
        "podsPerSecond": round(len(pods) / best.seconds, 1) if pods else 0.0,
        "loadSeconds": round(load_seconds, 3),
        "peakMemoryMiB": round(_peak_memory_mib(), 1),
    }


def _profiled(run: Run, pods: Sequence[Pod]) -> Outcome:
    profiler = cProfile.Profile()
    profiler.enable()
    outcome = run.time(pods)
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(30)
    return outcome


def _peak_memory_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the scheduling loop alone.")
    parser.add_argument("scenarios", nargs="+", type=Path, metavar="SCENARIO.json")
    parser.add_argument("--all-nodes", action="store_true", help="score all nodes instead of a sample")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="best of N runs")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to standard error")
    asked = parser.parse_args()
    if len(asked.scenarios) == 1:
        figures = measure(asked.scenarios[0], all_nodes=asked.all_nodes, repeat=asked.repeat, profile=asked.profile)
        print(json.dumps(figures), flush=True)
        return 0
    options = ["--repeat", str(asked.repeat)]
    options += ["--all-nodes"] if asked.all_nodes else []
    options += ["--profile"] if asked.profile else []
    codes = [
        subprocess.run([sys.executable, __file__, str(path), *options], check=False).returncode
        for path in asked.scenarios
    ]
    return max(map(abs, codes))


if __name__ == "__main__":
    sys.exit(main())
