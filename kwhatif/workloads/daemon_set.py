"""DaemonSet: one pod for each node that its rules admit, with an affinity for the node's name, and its rolling update,
with or without a surge.

Upstream: pkg/controller/daemon/daemon_controller.go (also NodeShouldRunDaemonPod, podsShouldBeOnNode), update.go
(rollingUpdate), util/daemonset_util.go (AddOrUpdateDaemonPodTolerations); for taints that mirror a node's state
pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kwhatif.admission.response import Object
from kwhatif.api.core import PodSpec, Taint
from kwhatif.api.decode import convert
from kwhatif.api.selectors import RequiredNodeAffinity, find_untolerated_taints
from kwhatif.golang.parsing import int64
from kwhatif.versions import features_of
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, template_hash
from kwhatif.workloads.objects import (
    annotations_of,
    get_scaled_value,
    is_over,
    labels_of,
    name_of,
    same_template,
    section,
)
from kwhatif.workloads.replica_set import owned_by
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of

_ALWAYS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = (("network-unavailable", "NoSchedule"),)


def with_daemon_tolerations(spec: Object) -> list[Object]:
    """The tolerations of a pod spec and the added ones; one of the same key, effect and operator is replaced."""
    tolerations = [dict(toleration) for toleration in spec.get("tolerations") or ()]
    for key, effect in _ALWAYS + (_ON_HOST_NETWORK if spec.get("hostNetwork") else ()):
        added = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        for place, toleration in enumerate(tolerations):
            if _matching(toleration, added):
                tolerations[place] = added
                break
        else:
            tolerations.append(added)
    return tolerations


def _matching(one: Object, other: Object) -> bool:
    return all((one.get(key) or "") == (other.get(key) or "") for key in ("key", "operator", "effect", "value"))


_PREFIX = "node.kubernetes.io/"
_BY_CONDITION = {
    ("Ready", "False"): "not-ready",
    ("Ready", "Unknown"): "unreachable",
    ("MemoryPressure", "True"): "memory-pressure",
    ("DiskPressure", "True"): "disk-pressure",
    ("NetworkUnavailable", "True"): "network-unavailable",
    ("PIDPressure", "True"): "pid-pressure",
}


class DaemonDecision(NamedTuple):
    """Whether a pod should start on a node, and whether one that is there may stay."""

    run: bool
    stay: bool


class NodeCheck:
    """The rules of one daemon set's template, evaluated for many nodes."""

    def __init__(self, template: Object, *, comparison_operators: bool | None = None) -> None:
        spec = section(template, "spec")
        rules = {key: spec[key] for key in ("nodeName", "nodeSelector", "affinity") if spec.get(key)}
        rules["tolerations"] = with_daemon_tolerations(spec)
        self._rules = convert(rules, PodSpec)
        self._affinity = RequiredNodeAffinity.from_pod_spec(self._rules)
        if comparison_operators is None:
            comparison_operators = features_of().taint_toleration_comparison_operators
        self._operators = comparison_operators

    def __call__(self, node: Object) -> DaemonDecision:
        if self._rules.node_name not in (None, "", name_of(node)):
            return DaemonDecision(False, False)
        if not self._affinity.matches(labels_of(node), name_of(node)):
            return DaemonDecision(False, False)
        taints = taints_of(node)
        if not self._has_untolerated(taints, "NoSchedule", "NoExecute"):
            return DaemonDecision(True, True)
        return DaemonDecision(False, not self._has_untolerated(taints, "NoExecute"))

    def _has_untolerated(self, taints: list[Taint], *effects: str) -> bool:
        tolerations = self._rules.tolerations or ()
        return bool(find_untolerated_taints(taints, tolerations, effects, comparison_operators=self._operators))


def taints_of(node: Object) -> list[Taint]:
    """The taints of a node, with those that its conditions imply, should they be missing (as in a hand-written
    snapshot).
    """
    spec = section(node, "spec")
    taints = convert(spec.get("taints") or [], list[Taint])
    states = [(item.get("type"), item.get("status")) for item in section(node, "status").get("conditions") or ()]
    keys = [_BY_CONDITION[state] for state in states if state in _BY_CONDITION]
    if spec.get("unschedulable"):
        keys.append("unschedulable")
    present = {(taint.key, taint.effect) for taint in taints}
    return taints + [
        Taint(key=_PREFIX + key, effect="NoSchedule") for key in keys if (_PREFIX + key, "NoSchedule") not in present
    ]


REVISION = "controller-revision-hash"
GENERATION = "pod-template-generation"
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


