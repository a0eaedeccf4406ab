"""RemoveDuplicates: pods of the same owners and images that share a node while others have fewer.

Upstream: pkg/framework/plugins/removeduplicates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.selectors import RequiredNodeAffinity
from kwhatif.descheduling.framework.descheduler_policy import Namespaces, PluginArgs
from kwhatif.descheduling.framework.node_fit import required_affinity_matches, tolerates_all
from kwhatif.descheduling.framework.plugin import Plugin
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.descheduling.framework.scoped_plugin import PodScope, scope_problems


class RemoveDuplicatesArgs(PluginArgs):
    namespaces: Namespaces | None = None
    exclude_owner_kinds: tuple[str, ...] = ()


class _Owner(msgspec.Struct, frozen=True, order=True):
    """Upstream's podOwner: pods of one owner with other images are another owner's."""

    namespace: str
    kind: str
    name: str
    images: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}/{self.images}"


class _Found(msgspec.Struct):
    """``occurrences`` are all pods of an owner, ``duplicates`` those beside another one on their node."""

    occurrences: Counter[_Owner] = msgspec.field(default_factory=Counter)
    duplicates: dict[_Owner, dict[str, list[Pod]]] = {}


class RemoveDuplicates(Plugin[RemoveDuplicatesArgs]):
    name = "RemoveDuplicates"
    args_type = RemoveDuplicatesArgs
    point: ClassVar[str] = "balance"

    @classmethod
    def problems(cls, args: RemoveDuplicatesArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces)

    def run(self) -> None:
        search = self._find()
        landing: dict[bytes, list[str]] = {}
        for owner in sorted(search.duplicates, key=str):
            by_node = search.duplicates[owner]
            targets = self._targets((pod for pods in by_node.values() for pod in pods), landing)
            if targets < 2:
                continue
            at_most = math.ceil(search.occurrences[owner] / targets)
            for node, pods in sorted(by_node.items()):
                reason = (
                    f"{len(pods) + 1} pods of {owner.kind} {owner.namespace}/{owner.name} were on {node}, more than "
                    f"the {at_most} that each of {targets} nodes would have of {search.occurrences[owner]}"
                )
                # The first pod of a node is no duplicate.
                for pod in pods[at_most - 1 :]:
                    outcome = self.evict(pod, reason)
                    if outcome is EvictionOutcome.TOTAL:
                        return
                    if outcome is EvictionOutcome.NODE:
                        break

    def why_not(self, pod: Pod) -> str:
        outside = PodScope.of(self.args.namespaces).refusal(pod)
        if outside:
            return outside
        owners = pod.metadata.owner_references or ()
        if not owners or any(owner.kind in self.args.exclude_owner_kinds for owner in owners):
            return "it has no owner, or one of a kind that is excluded"
        return f"no more pods like it are on {pod.spec.node_name} than may stay there, or others of them go"

    def _find(self) -> _Found:
        scope = PodScope.of(self.args.namespaces)
        search = _Found()
        for node in self.handle.nodes:
            met: set[tuple[str, ...]] = set()
            for pod in self.handle.pods.running(node.name):
                owners = pod.metadata.owner_references or ()
                if not scope.holds(pod) or not owners or not pod.spec.containers or not self.handle.may_go(pod):
                    continue
                if any(owner.kind in self.args.exclude_owner_kinds for owner in owners):
                    continue
                images = sorted(container.image or "" for container in pod.spec.containers)
                mine = [
                    _Owner(pod.namespace, reference.kind or "", reference.name or "", "#".join(images))
                    for reference in owners
                ]
                search.occurrences.update(mine)
                keys = tuple(
                    sorted(f"{owner.namespace}/{owner.kind}/{owner.name}/{image}" for owner in mine for image in images)
                )
                if keys not in met:
                    met.add(keys)
                    continue
                for owner in mine:
                    search.duplicates.setdefault(owner, {}).setdefault(node.name, []).append(pod)
        return search

    def _targets(self, pods: Iterable[Pod], nodes_of: dict[bytes, list[str]]) -> int:
        """On how many nodes some of the pods could land; one that could land on a single node adds none."""
        targets: set[str] = set()
        for pod in pods:
            key = _constraints(pod)
            landing = nodes_of.get(key)
            if landing is None:
                landing = nodes_of[key] = _landing(pod, self.handle.nodes)
            targets.update(landing)
        return len(targets)


def _constraints(pod: Pod) -> bytes:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return msgspec.msgpack.encode((pod.spec.tolerations, pod.spec.node_selector, required))


def _landing(pod: Pod, nodes: Sequence[Node]) -> list[str]:
    """Where taints and affinity let the pod land, if that is more than one node. Cordoned or not is not looked at."""
    wanted = RequiredNodeAffinity.from_pod_spec(pod.spec)
    names = [
        node.name
        for node in nodes
        if tolerates_all(pod, node) and required_affinity_matches(wanted, node, if_unreadable=True)
    ]
    return names if len(names) > 1 else []
