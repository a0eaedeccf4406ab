"""The daemon set controller's reaction to nodes that are added or changed: its pods start there, or leave.

They are bound at once, since a daemon set's pod is meant for one node, and run there before other pods come. Upstream:
pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.admission.object_store import plain
from kwhatif.admission.response import Object, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.api.core import Condition, Node, Pod, PodStatus
from kwhatif.api.objects import section
from kwhatif.api.times import convert_object
from kwhatif.bounds import make_room
from kwhatif.cluster.unbound_spec import meant_for
from kwhatif.results.amounts import format_count
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.objects import display_name_of
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.workloads.daemon_set import NodeCheck, daemon_pod, generation_of
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import name_of, namespace_of


def start_daemons(draft: Draft, nodes: Sequence[Node], like: Node, origin: str) -> str:
    """The pods of daemon sets on new nodes; without the daemon sets themselves, those that the like node has.

    Returns how many there are, in words.
    """
    if "DaemonSet" in draft.snapshot.whole:
        made = _start(draft, [(None, node) for node in nodes], origin)
        return format_count(made, "daemon pod") if made else ""
    there = (pod for pod in draft.pods if pod.spec.node_name == like.name and not pod.metadata.deletion_timestamp)
    running = [pod for pod in there if _of_daemon_set(pod) and not pod.is_finished]
    make_room(len(nodes) * len(running), "daemon sets")
    for node in nodes:
        draft.add_pods([_retarget(pod, node.name) for pod in running])
    made = len(nodes) * len(running)
    return f"{format_count(made, 'daemon pod')} like those of {like.name}" if made else ""


def update_daemons(draft: Draft, changes: Sequence[tuple[Node, Node]], origin: str) -> str:
    """Start and remove pods where a change of the node matters to a daemon set."""
    if not draft.whole("DaemonSet"):
        return ""
    running = _running(draft)
    leaving = {
        key
        for daemon_set, before, (_, stay, node) in _check_daemon_sets(draft, changes)
        if before is not None and before[1] and not stay
        for key in running.get(_place(daemon_set, node), ())
    }
    draft.drop_pods(leaving)
    started = _start(draft, changes, origin)
    numbers = ((started, "started"), (len(leaving), "left"))
    return ", ".join(f"{format_count(number, 'daemon pod')} {what}" for number, what in numbers if number)


Check = tuple[bool, bool, str]
"""Whether a pod should start on a node, whether it may stay, and the node's name."""


def _check_daemon_sets(
    draft: Draft, changes: Sequence[tuple[Node | None, Node]]
) -> Iterator[tuple[Object, Check | None, Check]]:
    """Each daemon set's decision about each node, before and after."""
    plains = [(None if old is None else plain(old, "Node"), plain(new, "Node")) for old, new in changes]
    for daemon_set in draft.whole("DaemonSet"):
        check = NodeCheck(section(daemon_set, "spec", "template"))
        for old, new in plains:
            before = None if old is None else (*check(old), name_of(old))
            yield daemon_set, before, (*check(new), name_of(new))


def _start(draft: Draft, changes: Sequence[tuple[Node | None, Node]], origin: str) -> int:
    """Make the pods that are wanted now and were not before."""
    running = _running(draft)
    wanted = [
        (daemon_set, node)
        for daemon_set, before, (run, _, node) in _check_daemon_sets(draft, changes)
        if run and not (before is not None and before[0]) and _place(daemon_set, node) not in running
    ]
    if not wanted:
        return 0
    make_room(len(wanted), "daemon sets")
    server = ApiServer(build_object_store(draft.snapshot, {namespace_of(daemon_set) for daemon_set, _ in wanted}))
    draft.doubts.append(server.doubts)
    made: list[Pod] = []
    failures: dict[tuple[str, str], int] = {}
    revisions = {id(daemon_set): template_hash(section(daemon_set, "spec", "template")) for daemon_set, _ in wanted}
    for daemon_set, node in wanted:
        revision = revisions[id(daemon_set)]
        answer = server.create(daemon_pod(daemon_set, node, revision, generation_of(daemon_set)))
        if isinstance(answer, StoredObject):
            made.append(_bind(convert_object(answer.object, Pod), node))
        else:
            failed = display_name_of(daemon_set), f"Error creating: {answer.message}"
            failures[failed] = failures.get(failed, 0) + 1
    draft.add_pods(made)
    draft.failed += [
        FailedCreate(owner=owner, message=message, pods=number, origin=origin)
        for (owner, message), number in failures.items()
    ]
    return len(made)


Place = tuple[str, str, str]
"""Namespace and name of a daemon set, and a node."""


def _running(draft: Draft) -> dict[Place, list[str]]:
    """The pods of daemon sets by where they are."""
    pods_of: dict[Place, list[str]] = {}
    for pod in draft.pods:
        owner = pod.controller
        if owner is not None and owner.kind == "DaemonSet" and pod.spec.node_name:
            pods_of.setdefault((pod.namespace, owner.name or "", pod.spec.node_name), []).append(pod.key)
    return pods_of


def _place(daemon_set: Object, node: str) -> Place:
    return namespace_of(daemon_set), name_of(daemon_set), node


def _of_daemon_set(pod: Pod) -> bool:
    owner = pod.controller
    return owner is not None and owner.kind == "DaemonSet"


def _bind(pod: Pod, node: str) -> Pod:
    ready = Condition(type="Ready", status="True")
    return replace(pod, spec=replace(pod.spec, node_name=node), status=PodStatus(phase="Running", conditions=[ready]))


def _retarget(pod: Pod, node: str) -> Pod:
    """The daemon set's pod for another node: its name, and the node that its affinity names, differ."""
    owner = pod.controller
    name = f"{owner.name if owner else pod.name}-{node}"
    uid = f"{pod.identity}-{node}"
    metadata = replace(pod.metadata, name=name, generate_name=None, uid=uid, creation_timestamp=None)
    return _bind(replace(pod, metadata=metadata, spec=meant_for(pod.spec, node)), node)
