"""Pages for the browser: a report of every command on the samples, and pages of results made up."""

from __future__ import annotations

from pathlib import Path

from kwhatif.results.base import ClusterMap, Fidelity, MappedNode, MappedPod
from kwhatif.results.diff import ClusterUse, DecisionDiff, Side
from kwhatif.results.disruption import DrainedNode, DrainedPod, DrainResult
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
    "gang": f"place {SAMPLES}/training/pretrain.yaml --snapshot {SAMPLES}/training/cluster.yaml --feature-gates "
    "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true",
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
    "day": f"backtest data/recorded-day.jsonl.gz --policy {SAMPLES}/policies/most-allocated.yaml",
    "rightsize": f"rightsize --snapshot {SAMPLES}/usage/saves-40/cluster.json "
    f"--usage {SAMPLES}/usage/saves-40/usage.json --autoscale {SAMPLES}/usage/saves-40/groups.yaml --steps",
    "upgrade": f"upgrade --pool pool=batch --snapshot {SAMPLES}/upgrade/hangs.yaml --strategy gke-surge",
    "deschedule": f"deschedule --descheduler-policy {SAMPLES}/deschedule/policy.yaml {CLUSTER} --until-quiet",
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
                there=(True, True),
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
    return result.with_context(
        cluster_map=ClusterMap(
            states=("before", "after"),
            resources=("cpu", "memory", "pods"),
            nodes=tuple(there),
            asks=asks,
            pods=tuple(sorted(on, key=lambda pod: pod.pod)),
        )
    )


def _map_of(
    nodes: dict[str, int], pods: dict[str, tuple[int, tuple[int, int]]], states: tuple[str, str] = ("before", "after")
) -> ClusterMap:
    """Nodes of one pool with so many cores; pods with so many millicores and the place of their node in each state."""
    asks = sorted({cpu for cpu, _ in pods.values()})
    return ClusterMap(
        states=states,
        resources=("cpu", "pods"),
        nodes=tuple(
            MappedNode(node=name, pool="p", zone="z", room=(1000 * cores, 110), there=(True,) * len(states))
            for name, cores in nodes.items()
        ),
        asks=tuple((cpu, 1) for cpu in asks),
        pods=tuple(MappedPod(pod=pod, asks=asks.index(cpu), at=at) for pod, (cpu, at) in sorted(pods.items())),
    )


def drain_of_two_nodes() -> DrainResult:
    """Two nodes are drained: the pod of the first lands on the second one, and goes from there to the third."""
    moves = [("shop/web-1", "n0", "shop/web-1-r1", "n1"), ("shop/web-1-r1", "n1", "shop/web-1-r1-r1", "n2")]
    result = DrainResult(
        outcome=Outcome(good=True, verdict="2 of 2 nodes drained, 2 pods evicted"),
        nodes=(DrainedNode(node="n0", drained=True, evicted=1), DrainedNode(node="n1", drained=True, evicted=1)),
        pods=tuple(
            DrainedPod(pod=pod, node=node, outcome="evicted", turn=1, replacement=made, lands_on=to)
            for pod, node, made, to in moves
        ),
        fidelity=Fidelity(rules="1.36"),
    )
    return result.with_context(
        cluster_map=_map_of(
            {"n0": 8, "n1": 8, "n2": 48}, {"shop/web-1": (500, (0, -1)), "shop/web-1-r1-r1": (500, (-1, 2))}
        )
    )


def comparison_of_many_nodes() -> DecisionDiff:
    """Twelve nodes on which a pod goes to the next one in B, of ten of them a small one; on two, replicas swap."""
    outcome, fidelity = Outcome(good=True, verdict="13 of 13 pods placed"), Fidelity(rules="1.36")
    side = Side(label="policy a", outcome=outcome, placed=13, unplaced=0, fidelity=fidelity)
    use = ClusterUse(nodes=14, used=14, empty=0, pods=14, resources=())
    result = DecisionDiff(
        outcome=Outcome(good=False, verdict="14 of 14 decisions differ"),
        a=side,
        b=side,
        pods=14,
        cluster_a=use,
        cluster_b=use,
    )
    pods = {f"shop/job{n}-1": (4000 if n in (3, 7) else 100, (n, (n + 1) % 12)) for n in range(12)}
    pods |= {"shop/web-1": (100, (12, 13)), "shop/web-2": (100, (13, 12))}
    return result.with_context(cluster_map=_map_of({f"n{n}": 8 for n in range(14)}, pods, ("A", "B")))
