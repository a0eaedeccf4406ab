"""Changes of a workload's manifest that might let all its pods run: candidates, each to be tried as a whole.

A change is made to the object as it stands in its file, so that its difference can be pasted there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from msgspec import to_builtins

from kwhatif.api.core import Container, Pod
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity, plain_quantity
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.results.amounts import format_count
from kwhatif.results.place import FailedCreate
from kwhatif.workloads.objects import integer, name_of, namespace_of

Body = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
MOST_SKEW = 3
"""How much more skew is tried."""

_TEMPLATES: Mapping[str, Sequence[str]] = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "Job", "ReplicationController"), ("spec", "template")),
}
"""Where a kind has the template of its pods."""

_SCALED = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"})
SPREAD, AFFINITY = "topologySpreadConstraints", "affinity"
_REQUIRED, _PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))


class WorkloadChange(msgspec.Struct, frozen=True):
    """A ``change`` in words, and the objects that it leaves; or nodes to add, as an edit has them. Of those ``about``
    the same one helps.
    """

    change: str
    about: str
    objects: Sequence[Body]
    add_nodes: Mapping[str, Any] | None = None


def added_nodes(count: int, like: str, pool: str = "") -> WorkloadChange:
    """So many nodes more, which are like one that is there, of a ``pool``."""
    words = f"add {format_count(count, 'node')} like {like}" + (f" ({pool})" if pool not in ("", like) else "")
    return WorkloadChange(words, f"nodes of {pool}", (), add_nodes={"count": count, "like": like})


def pod_spec_of(workload: Body) -> Body:
    """The spec of the pods that a workload makes, to be changed in place; empty for a kind that is not known."""
    way = _TEMPLATES.get(workload.get("kind", ""))
    return {} if way is None else section(workload, *way, "spec")


def changes_of_workload(
    workload: Body, suggested: Collection[str], fitting: int, *, stuck: bool, runs: bool, classes: Sequence[str]
) -> Iterator[WorkloadChange]:
    """The changes of a workload of which ``fitting`` pods run, the mildest first. Of rules about other pods those are
    tried that keep one of its pods from nodes, by the field that is ``suggested`` to be changed.

    ``runs``: it is in the cluster already; ``stuck``: its update waits. ``classes`` are priority classes that evict
    others, the lowest first.
    """
    if stuck:
        yield from _strategies(workload)
    rules = [*(_spreads(workload) if SPREAD in suggested else ())]
    rules += [*(_terms(workload) if AFFINITY in suggested else ())]
    for change in rules:
        yield change
        if runs and workload.get("kind") == "Deployment":
            # The rules of the pods that run keep new ones from nodes, too.
            yield _at_once(change)
    for name in classes:
        yield _edit(workload, f"run it as priority class {name}", "priority", lambda spec, name=name: _rank(spec, name))
    wanted = integer(section(workload, "spec").get("replicas"), 1)
    if workload.get("kind") in _SCALED and 0 < fitting < wanted:
        changed = deepcopy(workload)
        section(changed, "spec")["replicas"] = fitting
        yield WorkloadChange(f"run {format_count(fitting, 'replica')}, not {wanted}", "replicas", [changed])


def _at_once(change: WorkloadChange) -> WorkloadChange:
    """A change of the template for which all pods that run are replaced at once."""
    changed = [deepcopy(obj) for obj in change.objects]
    section(changed[0], "spec")["strategy"] = {"type": "Recreate"}
    return WorkloadChange(f"{change.change}; all pods at once (Recreate)", change.about, changed)


def _rank(spec: Body, name: str) -> None:
    spec["priorityClassName"] = name
    spec.pop("priority", None)


def _edit(workload: Body, change: str, about: str, edit: Any) -> WorkloadChange:
    changed = deepcopy(workload)
    edit(pod_spec_of(changed))
    return WorkloadChange(change, about, [changed])


def _strategies(workload: Body) -> Iterator[WorkloadChange]:
    """Make room for new pods by old ones: upstream's defaults of a Deployment surge first."""
    if workload.get("kind") != "Deployment":
        return
    for change, strategy in (
        (
            "replace its pods one by one, without surge",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        ),
        ("replace all pods at once (Recreate); none runs meanwhile", {"type": "Recreate"}),
    ):
        changed = deepcopy(workload)
        section(changed, "spec")["strategy"] = strategy
        yield WorkloadChange(change, "strategy", [changed])


