"""The scheduler's cache: which pods run where, and what that leaves of each node.

Upstream: pkg/scheduler/backend/cache (cache.go, snapshot.go).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.cluster.changes import Changes
from kwhatif.cluster.claim_store import Devices
from kwhatif.cluster.creation_turns import CreationTurns
from kwhatif.cluster.node_infos import NodeInfos, extend_rows
from kwhatif.cluster.nominations import Nominations
from kwhatif.cluster.pod_group_states import GroupMemberships, PodGroupStates
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import Owners, PodInfo
from kwhatif.cluster.storage import Assumptions, Storage
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray
from kwhatif.cluster.unbound_pods import UnboundPods
from kwhatif.cluster.unlisted_terms import UnlistedTerms
from kwhatif.progress import track
from kwhatif.versions import Features

_COUNTED = (Node.__name__, Pod.__name__)

_SPARE_SHAPES = 1000
"""How many shapes of pods that are gone are kept at least."""


class Checkpoint(msgspec.Struct, frozen=True):
    """How a cluster stood: lengths of its journal and of the log of its tallies, copies of its columns."""

    journal: int
    log: int
    sums: Int64Array
    ports: BoolArray
    pods_on: list[list[PodInfo]]
    nominated: list[tuple[PodInfo, str]]
    storage: Assumptions
    node_order: IntpArray | None
    active: BoolArray
    pod_groups: GroupMemberships


class Cluster(NodeInfos):
    """The nodes, the pods on them, and all objects that plugins read.

    nominated   by node, the pods without a node that are to get room there
    pending     pods that came without a node and are not deleted
    creation_turns  which pods controllers have not made yet; None where all that are tried exist
    """

    def __init__(self, nodes: Sequence[Node], shapes: ShapeTable, objects: Objects | None = None) -> None:
        super().__init__(nodes, shapes)
        self.objects = objects or Objects()
        self.owners = Owners(self.objects)
        self.storage = Storage(self.objects)
        self.devices = Devices(self.objects, shapes.features)
        self.pod_groups = PodGroupStates(self.objects)
        self.unlisted = UnlistedTerms()
        self.nominated = Nominations()
        self.pending = UnboundPods()
        self.creation_turns: CreationTurns | None = None
        self._where: dict[str, tuple[PodInfo, int]] = {}
        self._uids: dict[str, str] | None = None
        self._elsewhere: dict[str, list[PodInfo]] = {}

    @classmethod
    def load(
        cls,
        objects: Objects,
        features: Features,
        queued: Callable[[Pod], bool] = lambda pod: True,
        shapes: ShapeTable | None = None,
    ) -> Cluster:
        """The cache of a cluster: its nodes and the unfinished pods bound to them; nominations of those ``queued``.

        ``shapes`` may be those of an earlier cluster. Without them what nodes and pods come to is worked out once for
        all copies of the objects.
        """

        def count() -> Cluster:
            return cls._of_pods(objects, ShapeTable(features) if shapes is None else shapes)

        def renew(cluster: Cluster, before: list[list[Any]]) -> Cluster:
            nodes, pods = before
            changes = Changes.between(nodes, pods, objects.list_all(Node), objects.list_all(Pod))
            too_many = len(cluster.shapes) > 2 * changes.pods + _SPARE_SHAPES
            return count() if too_many or changes.groups or not changes.are_few else cluster._follow(changes, objects)

        cluster = objects.share((cls, features), _COUNTED, count, renew).fork(alone=True) if shapes is None else count()
        cluster.objects = objects
        cluster.owners = objects.share(Owners, Owners.KINDS, lambda: Owners(objects))
        cluster.storage = objects.share(Storage, Storage.KINDS, lambda: Storage(objects)).fork()
        cluster.devices = Devices(objects, features)
        cluster.pod_groups.reread(objects)
        for pod in cluster.pending:
            if pod.status.nominated_node_name and queued(pod):
                try:
                    info = cluster.shapes.info(pod)
                except ValueError as error:
                    raise _about(pod, error) from None
                cluster.nominate(info, info.nominated)
        return cluster

    @classmethod
    def _of_pods(cls, objects: Objects, shapes: ShapeTable) -> Cluster:
        """The nodes and the unfinished pods, apart from all other objects."""
        cluster = cls(objects.list_all(Node), shapes)
        for pod in track(objects.list_all(Pod), "Setting up", "pods"):
            cluster._take(pod)
        return cluster._settle()

    def _take(self, pod: Pod) -> None:
        """Add a pod of the cluster as it is loaded, unless it has run its course."""
        if pod.is_finished:
            return
        try:
            if pod.spec.node_name:
                self.add(self.shapes.info(pod, bound=True), pod.spec.node_name)
                return
            if pod.spec.scheduling_group is not None:
                self.pod_groups.add(self.shapes.info(pod), pending=True)
            self.pending.add(pod)
        except ValueError as error:
            raise _about(pod, error) from None

    def _settle(self) -> Cluster:
        """All pods are there: what the first question would work out is worked out."""
        self.columns.encode()
        self._uids = None
        self._uids = dict(self.uids())
        self.journal.clear()
        return self

    def _follow(self, changes: Changes, objects: Objects) -> Cluster:
        """A copy after changes, which is as ``objects`` would be loaded."""
        twin = self.fork(alone=True)
        for pod in changes.gone:
            if (entry := twin.find(pod.identity)) is not None:
                twin.forget_all([entry[0]], entry[1])
            elif pod.spec.node_name:
                twin.forget_elsewhere(pod.identity, pod.spec.node_name)
            else:
                twin.pending.discard(pod.identity)
        for pod in changes.came:
            twin._take(pod)
        if changes.moved:
            twin.replace_nodes(objects.list_all(Node))
        elif changes.nodes:
            twin.columns = twin.columns.with_changed_nodes(changes.nodes)
        if not changes.places:
            twin.columns.encode()
            return twin
        twin._sort_pods(changes.places)
        return twin._settle()

    def _sort_pods(self, places: Mapping[str, int]) -> None:
        """Have all pods in the order in which they would be loaded: ``places`` by uid."""

        def place_of(info: PodInfo) -> int:
            return places[info.uid]

        self._where = {uid: self._where[uid] for uid in places if uid in self._where}
        self._elsewhere = {name: sorted(infos, key=place_of) for name, infos in self._elsewhere.items() if infos}
        self.pending = UnboundPods(sorted(self.pending, key=lambda pod: places[pod.identity]))
        for row in set(self.journal):
            self.pods_on[row] = sorted(self.pods_on[row], key=place_of)
            # Two pods of a node may have the same port, of which one has gone.
            self.ports[row] = False
            for info in self.pods_on[row]:
                if info.shape.ports:
                    self._set_ports(info.shape, row, used=True)

    # --- pods

    def add(self, info: PodInfo, node_name: str) -> None:
        """Add a pod that runs (or is assumed to run) on a node; for a node that does not exist it is remembered.

        Raises ValueError for a pod that already has a node.
        """
        if info.uid in self._where:
            raise ValueError(f"pod {info.key} is already on a node")
        if info.shape.spec.scheduling_group is not None:
            self.pod_groups.add(info)
        row = self.columns.row(node_name)
        if row is None:
            self._elsewhere.setdefault(node_name, []).append(info)
            return
        self.assume(info, row)

    def assume(self, info: PodInfo, row: int) -> None:
        """Count a pod on a node, as if it were bound already."""
        self._where[info.uid] = (info, row)
        pods = self.pods_on[row]
        self.pods_on[row] = [*pods, info]
        if info.shape.ports:
            self._set_ports(info.shape, row, used=True)
        self._count(info.shape, row, 1)

    def assume_all(self, infos: Sequence[PodInfo], row: int) -> None:
        """``assume`` several pods on one node."""
        if not infos:
            return
        for info in infos:
            self._where[info.uid] = (info, row)
        self.pods_on[row] = [*self.pods_on[row], *infos]
        for info in infos:
            if info.shape.ports:
                self._set_ports(info.shape, row, used=True)
        self._count_all(infos, row, 1)

    def forget_all(self, infos: Sequence[PodInfo], row: int) -> None:
        """Undo ``assume_all``, or have some of a node's pods leave; those that stay keep their order."""
        if not infos:
            return
        for info in infos:
            del self._where[info.uid]
        going = {info.uid for info in infos}
        self.pods_on[row] = [info for info in self.pods_on[row] if info.uid not in going]
        for info in infos:
            if info.shape.ports:
                self._set_ports(info.shape, row, used=False)
        self._count_all(infos, row, -1)

    def forget(self, uid: str) -> int:
        """Undo ``assume`` (also for bound pods that leave); returns the row. Raises KeyError."""
        info, row = self._where.pop(uid)
        pods = self.pods_on[row]
        place = next(i for i, other in enumerate(pods) if other.uid == uid)
        # The last pod takes the place of the one that goes, which upstream's order of ties shows.
        self.pods_on[row] = [*pods[:place], pods[-1], *pods[place + 1 : -1]] if place < len(pods) - 1 else pods[:-1]
        if info.shape.ports:
            self._set_ports(info.shape, row, used=False)
        self._count(info.shape, row, -1)
        return row

    def forget_elsewhere(self, uid: str, node_name: str) -> None:
        """Forget a pod that was added for a node which does not exist, if there is one."""
        if node_name in self._elsewhere:
            self._elsewhere[node_name] = [info for info in self._elsewhere[node_name] if info.uid != uid]

    def remove_pod(self, uid: str, *, deleted: bool = True) -> int:
        """Delete a pod: as ``forget``, and its device claims are released. Raises KeyError."""
        info, _ = self._where[uid]
        row = self.forget(uid)
        self.pending.discard(uid)
        self.devices.release(info.pod, deleted=deleted)
        return row

    def mark_terminating(self, uid: str, *, preempted: bool = True) -> None:
        """Set a pod's deletion timestamp; it still counts until it is forgotten. Raises KeyError."""
        info, row = self._where[uid]
        going = self.shapes.terminating(info, preempted=preempted)
        # Forks share what they know of a pod, so this one gets its own.
        self._where[uid] = (going, row)
        self.pods_on[row] = [going if other is info else other for other in self.pods_on[row]]
        self._count(info.shape, row, -1)
        self._count(going.shape, row, 1)

    def find(self, uid: str) -> tuple[PodInfo, int] | None:
        """The pod and the row of its node."""
        return self._where.get(uid)

    def uids(self) -> Mapping[str, str]:
        """The uids of all pods that have a node now, by ``namespace/name``."""
        if self._uids is None or self.journal:
            return {info.key: uid for uid, (info, _) in self._where.items()}
        return self._uids

    def pods(self) -> Iterable[tuple[PodInfo, int]]:
        """All pods that have a node, with their rows."""
        return self._where.values()

    # --- nominations

    def nominate(self, info: PodInfo, node_name: str) -> None:
        """Record that a pending pod is nominated to a node."""
        self.remove_nomination(info.uid)
        info.nominated = node_name
        self.nominated.add(info, node_name)

    def remove_nomination(self, uid: str) -> None:
        """Forget a nomination, if there is one."""
        self.nominated.remove(uid)

    # --- to try something and undo it

    def checkpoint(self) -> Checkpoint:
        """The state to which ``go_back`` returns after pods and nodes have come and gone; the allocation of devices is
        not part of it.
        """
        return Checkpoint(
            len(self.journal),
            self._tallies.mark,
            self.sums.copy(),
            self.ports.copy(),
            list(self.pods_on),
            self.nominated.checkpoint(),
            self.storage.checkpoint(),
            self._searched,
            self.active.copy(),
            self.pod_groups.checkpoint(),
        )

    def go_back(self, to: Checkpoint) -> None:
        """Undo all changes since a checkpoint, at the cost of these changes; plugins keep their caches."""
        changed = sorted(set(self.journal[to.journal :]))
        back = []
        for row in changed:
            pods, earlier = self.pods_on[row], to.pods_on[row]
            # Where pods have only come, the others need not be looked at.
            stay = len(earlier) if pods[: len(earlier)] == earlier else 0
            for info in pods[stay:]:
                del self._where[info.uid]
            back += [(info, row) for info in earlier[stay:]]
            self.pods_on[row] = earlier
        self._where.update((info.uid, (info, row)) for info, row in back)
        self._tallies.back_to(to.log)
        for row in np.flatnonzero(self.active != to.active).tolist():
            self._set_active(row, there=bool(to.active[row]))
        self._searched = to.node_order
        now: AnyArray
        before: AnyArray
        for now, before in ((self._sums, to.sums), (self.ports, to.ports)):
            now[changed, : before.shape[1]] = before[changed]
            now[changed, before.shape[1] :] = 0
        self.nominated.go_back(to.nominated)
        self.storage.go_back(to.storage)
        self.pod_groups.go_back(to.pod_groups)
        self.journal.extend(changed)
        while self._undone and self._undone[-1][0] >= to.journal:
            # What was undone since is a part of this.
            self._undone.pop()
        self._undone.append((to.journal, len(self.journal)))

    # --- nodes and copies

    def invalidate_kinds(self, kinds: Collection[str]) -> None:
        """The objects of these kinds were replaced: what was computed from them is dropped.

        Assumptions about volumes or devices are dropped with them. Pods are added and removed one by one instead.
        """
        if not Owners.KINDS.isdisjoint(kinds):
            self.owners = Owners(self.objects)
        if not Storage.KINDS.isdisjoint(kinds):
            unknown, self.storage = self.storage.unknown, Storage(self.objects)
            self.storage.unknown = unknown
        if not Devices.KINDS.isdisjoint(kinds):
            self.devices = Devices(self.objects, self.shapes.features)
        if not PodGroupStates.KINDS.isdisjoint(kinds):
            self.pod_groups.reread(self.objects)
        self.drop_tallies()
        if Node.__name__ in kinds:
            self.replace_nodes(self.objects.list_all(Node))

    def fork(self, *, alone: bool = False) -> Cluster:
        """An independent copy; node columns and shapes are shared. Cost grows with pods, not with their specs.

        One that stands ``alone`` can be used at the same time as this one: shapes that it meets are none of this one's.
        """
        twin = object.__new__(Cluster)
        twin.shapes, twin.objects, twin.columns = self.shapes, self.objects, self.columns
        if alone:
            twin.shapes = self.shapes.fork()
            twin.columns = self.columns.along(twin.shapes.resources)
        twin.owners, twin.storage = self.owners, self.storage.fork()
        twin.devices = self.devices.fork()
        twin.pod_groups, twin.unlisted = self.pod_groups.fork(), UnlistedTerms()
        twin.nominated = self.nominated.copy()
        twin.pending, twin.creation_turns = self.pending.copy(), self.creation_turns
        twin._where, twin._uids = dict(self._where), None if self.journal else self._uids
        twin._elsewhere = {name: list(infos) for name, infos in self._elsewhere.items()}
        twin._sums = self._sums.copy()
        twin.active = self.active.copy()
        twin._searched, twin.placement, twin.membership_version = self._searched, None, self.membership_version
        twin.port_index, twin.ports = dict(self.port_index), self.ports.copy()
        twin.pods_on = list(self.pods_on)
        twin.journal, twin._undone = [], []
        twin._tallies, twin.memory = self._tallies.fork(twin.shapes), {}
        return twin

    def without_nodes(self, names: Collection[str]) -> Cluster:
        """A copy without these nodes and the pods on them. Faster than ``replace_nodes``."""
        twin = self.fork()
        gone = {row for name in names if (row := self.columns.row(name)) is not None}
        for row in sorted(gone):
            for info in self.pods_on[row]:
                twin.remove_pod(info.uid)
        twin.columns = self.columns.without_nodes(gone)
        kept = np.fromiter((self.columns.row(name) for name in twin.columns.names), np.intp, len(twin.columns))
        place = np.full(len(self), -1, np.intp)
        place[kept] = np.arange(len(kept))
        now: list[int] = place.tolist()
        twin._sums, twin.ports = twin._sums[kept], twin.ports[kept]
        twin.active = twin.active[kept]
        twin.pods_on = [twin.pods_on[row] for row in kept.tolist()]
        twin._where = {uid: (info, now[row]) for uid, (info, row) in twin._where.items()}
        twin._searched = None
        twin._tallies = twin._tallies.renumber(place, len(kept))
        twin.nominated.remove_nodes(names)
        twin.journal, twin._undone, twin._uids = [], [], None
        return twin

    def with_nodes(self, nodes: Sequence[Node]) -> Cluster:
        """A copy with inactive rows for more nodes, which come last, until ``activate_node``."""
        twin, more = self.fork(), len(nodes)
        twin.columns = self.columns.with_nodes(nodes)
        twin._sums = extend_rows(twin._sums, more)
        twin.ports, twin.active = extend_rows(twin.ports, more), extend_rows(twin.active, more)
        twin.pods_on += [[] for _ in nodes]
        twin._searched = None
        twin._tallies = twin._tallies.renumber(np.arange(len(self)), len(twin))
        return twin

    def remove_node(self, row: int) -> None:
        """A node goes with its pods, and nobody is nominated to it any more; it keeps its row."""
        self.nominated.remove_nodes([self.columns.names[row]])
        self.forget_all(self.pods_on[row], row)
        self.deactivate_node(row)

    def change_nodes(self, nodes: Sequence[Node]) -> None:
        """Nodes that are there have other taints from now on, or take pods or not. Rows stay."""
        self.columns = self.columns.with_changed_nodes(nodes)
        self.journal.extend(row for node in nodes if (row := self.columns.row(node.name)) is not None)

    def replace_nodes(self, nodes: Sequence[Node]) -> None:
        """Add, update or remove nodes: the whole list, in the order they joined. Rows are renumbered."""
        homes: dict[str, list[PodInfo]] = {name: list(infos) for name, infos in self._elsewhere.items()}
        for name, infos in zip(self.columns.names, self.pods_on, strict=True):
            if infos:
                homes.setdefault(name, []).extend(infos)
        self._where.clear()
        self._elsewhere.clear()
        self._uids = None
        self._set_nodes(nodes)
        for name, infos in homes.items():
            for info in infos:
                self.add(info, name)


def _about(pod: Pod, error: ValueError) -> ValueError:
    return ValueError(f"pod {pod.namespace or 'default'}/{pod.name}: {error}")
