"""The workloads of a working week's cluster, as their teams know them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from week_nodes import HOST, TEAMS, ZONE


@dataclass(frozen=True)
class App:
    """A workload. Cpu is in milli-CPU, memory in MiB; ``volume`` is the size of each pod's claim in GiB."""

    namespace: str
    name: str
    replicas: int
    cpu: int
    memory: int
    kind: str = "Deployment"
    pool: str = "general"
    priority: str = ""
    apart: str = ""
    spread: bool = False
    scaled: int = 0
    budget: tuple[str, int | str] | None = None
    volume: int = 0
    gpus: int = 0


# What is particular; the services of the teams are made of NAMES.
APPS = (
    App("shop", "storefront", 24, 500, 768, priority="customer-facing", spread=True, scaled=36, budget=("max", "25%")),
    App("shop", "checkout", 12, 750, 1024, priority="customer-facing", apart=HOST, scaled=24, budget=("max", 2)),
    App("shop", "cart", 9, 400, 768, spread=True, budget=("min", 6)),
    App("shop", "sessions", 6, 500, 2048, "StatefulSet", apart=HOST, budget=("max", 1), volume=20),
    App("payments", "ledger", 3, 1000, 2048, priority="customer-facing", apart=ZONE, budget=("max", 1)),
    App("payments", "gateway", 12, 500, 1024, priority="customer-facing", spread=True, scaled=18, budget=("min", 9)),
    App("payments", "postgres", 3, 2000, 8192, "StatefulSet", "general", "customer-facing", ZONE, volume=100),
    App("search", "query", 18, 600, 1536, pool="spot", spread=True, scaled=30, budget=("max", "20%")),
    App("search", "elastic", 6, 1500, 6144, "StatefulSet", apart=HOST, budget=("max", 1), volume=200),
    App("search", "indexer", 20, 350, 768, pool="spot", priority="batch"),
    App("data", "kafka", 5, 1500, 6144, "StatefulSet", apart=HOST, budget=("max", 1), volume=200),
    App("data", "zookeeper", 3, 300, 1024, "StatefulSet", apart=HOST, budget=("max", 1), volume=10),
    App("data", "clickhouse", 4, 1500, 4096, "StatefulSet", pool="arm", apart=HOST, volume=100),
    App("data", "stream-workers", 30, 300, 640, pool="spot", priority="batch"),
    App("ml", "embeddings", 2, 3000, 12_288, pool="gpu", gpus=1),
    App("ml", "features", 12, 400, 1024, pool="arm"),
    App("platform", "prometheus", 2, 1500, 6144, "StatefulSet", apart=HOST, budget=("max", 1), volume=100),
    App("platform", "ingress", 6, 500, 512, priority="system-cluster-critical", apart=HOST, budget=("max", 1)),
    App("kube-system", "coredns", 4, 100, 128, priority="system-cluster-critical", apart=HOST, budget=("max", 1)),
    App("kube-system", "ebs-csi-controller", 2, 60, 240, priority="system-cluster-critical", budget=("max", 1)),
)
NAMES = ("api", "worker", "mailer", "export", "admin", "events", "images", "reports", "auth", "sync", "audit", "rates")


def made_apps(draw: random.Random, pods: int) -> Iterator[App]:
    """Ordinary services of the teams, with so many pods in all."""
    sizes = ((100, 256), (200, 512), (250, 512), (400, 768), (500, 1024))
    names = [(team, name) for team in TEAMS for name in NAMES]
    counts = draw.choices((2, 3, 4, 6, 9), k=len(names))
    while sum(counts) != pods:
        counts[draw.randrange(len(counts))] += 1 if sum(counts) < pods else -1
        counts = [max(count, 1) for count in counts]
    for (team, name), replicas in zip(names, counts, strict=True):
        cpu, memory = draw.choice(sizes)
        yield App(
            *(team, f"{team}-{name}", replicas, cpu, memory),
            pool="arm" if name == "images" else "spot" if name in ("worker", "export") else "general",
            spread=replicas > 3 and draw.random() < 0.3,
            scaled=replicas * 2 if draw.random() < 0.2 else 0,
            budget=("max", 1) if replicas > 2 and draw.random() < 0.3 else None,
        )