def _spreads(workload: Body) -> Iterator[WorkloadChange]:
    """More skew, nodes with taints left out of the count, or a constraint that is a wish."""
    constraints = pod_spec_of(workload).get(SPREAD) or []
    for place, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        key, skew = constraint.get("topologyKey", ""), integer(constraint.get("maxSkew"), 1)

        def edit(spec: Body, place: int = place, **fields: Any) -> None:
            (spec.get(SPREAD) or [])[place].update(fields)

        about = f"spread {place}"
        if constraint.get("nodeTaintsPolicy", "Ignore") != "Honor":
            change = f"spread over {key} only where its pods tolerate the nodes (nodeTaintsPolicy: Honor)"
            yield _edit(workload, change, about, lambda spec, edit=edit: edit(spec, nodeTaintsPolicy="Honor"))
        for more in range(skew + 1, skew + MOST_SKEW + 1):
            change = f"raise maxSkew over {key} from {skew} to {more}"
            yield _edit(workload, change, about, lambda spec, edit=edit, more=more: edit(spec, maxSkew=more))
        change = f"prefer the spread over {key} (whenUnsatisfiable: ScheduleAnyway)"
        about += " softened"
        yield _edit(workload, change, about, lambda spec, edit=edit: edit(spec, whenUnsatisfiable="ScheduleAnyway"))


def _terms(workload: Body) -> Iterator[WorkloadChange]:
    """Required terms of affinity between pods: over nodes rather than wider, or preferred."""
    for side, words in (("podAntiAffinity", "anti-affinity"), ("podAffinity", "affinity")):
        for place, term in enumerate(_required_terms(pod_spec_of(workload), side)):
            key = term.get("topologyKey", "")
            if side == "podAntiAffinity" and key != HOSTNAME:
                yield _edit(
                    workload,
                    f"keep pods apart by node, not by {key}",
                    f"{side} {place}",
                    lambda spec, side=side, place=place: _required_terms(spec, side)[place].update(
                        topologyKey=HOSTNAME
                    ),
                )
            yield _edit(
                workload,
                f"prefer the {words} over {key}, in place of requiring it",
                f"{side} {place} softened",
                lambda spec, side=side, place=place: _soften(section(spec, AFFINITY, side), place),
            )


def _required_terms(spec: Body, side: str) -> list[Body]:
    return section(spec, AFFINITY, side).get(_REQUIRED) or []


def _soften(side: Body, place: int) -> None:
    """A required term becomes a preferred one of the highest weight."""
    terms = side.pop(_REQUIRED)
    term = terms.pop(place)
    side.update({_REQUIRED: terms} if terms else {})
    side.setdefault(_PREFERRED, []).append({"weight": 100, "podAffinityTerm": term})


def rules_that_differ(pod: Pod, edited: Pod) -> set[str]:
    """The fields with rules about other pods in which a suggested pod differs."""
    rules = {SPREAD} if _plain(pod.spec, SPREAD) != _plain(edited.spec, SPREAD) else set()
    for side in ("podAffinity", "podAntiAffinity"):
        was, then = (section(_plain(spec_owner.spec, AFFINITY), side) for spec_owner in (pod, edited))
        rules |= {AFFINITY} if was != then else set()
    return rules


