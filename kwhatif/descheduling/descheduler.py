"""One descheduling cycle: all deschedule plugins of all profiles, then all balance plugins.

Upstream: pkg/descheduler/descheduler.go (runDeschedulerLoop, runProfiles).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.selectors import parse_selector
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget
from kwhatif.descheduling.framework.assigned_pods import AssignedPods
from kwhatif.descheduling.framework.descheduler_policy import PluginArgs
from kwhatif.descheduling.framework.node_fit import NodeFit
from kwhatif.descheduling.framework.plugin import Handle, Plugin, PluginFailure, UsageData, Utilization
from kwhatif.descheduling.framework.pod_evictor import Eviction, Limits, PodEvictor, Review
from kwhatif.descheduling.framework.pod_protections import ProtectedObjects
from kwhatif.descheduling.plugins.default_evictor import DefaultEvictor, EvictorWorld
from kwhatif.descheduling.policy_reading import Profile, RunnablePolicy
from kwhatif.golang.formatting import go_quote
from kwhatif.results.disruption import PodVerdict
from kwhatif.versions import Features

LEAST_NODES = 2


class ClusterObjects(msgspec.Struct, frozen=True):
    """The cluster as the API server has it, which may ``review`` evictions. ``now`` is in nanoseconds since 1970."""

    nodes: Sequence[Node]
    pods: Iterable[Pod]
    now: int
    features: Features
    namespaces: Sequence[Namespace] = ()
    budgets: Sequence[PodDisruptionBudget] = ()
    claims: Sequence[PersistentVolumeClaim] = ()
    usage: UsageData = msgspec.field(default_factory=UsageData)
    review: Review | None = None


class PluginError(msgspec.Struct, frozen=True):
    """A plugin failed; the rest of the cycle went on."""

    profile: str
    plugin: str
    text: str


class Cycle(msgspec.Struct):
    """The outcome of a cycle. ``protected`` is profile -> pod -> reasons, as of the state before any eviction.

    ``skipped``: there were fewer than two ready nodes, so nothing was done.
    """

    evictions: Sequence[Eviction] = ()
    refused: Sequence[Eviction] = ()
    failed: Sequence[Eviction] = ()
    utilization: Sequence[Utilization] = ()
    errors: list[PluginError] = []
    protected: dict[str, dict[str, list[str]]] = {}
    by_node: dict[str, int] = {}
    by_namespace: dict[str, int] = {}
    nodes: Sequence[str] = ()
    skipped: bool = False


class Descheduler:
    """A policy on a cluster. One of these is good for one cycle, since evictions change its pods."""

    def __init__(self, policy: RunnablePolicy, world: ClusterObjects) -> None:
        self._policy, self._world = policy, world
        self._pods = AssignedPods(world.nodes, world.pods, world.features)
        self._fit = NodeFit(self._pods)
        selector = parse_selector(policy.policy.node_selector or "")
        self._nodes = [
            node for node in self._pods.all_nodes if node.is_ready and selector.matches(node.metadata.labels or {})
        ]
        self._runs: list[tuple[Profile, tuple[Handle, DefaultEvictor]]] = []
        own = policy.policy
        self._evictor = PodEvictor(
            self._pods,
            Limits(
                own.max_no_of_pods_to_evict_total,
                own.max_no_of_pods_to_evict_per_node,
                own.max_no_of_pods_to_evict_per_namespace,
            ),
            world.review,
        )

    def cycle(self, *, with_protected: bool = True) -> Cycle:
        """Run all plugins once. The protected pods are computed only on request."""
        if len(self._nodes) < LEAST_NODES:
            return Cycle(skipped=True)
        utilization: list[Utilization] = []
        runs = self._runs = [(profile, self._handle(profile, utilization)) for profile in self._policy.profiles]
        cycle = Cycle(nodes=[node.name for node in self._nodes])
        if with_protected:
            cycle.protected = {profile.name: self._protected_pods(evictor) for profile, (_, evictor) in runs}
        for profile, (handle, _) in runs:
            self._run(profile.deschedule, handle, cycle)
        for profile, (handle, _) in runs:
            self._run(profile.balance, handle, cycle)
        cycle.evictions, cycle.refused = self._evictor.evictions, self._evictor.refused
        cycle.failed = self._evictor.failed
        cycle.by_node = dict(sorted(self._evictor.by_node.items()))
        cycle.by_namespace = dict(sorted(self._evictor.by_namespace.items()))
        cycle.utilization = utilization
        return cycle

    def verdicts_on(self, pod: Pod) -> list[PodVerdict]:
        """Each plugin's verdict on a pod, in the order in which profiles and plugins ran. Requires that a cycle was
        run.
        """
        fields = {
            (eviction.profile, eviction.plugin): eviction
            for eviction in self._evictor.evictions
            if eviction.pod.key == pod.key
        }
        stopped = {
            (eviction.profile, eviction.plugin): eviction
            for eviction in (*self._evictor.refused, *self._evictor.failed)
            if eviction.pod.key == pod.key
        }
        by_plugin: list[PodVerdict] = []
        gone = False
        for point in ("deschedule", "balance"):
            for profile, (handle, evictor) in self._runs:
                reasons = evictor.refusals(pod)
                for plugin, args in profile.deschedule if point == "deschedule" else profile.balance:
                    key = profile.name, plugin.name
                    if key in fields:
                        gone, verdict, reason = True, "evicts", fields[key].reason
                    elif key in stopped:
                        limit = stopped[key].refusal or f"the limit by {stopped[key].limit} is reached"
                        verdict, reason = "refused", f"{stopped[key].reason}; {limit}"
                    elif gone:
                        verdict, reason = "gone", "another plugin has evicted it"
                    elif reasons:
                        verdict, reason = "protected", "; ".join(reasons)
                    else:
                        verdict, reason = "leaves", plugin(args, handle).why_not(pod)
                    by_plugin.append(
                        PodVerdict(profile=profile.name, plugin=plugin.name, verdict=verdict, reason=reason)
                    )
        return by_plugin

    def takes_part(self, pod: Pod) -> bool:
        """Whether the pod is on a node that the cycle looks at."""
        return any(node.name == pod.spec.node_name for node in self._nodes)

    def _run(self, plugins: Iterable[tuple[type[Plugin[Any]], PluginArgs]], handle: Handle, cycle: Cycle) -> None:
        for plugin, args in plugins:
            try:
                plugin(args, handle).run()
            except PluginFailure as error:
                name = plugin.name
                text = f"plugin {go_quote(name)} finished with error: {error}"
                cycle.errors.append(PluginError(handle.profile, name, text))

    def _handle(self, profile: Profile, utilization: list[Utilization]) -> tuple[Handle, DefaultEvictor]:
        world = self._world
        claims = {f"{claim.namespace}/{claim.name}": claim for claim in world.claims}
        evictor = DefaultEvictor(
            profile.evictor,
            EvictorWorld(
                pods=self._pods,
                fit=self._fit,
                namespaces={namespace.name: namespace for namespace in world.namespaces},
                objects=ProtectedObjects(claims, world.budgets),
                now=world.now,
                threshold=profile.threshold,
            ),
        )
        handle = Handle(
            profile=profile.name,
            policy=self._policy.policy,
            nodes=self._nodes,
            pods=self._pods,
            fit=self._fit,
            pod_evictor=self._evictor,
            evictor=evictor,
            now=world.now,
            usage=world.usage,
            utilization=utilization,
        )
        return handle, evictor

    def _protected_pods(self, evictor: DefaultEvictor) -> dict[str, list[str]]:
        by_pod: dict[str, list[str]] = {}
        for node in self._nodes:
            for pod in self._pods.of(node.name):
                reasons = evictor.refusals(pod)
                if reasons:
                    by_pod[pod.key] = sorted(reasons)
        return dict(sorted(by_pod.items()))
