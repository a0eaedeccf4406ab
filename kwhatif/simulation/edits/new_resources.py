"""Changes requests and limits of workloads: in their templates, and in the pods that run already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.request import deep_copy_json
from kwhatif.api.core import Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceList, ResourceRequirements
from kwhatif.api.kinds import TEMPLATES
from kwhatif.api.objects import part_of, section
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.node_pools import RequestSums, allocatable_of
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.session import PodToSchedule
from kwhatif.versions import features_of

Amounts = tuple[ResourceList, ResourceList]
"""Requests and limits that take the place of those of the same resources."""

NewResources = Mapping[str, Mapping[str, Amounts]]
"""Workload (``Kind/namespace/name``) -> container -> its new amounts."""


def set_resources(draft: Draft, new: NewResources, origin: str) -> dict[str, int]:
    """Give workloads and their unfinished pods other requests and limits.

    Pods keep their nodes. Where a node has no room any more, pods that ask for more than before leave it, those of the
    lowest priority first, and wait for another one. What a kubelet has said of a pod's resources is about what it asked
    for before, and is forgotten. Returns how many pods of each workload there were.
    """
    owners, counts = Owners(draft.snapshot), dict.fromkeys(new, 0)
    features = features_of()
    requests, grown = RequestSums(features), list[Pod]()
    specs: dict[tuple[int, str], PodSpec] = {}

    def change(pod: Pod) -> Pod:
        subject = owners.workload_of(pod)
        name = f"{subject.kind}/{subject.namespace}/{subject.name}"
        amounts = new.get(name)
        if amounts is None or pod.is_finished:
            return pod
        counts[name] += 1
        # Pods that share a spec go on sharing one.
        spec = specs.get((id(pod.spec), name))
        if spec is None:
            spec = specs[id(pod.spec), name] = _spec(pod.spec, amounts)
        later = replace(pod, spec=spec, status=_status(pod.status, amounts))
        if pod.spec.node_name:
            before, after = requests.requests_of(pod), requests.requests_of(later)
            if any(amount > before.get(resource, 0) for resource, amount in after.items()):
                grown.append(later)
        return later

    draft.change(Pod, change)
    for kind in TEMPLATES:
        _change_templates(draft, kind, new)
    _make_wait(draft, grown, requests, origin)
    return counts


def _make_wait(draft: Draft, grown: Sequence[Pod], requests: RequestSums, origin: str) -> None:
    """Pods that grew leave over-committed nodes, and are recreated."""
    if not grown:
        return
    homes = {pod.spec.node_name or "" for pod in grown}
    rooms = {node.name: allocatable_of(node) for node in draft.nodes if node.name in homes}
    asked: dict[str, Counter[str]] = {name: Counter() for name in rooms}
    for pod in draft.pods:
        home = pod.spec.node_name or ""
        if home in rooms and not pod.is_finished:
            asked[home].update(requests.requests_of(pod))
    leaving = []
    for pod in sorted(grown, key=lambda pod: (pod.spec.priority or 0, pod.key)):
        home = pod.spec.node_name or ""
        room, sums = rooms.get(home, {}), asked.get(home, Counter())
        amounts = requests.requests_of(pod)
        if any(amounts.get(resource, 0) and sums[resource] > room.get(resource, 0) for resource in ("cpu", "memory")):
            sums.subtract(amounts)
            leaving.append(pod)
    draft.moves_pods |= bool(leaving)
    draft.drop_pods({pod.key for pod in leaving})
    for pod in leaving:
        status = PodStatus(phase="Pending")
        metadata = replace(pod.metadata, deletion_timestamp=None)
        spec = replace(pod.spec, node_name=None)
        draft.add_waiting_pod(
            PodToSchedule(replace(pod, metadata=metadata, spec=spec, status=status), origin, ran_before=True)
        )


def _spec(spec: PodSpec, amounts: Mapping[str, Amounts]) -> PodSpec:
    def resize(container: Container) -> Container:
        given = amounts.get(container.name)
        if given is None:
            return container
        before = container.resources or ResourceRequirements()
        requests, limits = {**(before.requests or {}), **given[0]}, {**(before.limits or {}), **given[1]}
        return replace(container, resources=replace(before, requests=requests or None, limits=limits or None))

    inits = spec.init_containers
    return replace(
        spec,
        containers=[resize(container) for container in spec.containers or ()],
        init_containers=None if inits is None else [resize(init) for init in inits],
    )


def _status(status: PodStatus, amounts: Mapping[str, Amounts]) -> PodStatus:
    if status.container_statuses is None and status.init_container_statuses is None and status.resources is None:
        return status

    def forget(statuses: list[ContainerStatus] | None) -> list[ContainerStatus] | None:
        if statuses is None:
            return None
        return [
            replace(container_status, resources=None, allocated_resources=None)
            if container_status.name in amounts
            else container_status
            for container_status in statuses
        ]

    return replace(
        status,
        container_statuses=forget(status.container_statuses),
        init_container_statuses=forget(status.init_container_statuses),
        resources=None,
        allocated_resources=None,
        resize=None,
    )


def _change_templates(draft: Draft, kind: str, new: NewResources) -> None:
    """Templates of the workloads, and of the replica sets that are theirs, as plain values."""
    there = draft.snapshot.whole.get(kind)
    if there is None:
        return
    for place, obj in enumerate(there):
        amounts = new.get(_workload_of(obj))
        if amounts is None:
            continue
        changed = deep_copy_json(obj)
        part: Any = changed
        for step in TEMPLATES[kind]:
            part = part.get(step) or {}
        spec = section(part, "template", "spec")
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            given = amounts.get(container.get("name", ""))
            if given is not None:
                _put(container, given)
        there[place] = changed


def _workload_of(obj: Mapping[str, Any]) -> str:
    """The workload whose template this is: a deployment's replica sets have its own."""
    meta = part_of(obj, "metadata")
    namespace = meta.get("namespace") or "default"
    for owner in meta.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner.get('kind')}/{namespace}/{owner.get('name')}"
    return f"{part_of(obj, 'kind')}/{namespace}/{part_of(meta, 'name')}"


_SIDES: tuple[tuple[str, Callable[[Amounts], ResourceList]], ...] = (
    ("requests", lambda amounts: amounts[0]),
    ("limits", lambda amounts: amounts[1]),
)


def _put(container: dict[str, Any], sizes: Amounts) -> None:
    resources = dict(section(container, "resources"))
    for name, side in _SIDES:
        amounts = side(sizes)
        if amounts:
            before = dict(resources.get(name) or {})
            resources[name] = {**before, **{resource: str(amount) for resource, amount in amounts.items()}}
    container["resources"] = resources
