"""Time scheduling pods that claim devices: one JSON line a workload.

    devices.py [--nodes N] [--devices D] [--pods P] [--workload NAME] [--repeat N] [--profile]

Every node has a slice of so many devices that differ in model, socket, driver version and serial number.
``selectors`` claims one or two of them by class and expression, ``alternatives`` prefers two of a kind and makes do
with one, ``partitions`` cuts each card into halves and quarters that share counters, and ``shared`` takes a part of
the bandwidth of devices that may be shared. ``never`` is, on the cluster that ``selectors`` leaves behind, the time
of one claim that can never fit, and how far the search for it went.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from engine import Run
from workloads import node, pod

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects, struct_for
from kwhatif.cluster.cluster import Cluster
from kwhatif.devices.claim_outcomes import plan_of
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

Spec = dict[str, Any]

DRIVER = "gpu.example.com"
MODELS = ("a100", "h100", "l4")
API = "resource.k8s.io/v1"
SELECTORS = (
    f"device.attributes['{DRIVER}'].model == 'a100'",
    f"device.attributes['{DRIVER}'].model in ['h100', 'a100']",
    f"device.attributes['{DRIVER}'].driverVersion.isGreaterThan(semver('1.9.0'))",
    f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0",
    f"'socket' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].socket == 0",
)


def _class() -> Spec:
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}}


def _slice(name: str, devices: list[Spec], part: str = "", **more: Any) -> Spec:
    pool = {"name": name, "generation": 1, "resourceSliceCount": more.pop("count", 1)}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, **({"devices": devices} if devices else {}), **more}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": f"{name}{part}"}, "spec": spec}


def _device(home: int, index: int) -> Spec:
    model = MODELS[(home + index // 4) % len(MODELS)]
    attributes = {
        "model": {"string": model},
        "socket": {"int": index % 2},
        "index": {"int": index},
        "serial": {"string": f"{home:05d}-{index}"},
        "driverVersion": {"version": "2.10.0" if home % 2 else "1.8.3"},
    }
    memory = {"a100": "40Gi", "h100": "80Gi", "l4": "24Gi"}[model]
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": {"memory": {"value": memory}}}


def _claim(index: int, request: Spec, constraints: list[Spec] | None = None) -> Spec:
    devices = {"requests": [{"name": "gpus", **request}], **({"constraints": constraints} if constraints else {})}
    metadata = {"name": f"claim-{index}", "namespace": "bench", "uid": f"claim-{index}"}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": devices}}


def _want(count: int, *selectors: str) -> Spec:
    some = [{"cel": {"expression": selector}} for selector in selectors]
    return {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, "selectors": some}


def _selectors(names: list[str], devices: int, pods: int) -> Iterator[Spec]:
    yield from (_slice(name, [_device(i, k) for k in range(devices)]) for i, name in enumerate(names))
    for index in range(pods):
        yield _claim(index, {"exactly": _want(1 + index % 2, SELECTORS[index % len(SELECTORS)])})


def _alternatives(names: list[str], devices: int, pods: int) -> Iterator[Spec]:
    yield from (_slice(name, [_device(i, k) for k in range(devices)]) for i, name in enumerate(names))
    same = [{"matchAttribute": f"{DRIVER}/socket"}]
    for index in range(pods):
        first = [{"name": "two", **_want(2, SELECTORS[0])}, {"name": "one", **_want(1)}]
        yield _claim(index, {"firstAvailable": first}, same)


def _partitions(names: list[str], devices: int, pods: int) -> Iterator[Spec]:
    for name in names:
        parts, sets = [], []
        for card in range(max(devices // 4, 1)):
            counters = f"card-{card}"
            sets.append({"name": counters, "counters": {"slices": {"value": "4"}}})
            for part, size in enumerate((2, 2, 1, 1)):
                used = [{"counterSet": counters, "counters": {"slices": {"value": str(size)}}}]
                attributes = {"slices": {"int": size}}
                parts.append({"name": f"part-{card}-{part}", "attributes": attributes, "consumesCounters": used})
        yield _slice(name, [], "-counters", count=2, sharedCounters=sets)
        yield _slice(name, parts, "-devices", count=2)
    for index in range(pods):
        size = 1 + index % 2
        yield _claim(index, {"exactly": _want(1, f"device.attributes['{DRIVER}'].slices == {size}")})


def _shared(names: list[str], devices: int, pods: int) -> Iterator[Spec]:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    for i, name in enumerate(names):
        some = [_device(i, k) for k in range(devices)]
        for each in some:
            each["allowMultipleAllocations"] = True
            each["capacity"] = {"bandwidth": {"value": "4Gi", "requestPolicy": policy}}
        yield _slice(name, some)
    for index in range(pods):
        want = _want(1) | {"capacity": {"requests": {"bandwidth": f"{1 + index % 3}Gi"}}}
        yield _claim(index, {"exactly": want})


WORKLOADS: dict[str, Callable[[list[str], int, int], Iterator[Spec]]] = {
    "selectors": _selectors,
    "alternatives": _alternatives,
    "partitions": _partitions,
    "shared": _shared,
}
"""Workload -> the slices and claims that go with so many nodes, devices a node, and pods."""

NEVER = {
    "no such device": ({"exactly": _want(1, f"device.attributes['{DRIVER}'].model == 'b200'")}, None),
    "more than any node has": ({"exactly": _want(9)}, None),
    "no four on one socket but for two": (
        {"exactly": _want(5, f"device.attributes['{DRIVER}'].index < 8")},
        [{"matchAttribute": f"{DRIVER}/socket"}],
    ),
    "all different": ({"exactly": _want(2)}, [{"matchAttribute": f"{DRIVER}/serial"}]),
}
"""Claims that can never fit on nodes with eight devices."""


def _pod(index: int) -> Pod:
    claims = [{"name": "gpus", "resourceClaimName": f"claim-{index}"}]
    return convert(pod(f"p{index}", "devices", extra={"resourceClaims": claims}), Pod)


def _objects(specs: Iterator[Spec], homes: list[Spec]) -> Objects:
    found = Objects()
    for raw in (*homes, _class(), *specs):
        struct = struct_for(raw["apiVersion"], raw["kind"])
        assert struct is not None
        found.add(convert(raw, struct))
    return found


def measure(workload: str, nodes: int, devices: int, pods: int, *, repeat: int, profile: bool) -> Spec:
    """The figures of one workload, the best of so many runs, each on a cluster built anew."""
    homes = [node(index) for index in range(nodes)]
    names = [home["metadata"]["name"] for home in homes]
    objects = _objects(WORKLOADS[workload](names, devices, pods), homes)
    setup = Setup(load_configuration(None, source=workload), features_of())
    waiting = [_pod(index) for index in range(pods)]
    if profile:
        profiler = cProfile.Profile()
        run = Run(objects, setup)
        profiler.enable()
        run.time(waiting)
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(30)
    best = min((Run(objects, setup).time(waiting) for _ in range(repeat)), key=lambda outcome: outcome.seconds)
    return {
        "name": f"devices-{workload}-{nodes}-{pods}",
        "nodes": nodes,
        "devices": nodes * devices,
        "pods": pods,
        "placed": best.placed,
        "seconds": round(best.seconds, 4),
        "podsPerSecond": round(pods / best.seconds, 1),
    }


def never(nodes: int, devices: int, pods: int) -> Iterator[Spec]:
    """One claim after the other that cannot fit, on a cluster where many others have their devices already."""
    homes = [node(index) for index in range(nodes)]
    names = [home["metadata"]["name"] for home in homes]
    more = (_claim(pods + i, request, constraints) for i, (request, constraints) in enumerate(NEVER.values()))
    objects = _objects(iter([*_selectors(names, devices, pods), *more]), homes)
    setup = Setup(load_configuration(None, source="never"), features_of())
    cluster = Cluster.load(objects, setup.features)
    driver = Driver(cluster, setup)
    for index in range(pods):
        driver.attempt(cluster.shapes.info(_pod(index)))
    for i, name in enumerate(NEVER):
        info = cluster.shapes.info(_pod(pods + i))
        start = time.perf_counter()
        attempt = driver.attempt(info)
        seconds = time.perf_counter() - start
        claim = cluster.devices.claims["bench", f"claim-{pods + i}"]
        outcomes = plan_of(cluster, [claim.spec]).outcomes.values()
        yield {
            "name": f"devices-never-{nodes}-{pods}",
            "claim": name,
            "placed": attempt.is_placed,
            "milliseconds": round(1000 * seconds, 1),
            "searches": len(outcomes),
            "steps": sum(outcome.steps for outcome in outcomes),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time scheduling pods that claim devices.")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--devices", type=int, default=8, help="of each node")
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--workload", choices=(*WORKLOADS, "never"), help="one of them only")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="best of N runs")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to standard error")
    asked = parser.parse_args()
    for workload in (asked.workload,) if asked.workload else (*WORKLOADS, "never"):
        if workload == "never":
            for figures in never(asked.nodes, asked.devices, asked.pods):
                print(json.dumps(figures), flush=True)
            continue
        figures = measure(workload, asked.nodes, asked.devices, asked.pods, repeat=asked.repeat, profile=asked.profile)
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
