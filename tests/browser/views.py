"""Pages for the browser: a report of every command on the samples, and pages of results made up."""

from __future__ import annotations

from pathlib import Path

from kwhatif.results.base import ClusterMap, Fidelity, MappedNode, MappedPod
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement, PlaceResult
from tests.cli.running import run

SAMPLES = "../samples"
CLUSTER = f"--snapshot {SAMPLES}/cluster"
GATE = f"--snapshot {SAMPLES}/gate/snapshot.json --config {SAMPLES}/gate/rules-fail.yaml --now 2026-11-21T06:00:00Z"

COMMANDS = {
    "place": f"place {SAMPLES}/manifests/urgent.yaml {SAMPLES}/manifests/web.yaml {CLUSTER}",
    "pending": f"place {SAMPLES}/manifests/too-big.yaml {SAMPLES}/manifests/web.yaml {CLUSTER}",
    "timeline": f"place {SAMPLES}/manifests/urgent.yaml {SAMPLES}/manifests/web.yaml {CLUSTER} --timeline",
    "explain": f"explain {SAMPLES}/manifests/too-big.yaml {SAMPLES}/manifests/web.yaml {CLUSTER}",
    "diff": f"diff {CLUSTER} --policy default --policy {SAMPLES}/policies/most-allocated.yaml --replay all",
    "drain": f"drain general-a-1 --ignore-daemonsets --delete-emptydir-data --force {CLUSTER}",
    "capacity": f"capacity {SAMPLES}/manifests/database.yaml {CLUSTER}",
    "gate": f"gate {SAMPLES}/gate/head --base {SAMPLES}/gate/base {GATE}",
    "autoscale": f"autoscale plan {SAMPLES}/karpenter/web.yaml --catalogue {SAMPLES}/karpenter/catalogue.yaml "
    f"--snapshot {SAMPLES}/karpenter/cluster.yaml --consolidate",
    "pools": f"diff {SAMPLES}/karpenter/web.yaml --snapshot {SAMPLES}/karpenter/cluster.yaml --catalogue "
    f"{SAMPLES}/karpenter/catalogue.yaml --node-pools {SAMPLES}/karpenter/cluster.yaml --node-pools "
    f"{SAMPLES}/karpenter/leave-spot.yaml",
    "consolidation": f"explain n1 n4 --snapshot {SAMPLES}/karpenter/cluster.yaml --consolidation --catalogue "
    f"{SAMPLES}/karpenter/catalogue.yaml",
    "outage": f"outage {CLUSTER}",
    "chances": f"chances {SAMPLES}/manifests/web.yaml {CLUSTER} --trials 20 --workers 1",
    "sweep": f"sweep {SAMPLES}/sweep/training.yaml --replay all --space {SAMPLES}/sweep/space.yaml "
    f"--snapshot {SAMPLES}/sweep/cluster.yaml --workers 1",
    "backtest": f"backtest {SAMPLES}/cluster",
    "rightsize": f"rightsize --snapshot {SAMPLES}/usage/saves-40/cluster.json "
    f"--usage {SAMPLES}/usage/saves-40/usage.json --autoscale {SAMPLES}/usage/saves-40/groups.yaml --steps",
    "info": f"snapshot info {SAMPLES}/cluster",
}


def made(command: str, directory: Path) -> Path:
    """The report of a command, as its user gets it."""
    path = directory / "report.html"
    ran = run(*COMMANDS[command].split(), "--report", f"html={path}")
    assert path.exists(), ran.err
    return path


def large(nodes: int = 5_000, pods: int = 50_000) -> PlaceResult:
    """A cluster of the names and sizes that clouds have, before and after 1,000 pods more."""
    names = [f"ip-10-{n % 61}-{n % 251}-{n * 7 % 253}.{n}.eu-west-1.compute.internal" for n in range(nodes)]
    pools = ("general", "memory", "batch", "gpu")
    there = sorted(
        (
            MappedNode(
                node=name,
                pool=pools[number % 4],
                zone=f"eu-west-1{'abc'[number % 3]}",
                room=(15_890, 60_000 * 2**20, 58),
                closed="cordoned" if number % 500 == 0 else "",
            )
            for number, name in enumerate(names)
        ),
        key=lambda node: (node.zone, node.pool, node.node),
    )
    asks = tuple((cpu, memory * 2**20, 1) for cpu in (100, 250, 1000, 2000) for memory in (256, 1024, 4096))
    new = 1_000
    on = [
        MappedPod(
            pod=f"team-{number % 40}/service-{number % 700}-{number * 7919 % 10**9:x}-{number * 104729 % 28**4:05x}",
            asks=number % len(asks),
            at=(number * 31 % nodes if number >= new else -1, number * 31 % nodes),
        )
        for number in range(pods)
    ]
    placements = tuple(
        Placement(pod=pod.pod, outcome="placed", node=there[pod.at[1]].node, score=300 + number % 40, evaluated=500)
        for number, pod in enumerate(on[:new])
    )
    outcome = Outcome(good=True, verdict=f"{new} of {new} pods placed")
    result = PlaceResult(outcome=outcome, nodes=nodes, placements=placements, fidelity=Fidelity(rules="1.36"))
    result.set_cluster_map(
        ClusterMap(
            states=("before", "after"),
            resources=("cpu", "memory", "pods"),
            nodes=tuple(there),
            asks=asks,
            pods=tuple(sorted(on, key=lambda pod: pod.pod)),
        )
    )
    return result
