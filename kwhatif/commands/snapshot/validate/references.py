"""What the checks of a snapshot share: findings, and an index of the objects that it covers."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from kwhatif.api.core import Pod
from kwhatif.api.devices import DeviceClass
from kwhatif.api.kinds import KINDS, NAMESPACED, Objects
from kwhatif.api.meta import Resource
from kwhatif.api.objects import section
from kwhatif.api.selectors import Selector
from kwhatif.cluster.claim_store import Devices
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodShape
from kwhatif.results.snapshot_check import Finding
from kwhatif.simulation.node_pools import pods_by_node
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features


def error(rule: str, obj: Resource | str, message: str) -> Finding:
    """A finding about a state that no cluster can have."""
    return _finding("error", rule, obj, message)


def warning(rule: str, obj: Resource | str, message: str) -> Finding:
    """A finding about a state that is rarely intended."""
    return _finding("warning", rule, obj, message)


def _finding(level: str, rule: str, obj: Resource | str, message: str) -> Finding:
    return Finding(
        level=level, rule=rule, object=obj if isinstance(obj, str) else display_name_of(obj), message=message
    )


def display_name_of(obj: Resource) -> str:
    """``Pod shop/web-1``."""
    kind = type(obj).__name__
    return f"{kind} {obj.namespace}/{obj.name}" if kind in NAMESPACED else f"{kind} {obj.name}"


class ObjectIndex:
    """A snapshot's objects by name. ``misread`` ones (kind, namespace, name) are there, but not in the snapshot."""

    def __init__(
        self, snapshot: Snapshot, features: Features, misread: Collection[tuple[str, str, str]] = frozenset()
    ) -> None:
        self._misread = misread
        self._features = features
        self.objects: Objects = snapshot.objects
        self._whole = snapshot.whole
        self._names: dict[str, frozenset[tuple[str, str]] | None] = {}

    def lacks(self, kind: str, name: str, namespace: str = "") -> bool:
        """Whether the snapshot covers a kind and yet has no object of this name."""
        if kind not in self._names:
            self._names[kind] = self._names_of(kind)
        names = self._names[kind]
        return names is not None and (namespace, name) not in names and (kind, namespace, name) not in self._misread

    def _names_of(self, kind: str) -> frozenset[tuple[str, str]] | None:
        if kind in KINDS:
            covered = kind in self.objects.known_kinds()
            return frozenset((o.namespace, o.name) for o in self.objects.list_kind(kind)) if covered else None
        if kind not in self._whole:
            return None
        metadata = (section(obj, "metadata") for obj in self._whole[kind])
        return frozenset((m.get("namespace") or "", m.get("name") or "") for m in metadata)

    @cached_property
    def served_resources(self) -> Collection[str]:
        """Extended resources that device classes serve on nodes where nothing else does."""
        return Devices(self.objects, self._features).serving if self.objects.list_all(DeviceClass) else ()

    @cached_property
    def unfinished_pods(self) -> list[Pod]:
        """The pods that count."""
        return [pod for pod in self.objects.list_all(Pod) if not pod.is_finished]

    @cached_property
    def shapes(self) -> dict[str, PodShape | ValueError]:
        """``namespace/name`` of an unfinished pod -> what scheduling sees of it, or why a cluster cannot take it in."""
        table = ShapeTable(self._features)
        shapes: dict[str, PodShape | ValueError] = {}
        for pod in self.unfinished_pods:
            try:
                info = table.info(pod, bound=True)
                for constraint in pod.spec.topology_spread_constraints or ():
                    Selector.from_label_selector(constraint.label_selector)
            except ValueError as problem:
                shapes[pod.key] = problem
            else:
                shapes[pod.key] = info.shape
        return shapes

    def shape(self, pod: Pod) -> PodShape | None:
        """What scheduling sees of an unfinished pod; None of one that a cluster cannot take in."""
        shape = self.shapes[pod.key]
        return None if isinstance(shape, ValueError) else shape

    @cached_property
    def pods_on(self) -> dict[str, list[Pod]]:
        """Node name -> the unfinished pods bound to it."""
        return pods_by_node(self.objects.list_all(Pod))