def make_daemon_set(daemon_set: Object, nodes: Sequence[Object], making: ObjectCreator) -> None:
    template = section(daemon_set, "spec", "template")
    revision, generation = template_hash(template), generation_of(daemon_set)
    homes = homes_of(daemon_set, nodes)
    making.pods_of(daemon_set, len(homes), lambda place: daemon_pod(daemon_set, homes[place], revision, generation))


def homes_of(daemon_set: Object, nodes: Sequence[Object]) -> list[str]:
    """The names of the nodes that should have a pod."""
    check = NodeCheck(section(daemon_set, "spec", "template"))
    return [name_of(node) for node in nodes if check(node).run]


def daemon_pod(daemon_set: Object, node: str, revision: str, generation: str) -> Object:
    """The pod for a node. The terms of a required node affinity, already met by the node, give way to its name."""
    pod = pod_from_template(section(daemon_set, "spec", "template"), daemon_set)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["labels"] = {**metadata.get("labels", {}), GENERATION: generation, REVISION: revision}
    spec["tolerations"] = with_daemon_tolerations(spec)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = section(spec, "affinity")
    node_affinity = section(affinity, "nodeAffinity")
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    affinity["nodeAffinity"] = node_affinity
    spec["affinity"] = affinity
    return pod


def generation_of(daemon_set: Object) -> str:
    """How often the template was changed, counted from one, as the API server records it."""
    return annotations_of(daemon_set).get(_GENERATION_ANNOTATION) or "1"


