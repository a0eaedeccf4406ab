"""Replacement strategies by name, with the defaults of their documentation and sources.

GKE: https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies (surge 1, an hour for budgets
and grace periods, soak of an hour), .../docs/reference/rest/v1/UpgradeSettings. EKS:
https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html (phases, two nodes a zone, one at a
time, 15 minutes, a minute of soak, nodes in random order). AKS:
https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling, and AgentPoolUpgradeSettings of its API (maxSurge
10% rounded up, maxUnavailable 0, drainTimeoutInMinutes 30, nodeSoakDurationInMinutes 0). Cluster API:
https://cluster-api.sigs.k8s.io/developer/core/controllers/machine-deployment, drainRetryInterval of
internal/controllers/machine/machine_controller.go (20 s). Karpenter: https://karpenter.sh/docs/concepts/disruption,
evictionQueueMaxDelay of pkg/controllers/node/termination/terminator/eviction.go (each pod after 100 ms, then twice as
long up to 10 s).

How often GKE, EKS and AKS retry an eviction that a budget refuses is documented nowhere: every 5 s is assumed, as
kubectl drain does it (k8s.io/kubectl/pkg/drain/drain.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.errors import UsageError

AfterTimeout = Literal["force", "fail"]
DeletePolicy = Literal["Random", "Newest", "Oldest"]


class ReplacementPlan(msgspec.Struct, frozen=True):
    """Numbers are of nodes, times are in seconds.

    ``surge`` nodes may be there beyond the size of the pool, ``unavailable`` may be missing. ``parallel`` nodes at most
    are drained at the same time, all that the other two allow if it is None. ``cordons_all``: all old nodes are
    cordoned before the first is drained; ``waits_for_all``: all new nodes are ready before that.

    A drain that takes longer than ``drain_timeout`` (None: forever) is ``after_timeout`` forced, or ends the upgrade.
    What a budget forbids is asked for again every ``retry`` seconds. A drained node stays for ``node_soak`` seconds,
    then it is deleted; with ``keeps_old`` all stay until ``pool_soak`` seconds after the last one was drained.

    ``avoids_blocked``: a node is not begun while a budget, or a pod's annotation, forbids an eviction there. Nodes go
    in the order of ``delete_policy``, Cluster API's; without one in that in which they are named.
    """

    name: str
    surge: int = 1
    unavailable: int = 0
    parallel: int | None = None
    cordons_all: bool = False
    waits_for_all: bool = False
    drain_timeout: float | None = None
    after_timeout: AfterTimeout = "force"
    retry: float = 5.0
    node_soak: float = 0.0
    keeps_old: bool = False
    pool_soak: float = 0.0
    avoids_blocked: bool = False
    delete_policy: DeletePolicy | None = None
    remarks: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for a plan that cannot replace anything."""
        if self.surge <= 0 and self.unavailable <= 0:
            raise UsageError("with no surge and no unavailable node, no node can ever be replaced")

    def with_values(self, **values: object) -> ReplacementPlan:
        """The plan with other values, those that are None left as they are."""
        known = self.__struct_fields__
        return replace(self, **{name: value for name, value in values.items() if value is not None and name in known})


def nodes_of(text: str, size: int, *, up: bool, option: str) -> int:
    """A number of nodes, or a share of the pool such as ``33%``, rounded ``up`` or down. Raises UsageError."""
    share = text.removesuffix("%")
    if not share.isdecimal() or len(share) > 9:
        raise UsageError(f"{option} {text}: expected a number of nodes, or a share such as 33%")
    if not text.endswith("%"):
        return int(text)
    exact = int(share) * size / 100
    return math.ceil(exact) if up else math.floor(exact)


MINUTE, HOUR = 60.0, 3600.0


def plan_of(strategy: str, size: int, zones: int) -> ReplacementPlan:
    """The plan of a strategy for a pool of ``size`` nodes in a number of ``zones``. Raises UsageError."""
    make = STRATEGIES.get(strategy)
    if make is None:
        raise UsageError(f"--strategy {strategy}: expected one of {', '.join(STRATEGIES)}")
    return make(size, zones)


def _surge(size: int, zones: int) -> ReplacementPlan:
    """Nothing but the numbers that are given: as kubectl drains, forever."""
    return ReplacementPlan("surge")


def _gke_surge(size: int, zones: int) -> ReplacementPlan:
    """maxSurge 1, maxUnavailable 0; budgets and grace periods are respected for an hour."""
    return ReplacementPlan("gke-surge", drain_timeout=HOUR)


def _gke_blue_green(size: int, zones: int) -> ReplacementPlan:
    """As many green nodes as blue ones; blue ones are drained one at a time and stay for an hour."""
    return ReplacementPlan(
        "gke-blue-green",
        surge=size,
        parallel=1,
        cordons_all=True,
        waits_for_all=True,
        drain_timeout=HOUR,
        keeps_old=True,
        pool_soak=HOUR,
    )


def _eks(size: int, zones: int) -> ReplacementPlan:
    """One node at a time; up to two more nodes a zone; a drain of more than 15 minutes ends the update."""
    return ReplacementPlan(
        "eks",
        surge=max(2 * zones, 1),
        parallel=1,
        cordons_all=True,
        drain_timeout=15 * MINUTE,
        after_timeout="fail",
        node_soak=MINUTE,
        remarks=(
            "nodes beyond the size of the pool, which EKS removes again at the end, are not made",
            "EKS takes old nodes in random order; here they go in that of the snapshot",
        ),
    )


def _aks(size: int, zones: int) -> ReplacementPlan:
    """Max surge 10%; a drain of more than 30 minutes fails the upgrade. A reimaged node counts as a new one."""
    return ReplacementPlan(
        "aks", surge=max(math.ceil(size / 10), 1), drain_timeout=30 * MINUTE, after_timeout="fail", retry=5.0
    )


def _capi(size: int, zones: int) -> ReplacementPlan:
    """MachineDeployment: maxSurge 1, maxUnavailable 0, no nodeDrainTimeout; a drain is tried again every 20 s."""
    return ReplacementPlan("capi", retry=20.0, delete_policy="Random")


def _karpenter(size: int, zones: int) -> ReplacementPlan:
    """Drift: a budget of 10% of the nodes; replacements first; blocked nodes are not begun, and nothing is forced."""
    return ReplacementPlan("karpenter", surge=max(math.ceil(size / 10), 1), avoids_blocked=True, retry=10.0)


STRATEGIES: dict[str, Callable[[int, int], ReplacementPlan]] = {
    "surge": _surge,
    "gke-surge": _gke_surge,
    "gke-blue-green": _gke_blue_green,
    "eks": _eks,
    "aks": _aks,
    "capi": _capi,
    "karpenter": _karpenter,
}