def change_of_pod(workload: Body, change: str, pod: Pod, edited: Pod) -> WorkloadChange | None:
    """What a plugin suggests for one pod, as a change of the template; None where the template has no such field."""
    fields: Body = {}
    was, then = (_plain(side_pod.spec, "tolerations") or [] for side_pod in (pod, edited))
    # The others are those that the API server adds.
    tolerated = [entry for entry in then if entry not in was]
    for name in ("nodeSelector", "affinity"):
        before, after = (_plain(side_pod.spec, name) for side_pod in (pod, edited))
        if before != after:
            fields[name] = after
    requests = {
        container.name: _requests_that_differ(before, container)
        for before, container in zip(pod.spec.containers or (), edited.spec.containers or (), strict=True)
        if before != container and container.ports == before.ports
    }
    if not (fields or tolerated or requests):
        return None

    def edit(spec: Body) -> None:
        for name, value in fields.items():
            spec.pop(name, None)
            if value is not None:
                spec[name] = value
        if tolerated:
            spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerated]
        for container in spec.get("containers") or ():
            if container.get("name") in requests:
                written = container.setdefault("resources", {}).setdefault("requests", {})
                written.update(requests[container["name"]])

    return _edit(workload, change, change, edit)


def _requests_that_differ(before: Container, edited: Container) -> Body:
    """Those that change; the others stay as they are written."""
    was, then = (_plain(container.resources, "requests") or {} for container in (before, edited))
    return {name: amount for name, amount in then.items() if amount != was.get(name)}


def _plain(value: Any, name: str) -> Any:
    """A field of a typed object as manifests have it."""
    return None if value is None else to_builtins(value, enc_hook=plain_quantity).get(name)


def looser_budget(budget: PodDisruptionBudget) -> WorkloadChange:
    """A disruption budget that lets one pod go."""
    selector = to_builtins(budget.spec, enc_hook=plain_quantity).get("selector")
    changed = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": budget.name, "namespace": budget.namespace},
        "spec": {"selector": selector, "maxUnavailable": 1},
    }
    return WorkloadChange(f"set maxUnavailable: 1 in PodDisruptionBudget {budget.name}", "budget", [changed])


def with_more_replicas(workload: Body) -> WorkloadChange:
    """A workload of the cluster with one replica more."""
    changed = {key: value for key, value in deepcopy(workload).items() if key != "status"}
    spec = section(changed, "spec")
    spec["replicas"] = number = integer(spec.get("replicas"), 1) + 1
    name = f"{workload.get('kind')} {namespace_of(workload)}/{name_of(workload)}"
    return WorkloadChange(f"run {format_count(number, 'replica')} of {name}", "replicas", [changed])


_QUOTA = re.compile(
    r"exceeded quota: (?P<name>\S+), requested: (?P<asks>\S+), used: (?P<used>\S+), limited: (?P<most>\S+)"
)


def change_of_quota(
    failed: FailedCreate, namespace: str, quotas: Sequence[Body], more: WorkloadChange | None = None
) -> WorkloadChange | None:
    """The quota with room for the pods that a controller could not create; None where it was not a quota.

    ``more`` has quotas that are raised already: the API server names what is exceeded first.
    """
    match = _QUOTA.search(failed.message)
    if match is None:
        return None
    key = namespace, match["name"]
    raised_before = [] if more is None else list(more.objects)
    bodies = {(namespace_of(body), name_of(body)): body for body in (*quotas, *raised_before)}
    if key not in bodies:
        return None
    quota = bodies[key]
    changed, raised = deepcopy(quota), []
    asks, used = (_amounts(match[group]) for group in ("asks", "used"))
    hard = section(changed, "spec", "hard")
    for name, amount in asks.items():
        before = hard.get(name)
        needed = used.get(name, 0) + amount * failed.pods
        binary = name.endswith(("memory", "storage"))
        text = str(Quantity.from_milli(needed) if needed % 1000 else Quantity.from_units(needed // 1000, binary=binary))
        hard[name] = text
        raised.append(f"{name} from {before} to {text}")
    changed.pop("status", None)
    words = f"raise quota {match['name']}: {', '.join(raised)}"
    if more is not None:
        again = bool(raised_before) and quota is raised_before[-1]
        words = f"{more.change}, {', '.join(raised)}" if again else f"{more.change}; {words}"
    return WorkloadChange(words, "quota", [*(body for body in raised_before if body is not quota), changed])


def _amounts(text: str) -> dict[str, int]:
    """``cpu=2,pods=3`` in thousandths."""
    pairs = (pair.partition("=") for pair in text.split(","))
    return {name: Quantity.parse(value).milli_value() for name, _, value in pairs if value}