def target_of(pod: Object) -> str:
    """The node that a daemon set's pod is on or is meant for; empty if that is unknown."""
    spec = section(pod, "spec")
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = section(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and field.get("values"):
                return str(field["values"][0])
    return ""


@dataclass
class DaemonSetRollout(Rollout):
    """``wanted`` holds what the new template wants of each node, in the order of the nodes."""

    daemon_set: Object
    revision: str
    generation: str
    changed: bool
    wanted: dict[str, DaemonDecision]

    @classmethod
    def from_objects(
        cls, old: Object, new: Object, pods: Sequence[Object], nodes: Sequence[Object], admit: Admit
    ) -> DaemonSetRollout:
        was, is_ = section(old, "spec", "template"), section(new, "spec", "template")
        members = [member_of(pod, labels_of(pod).get(REVISION, "")) for pod in owned_by(new, pods)]
        for member in members:
            member.home = target_of(member.pod)
        changed = not same_template(was, is_)
        revision, generation = template_hash(is_), generation_of(old)
        if changed:
            number = int64(generation)
            generation = generation if number is None else str(number + 1)
        elif members:
            newest = max(members, key=lambda member: (_generation(member), _creation_time_of(member)))
            revision = newest.revision
        check = NodeCheck(is_)
        wanted = {name_of(node): check(node) for node in nodes}
        mixed = changed or any(member.revision != revision for member in members)
        return cls(members, admit, new, revision, generation, mixed, wanted)

    # --- one pass of the controller

    def sync(self) -> bool:
        changed, refused = self._manage()
        if changed or refused or self._on_delete:
            return changed
        return self._roll()

    def _manage(self) -> tuple[bool, bool]:
        """Every node has the pods it should have, whatever their revision. Returns whether any was made, deleted or
        refused.
        """
        changed = refused = False
        by_node = self._by_node()
        for node, wanted in self.wanted.items():
            there = by_node.get(node, [])
            running = [m for m in there if m.active]
            over = [m for m in there if is_over(m.pod) and not m.terminating]
            if wanted.stay:
                going = over + self._surplus(running)
                missing = wanted.run and (not there or (bool(self._surge) and not running))
            else:
                going, missing = [m for m in there if not m.terminating], False
            for member in going:
                self.remove(member)
                changed = True
            if missing:
                made = self._make(node)
                changed, refused = changed or made, refused or not made
        for member in [m for m in self.members if m.home not in self.wanted and self._is_homeless(m)]:
            self.remove(member)
            changed = True
        return changed, refused

    def _surplus(self, running: list[RolloutPod]) -> list[RolloutPod]:
        """The pods of one node that are too many: all but the oldest; with a surge, of each revision."""
        running = sorted(
            running, key=lambda m: (not section(m.pod, "spec").get("nodeName"), _creation_time_of(m), m.name)
        )
        if not self._surge or len(running) <= 1:
            return running[1:]
        new = [m for m in running if m.revision == self.revision]
        old = [m for m in running if m.revision != self.revision]
        going = new[1:] + old[1:]
        if new and old and (not old[0].ready or new[0].available):
            going.append(old[0])
        return going

    def _roll(self) -> bool:
        surge, unavailable = self._limits
        return self._roll_in_first(surge) if surge else self._roll_out_first(unavailable)

    def _roll_out_first(self, most: int) -> bool:
        """Delete old pods as far as the limit allows; those that are not available do not count against it."""
        missing, broken, candidates = 0, [], []
        for _, new, old, single in self._nodes():
            if not single or bool(new) == bool(old):
                missing += 1
            elif new:
                missing += not new.available
            elif old and not old.available:
                broken.append(old)
                missing += 1
            elif old and missing < most:
                candidates.append(old)
        going = broken + candidates[: max(0, most - missing)]
        for member in going:
            self.remove(member)
        return bool(going)

    def _roll_in_first(self, most: int) -> bool:
        """Make new pods beside old ones as far as the surge allows, and delete the old whose successor is available."""
        surging, available = 0, 0
        going: list[RolloutPod] = []
        unwanted: list[RolloutPod] = []
        allowed: list[str] = []
        candidates: list[str] = []
        for node, new, old, single in self._nodes():
            if not single:
                surging += 1
                continue
            counted = old or new
            available += counted is not None and counted.available
            if old is None:
                continue
            runs = self.wanted.get(node, DaemonDecision(False, False)).run
            if new is not None:
                surging += not new.available
                going += [old] if new.available else []
            elif not runs:
                (unwanted if old.available else going).append(old)
            elif not old.available:
                allowed.append(node)
            elif surging < most:
                candidates.append(node)
        desired = sum(wanted.run for wanted in self.wanted.values())
        going += unwanted[: max(0, available - desired)]
        for member in going:
            self.remove(member)
        made = [self._make(node) for node in allowed + candidates[: max(0, most - surging)]]
        return bool(going) or any(made)

    # --- small parts

    @property
    def _on_delete(self) -> bool:
        return section(self.daemon_set, "spec", "updateStrategy").get("type") == "OnDelete"

    @property
    def _surge(self) -> int:
        return 0 if self._on_delete else self._limits[0]

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """Surge and unavailability among the nodes that should have a pod; both are rounded up."""
        rolling = {"maxUnavailable": 1} | section(self.daemon_set, "spec", "updateStrategy", "rollingUpdate")
        desired = sum(wanted.run for wanted in self.wanted.values())
        surge = get_scaled_value(rolling.get("maxSurge"), desired, up=True)
        unavailable = get_scaled_value(rolling["maxUnavailable"], desired, up=True)
        return surge, unavailable if surge or unavailable else 1

    def _by_node(self) -> dict[str, list[RolloutPod]]:
        found: dict[str, list[RolloutPod]] = {}
        for member in self.members:
            found.setdefault(member.home, []).append(member)
        return found

    def _nodes(self) -> Iterator[tuple[str, RolloutPod | None, RolloutPod | None, bool]]:
        """Each node that has a pod or should have one, its new and its old pod; False if there are more of either."""
        by_node = self._by_node()
        places = [node for node, wanted in self.wanted.items() if wanted.run or node in by_node]
        for node in places + sorted(by_node.keys() - self.wanted.keys()):
            there = [m for m in by_node.get(node, ()) if not m.terminating]
            new = [m for m in there if m.revision == self.revision]
            old = [m for m in there if m.revision != self.revision]
            if len(new) > 1 or len(old) > 1:
                yield node, None, None, False
            else:
                yield node, (new[0] if new else None), (old[0] if old else None), True

    def _make(self, node: str) -> bool:
        pod = daemon_pod(self.daemon_set, node, self.revision, self.generation)
        made = self.create(pod, self.revision)
        if made is not None:
            made.home = node
        return made is not None

    def _is_homeless(self, member: RolloutPod) -> bool:
        return not member.terminating and not section(member.pod, "spec").get("nodeName")

    def is_new(self, revision: str) -> bool:
        return self.changed and revision == self.revision

    def remaining_work(self) -> str:
        late = []
        for node, new, old, _ in self._nodes():
            runs = self.wanted.get(node, DaemonDecision(False, False)).run
            done = new is not None and new.available and old is None
            if self._on_delete:
                done = any(member is not None and member.available for member in (new, old))
            if runs and not done:
                late.append(node)
        return f"no updated and available pod on: {', '.join(late)}" if late else ""


def _generation(member: RolloutPod) -> int:
    return int64(labels_of(member.pod).get(GENERATION, "")) or 0


def _creation_time_of(member: RolloutPod) -> str:
    return str(section(member.pod, "metadata").get("creationTimestamp") or "")
