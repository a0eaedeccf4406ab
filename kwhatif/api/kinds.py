"""The one table of kinds: where each is served, what decodes it, and which parts of the program read it.

The requests to a live cluster, the rights these take, the lists of the snapshot format, which objects live in
namespaces and which become pods: all of that follows from ``TABLE``. What redaction does to a kind is keyed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from kwhatif.api import core, devices, kueue, pod_groups, scheduler_plugins
from kwhatif.api import node_provisioning as machines
from kwhatif.api import node_provisioning as node_pools
from kwhatif.api import workloads_and_storage as others
from kwhatif.api.meta import Resource


def plural_of(kind: str) -> str:
    """The API's name for the collection of a kind: ``storageclasses``, ``networkpolicies``, ``endpoints``."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith("s"):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else word + "s"


class Kind(msgspec.Struct, frozen=True):
    """One kind: its group (empty for the core's) and the versions in which it can be read, the preferred one first.

    ``struct`` decodes what scheduling reads of it. Of a ``whole`` kind the API server and the controllers read more
    than scheduling does, or only they do: its objects are kept as plain values. ``template`` is the path to the object
    that holds a workload's pod template. A ``rare`` kind is not served by every cluster: where it is not, there are no
    objects of it. An ``idle`` one is not read here, and no answer depends on it. ``forks`` are other groups, each with
    a version, in which objects of the same name and form are served. ``short`` is kubectl's abbreviation. A
    ``momentary`` kind describes the present: it is read from a live cluster only on request, and is never followed.
    ``resource`` is the name of the collection in the API, where that is not the plural. ``served`` is the kind in the
    API, where that is not its name here because a kind of another group has it.
    """

    name: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    struct: type[Resource] | None = None
    whole: bool = False
    template: tuple[str, ...] = ()
    rare: bool = False
    idle: bool = False
    forks: tuple[tuple[str, str], ...] = ()
    short: str = ""
    momentary: bool = False
    resource: str = ""
    served: str = ""

    @property
    def kind(self) -> str:
        """The ``kind`` field of its objects: its name, unless another kind has that name as well."""
        return self.served or self.name

    @property
    def title(self) -> str:
        """Its name in messages: with its group, where a kind of another group has the same name."""
        return f"{self.kind} of {self.group}" if self.served else self.name

    @property
    def forms(self) -> tuple[Kind, ...]:
        """The kind in every group that serves it, the one to request first at the front."""
        return (*(replace(self, group=group, versions=(version,)) for group, version in self.forks), self)

    @property
    def read(self) -> bool:
        """Whether any part of the program reads it; only such kinds are requested from a live cluster."""
        return self.struct is not None or self.whole

    @property
    def plural(self) -> str:
        return self.resource or plural_of(self.kind)

    def api_version(self, version: str = "") -> str:
        """``apps/v1``, ``v1``; of the best version if none is named."""
        return f"{self.group}/{version or self.versions[0]}".removeprefix("/")

    def path(self, version: str) -> str:
        """Where all objects of the kind are listed."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version(version)}/{self.plural}"


_DEVICES = ("v1", "v1beta2", "v1beta1")
_BETA = ("v1", "v1beta1")
_SPEC = ("spec",)
_ADMISSION, _DEFINITIONS = "admissionregistration.k8s.io", "apiextensions.k8s.io"


def _idle(group: str, *names: str, namespaced: bool = True) -> Iterator[Kind]:
    return (Kind(name, group, namespaced=namespaced, idle=True) for name in names)


# What takes longest comes first, since several kinds are read at a time.
KIND_TABLE: tuple[Kind, ...] = (
    Kind("Pod", struct=core.Pod, short="po"),
    Kind("Node", struct=core.Node, namespaced=False),
    Kind("ReplicaSet", "apps", struct=others.ReplicaSet, whole=True, template=_SPEC, short="rs"),
    Kind("PersistentVolume", struct=others.PersistentVolume, namespaced=False),
    Kind("PersistentVolumeClaim", struct=others.PersistentVolumeClaim),
    Kind("VolumeAttachment", "storage.k8s.io", struct=others.VolumeAttachment, namespaced=False),
    Kind("Job", "batch", whole=True, template=_SPEC),
    Kind("Service", struct=core.Service),
    Kind("Deployment", "apps", whole=True, template=_SPEC, short="deploy"),
    Kind("StatefulSet", "apps", struct=others.StatefulSet, whole=True, template=_SPEC, short="sts"),
    Kind("DaemonSet", "apps", whole=True, template=_SPEC, short="ds"),
    Kind("ReplicationController", struct=core.ReplicationController, whole=True, template=_SPEC, short="rc"),
    Kind("CronJob", "batch", _BETA, whole=True, template=("spec", "jobTemplate", "spec"), short="cj"),
    Kind("Namespace", struct=core.Namespace, namespaced=False),
    Kind("CSINode", "storage.k8s.io", struct=others.CSINode, namespaced=False),
    Kind("CSIDriver", "storage.k8s.io", struct=others.CSIDriver, namespaced=False),
    Kind("CSIStorageCapacity", "storage.k8s.io", _BETA, struct=others.CSIStorageCapacity),
    Kind("StorageClass", "storage.k8s.io", struct=others.StorageClass, namespaced=False),
    Kind("PodDisruptionBudget", "policy", _BETA, struct=others.PodDisruptionBudget),
    Kind("PriorityClass", "scheduling.k8s.io", struct=others.PriorityClass, namespaced=False),
    Kind("RuntimeClass", "node.k8s.io", _BETA, namespaced=False, whole=True),
    Kind("LimitRange", whole=True),
    Kind("ResourceQuota", whole=True),
    Kind("ResourceClaim", "resource.k8s.io", _DEVICES, struct=devices.ResourceClaim),
    Kind("ResourceClaimTemplate", "resource.k8s.io", _DEVICES, struct=devices.ResourceClaimTemplate),
    Kind("ResourceSlice", "resource.k8s.io", _DEVICES, struct=devices.ResourceSlice, namespaced=False),
    Kind("DeviceClass", "resource.k8s.io", _DEVICES, struct=devices.DeviceClass, namespaced=False),
    Kind(
        *("DeviceTaintRule", "resource.k8s.io", ("v1beta2", "v1alpha3")),
        struct=devices.DeviceTaintRule,
        namespaced=False,
        rare=True,
    ),
    Kind("ServiceAccount", whole=True),
    Kind("CustomResourceDefinition", _DEFINITIONS, namespaced=False, whole=True),
    Kind("APIService", "apiregistration.k8s.io", namespaced=False, whole=True),
    Kind("MutatingWebhookConfiguration", _ADMISSION, namespaced=False, whole=True),
    Kind("ValidatingWebhookConfiguration", _ADMISSION, namespaced=False, whole=True),
    *(
        Kind(f"{verb}AdmissionPolicy{binding}", _ADMISSION, versions, namespaced=False, whole=True, rare=True)
        for verb, versions in (("Mutating", (*_BETA, "v1alpha1")), ("Validating", _BETA))
        for binding in ("", "Binding")
    ),
    Kind("Workload", "scheduling.k8s.io", ("v1alpha2", "v1alpha1"), whole=True, rare=True),
    Kind("PodGroup", "scheduling.k8s.io", ("v1alpha2",), struct=pod_groups.PodGroup, whole=True, rare=True),
    # Who gives workloads other replicas and requests, and what their pods use.
    Kind("HorizontalPodAutoscaler", "autoscaling", ("v2", "v1"), whole=True, rare=True, short="hpa"),
    Kind("ScaledObject", "keda.sh", ("v1alpha1",), whole=True, rare=True, short="so"),
    Kind("VerticalPodAutoscaler", "autoscaling.k8s.io", _BETA, whole=True, rare=True, short="vpa"),
    Kind("PodMetrics", "metrics.k8s.io", ("v1beta1",), whole=True, rare=True, momentary=True, resource="pods"),
    # Karpenter's.
    *(
        Kind(struct.__name__, group, struct=struct, namespaced=False, rare=True)
        for group, struct in (
            ("karpenter.sh", node_pools.NodePool),
            ("karpenter.sh", node_pools.NodeClaim),
            ("karpenter.k8s.aws", node_pools.EC2NodeClass),
        )
    ),
    # What the plugins of kubernetes-sigs/scheduler-plugins read.
    Kind(
        *("CoschedulingPodGroup", "scheduling.x-k8s.io", ("v1alpha1",)),
        struct=scheduler_plugins.CoschedulingPodGroup,
        rare=True,
        served="PodGroup",
    ),
    *(
        Kind(struct.__name__, group, versions, struct=struct, namespaced=namespaced, rare=True)
        for struct, group, versions, namespaced in (
            (scheduler_plugins.ElasticQuota, "scheduling.x-k8s.io", ("v1alpha1",), True),
            (scheduler_plugins.NodeResourceTopology, "topology.node.k8s.io", ("v1alpha2",), False),
            (scheduler_plugins.AppGroup, "appgroup.diktyo.x-k8s.io", ("v1alpha1",), True),
            (scheduler_plugins.NetworkTopology, "networktopology.diktyo.x-k8s.io", ("v1alpha1",), True),
            (scheduler_plugins.SeccompProfile, "security-profiles-operator.x-k8s.io", ("v1beta1",), True),
        )
    ),
    # Kueue's.
    *(
        Kind(struct.__name__, kueue.GROUP, ("v1beta2", "v1beta1"), struct=struct, namespaced=namespaced, rare=True)
        for struct, namespaced in (
            (kueue.ClusterQueue, False),
            (kueue.Cohort, False),
            (kueue.LocalQueue, True),
            (kueue.ResourceFlavor, False),
            (kueue.Topology, False),
            (kueue.WorkloadPriorityClass, False),
            (kueue.AdmissionCheck, False),
        )
    ),
    Kind(
        *("KueueWorkload", kueue.GROUP, ("v1beta2", "v1beta1")),
        struct=kueue.KueueWorkload,
        rare=True,
        served="Workload",
    ),
    # Cluster API's, and those that OpenShift made of them.
    *(
        Kind(
            *(struct.__name__, "cluster.x-k8s.io", ("v1beta2", "v1beta1")),
            struct=struct,
            rare=True,
            forks=(("machine.openshift.io", "v1beta1"),) if struct in machines.FORKED else (),
        )
        for struct in (machines.Machine, machines.MachineSet, machines.MachineDeployment, machines.MachinePool)
    ),
    # What manifests hold besides.
    *_idle("", "ConfigMap", "Endpoints", "Event", "PodTemplate", "Secret"),
    *_idle("coordination.k8s.io", "Lease"),
    *_idle("discovery.k8s.io", "EndpointSlice"),
    *_idle("argoproj.io", "WorkflowTemplate"),
    *_idle("argoproj.io", "ClusterWorkflowTemplate", namespaced=False),
    *_idle("monitoring.coreos.com", "PodMonitor", "ServiceMonitor"),
    *_idle("tekton.dev", "Pipeline", "Task"),
    *_idle("serving.kserve.io", "LLMInferenceServiceConfig", "ServingRuntime"),
    *_idle("serving.kserve.io", "ClusterServingRuntime", namespaced=False),
    *_idle("kafka.strimzi.io", "KafkaConnector", "KafkaTopic", "KafkaUser"),
    *_idle("networking.k8s.io", "Ingress", "NetworkPolicy"),
    *_idle("rbac.authorization.k8s.io", "Role", "RoleBinding"),
    *_idle("networking.k8s.io", "IngressClass", namespaced=False),
    *_idle("rbac.authorization.k8s.io", "ClusterRole", "ClusterRoleBinding", namespaced=False),
)

_BY_NAME = {kind.name: kind for kind in KIND_TABLE}
_BY_GROUP = {(form.group, form.kind): kind for kind in KIND_TABLE for form in kind.forms}

READ_KINDS = tuple(kind for kind in KIND_TABLE if kind.read)
"""What a snapshot of a live cluster may hold."""

LASTING = tuple(kind for kind in READ_KINDS if not kind.momentary)
"""What it holds in any case, and what a recording follows."""

KINDS = {kind.name: kind.struct for kind in READ_KINDS if kind.struct is not None}
"""Kind -> Struct, of what scheduling reads. A kind's API group is checked by ``struct_for``."""

KEPT_WHOLE = {kind.name: kind.group for kind in READ_KINDS if kind.whole}
"""Kind -> API group, of what is kept as plain values."""

GROUPS = {kind.name: kind.group for kind in READ_KINDS}
"""Kind -> API group, of all that is read."""

API_GROUPS = frozenset(form.group for kind in READ_KINDS for form in kind.forms)
"""All groups of which something is read."""

NAMESPACED = frozenset(kind.name for kind in KIND_TABLE if kind.namespaced)
"""Kinds whose objects live in namespaces."""

IDLE = frozenset(kind.name for kind in KIND_TABLE if kind.idle)
"""Kinds that make no pods, and of which nothing here is read."""

TEMPLATES = {kind.name: kind.template for kind in READ_KINDS if kind.template}
"""Kind -> path to what holds the pod template, of the workloads."""

T = TypeVar("T", bound=Resource)
V = TypeVar("V")


def kind_named(name: str) -> Kind:
    """The row of a kind that is in the table."""
    return _BY_NAME[name]


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The row of what the API calls ``apiVersion``/``kind``; None if it is not in the table."""
    return _BY_GROUP.get((api_version.rpartition("/")[0], kind))


def parse_kind(kind: str) -> tuple[str, ...]:
    """What kubectl takes for a kind, in small letters: ``deployment``, ``deployments``, ``deploy``."""
    short = _BY_NAME[kind].short if kind in _BY_NAME else ""
    return (kind.lower(), plural_of(kind), *([short] if short else ()))


def is_kind(word: str, kind: str) -> bool:
    """Whether a word means a kind, with or without its group: ``deploy``, ``Deployments.apps``."""
    return word.lower().partition(".")[0] in parse_kind(kind)


def describe_kind(api_version: str, kind: str) -> str:
    """A kind in words: ``Job of batch.volcano.sh``, where the name alone would be that of a kind of Kubernetes."""
    group = api_version.rpartition("/")[0]
    groups = {known.group for known in KIND_TABLE if known.kind == kind}
    return f"{kind} of {group}" if groups and group and group not in groups else kind


def struct_for(api_version: str, kind: str) -> type[Resource] | None:
    """The Struct of ``apiVersion``/``kind``, or None for a kind that scheduling does not read."""
    known = kind_of(api_version, kind)
    return None if known is None else known.struct


def is_kept_whole(api_version: str, kind: str) -> bool:
    """Whether objects of this kind are kept as they are, besides being decoded or instead of it."""
    known = kind_of(api_version, kind)
    return known is not None and known.whole and known.group == api_version.rpartition("/")[0]


class Objects:
    """A cluster's objects by kind, each list in the order given."""

    def __init__(self, by_kind: Mapping[str, Iterable[Resource]] | None = None) -> None:
        self._by_kind = {kind: list(objs) for kind, objs in (by_kind or {}).items()}
        self._origin = self
        self._memory: dict[Hashable, tuple[list[list[Resource]], object]] = {}

    def __reduce__(self) -> tuple[type[Objects], tuple[dict[str, list[Resource]]]]:
        return Objects, (self._by_kind,)

    def add(self, obj: Resource) -> None:
        self._by_kind.setdefault(type(obj).__name__, []).append(obj)

    def extend(self, kind: type[T], objs: list[T]) -> None:
        """Add objects of one kind; an empty list still records that the kind was read."""
        self._by_kind.setdefault(kind.__name__, []).extend(objs)

    def put(self, kind: type[T], objs: Iterable[T]) -> None:
        """Replace the objects of one kind."""
        self._by_kind[kind.__name__] = list(objs)

    def put_if_any(self, kind: type[T], objs: Iterable[T]) -> None:
        """As ``put``; a kind of which nothing was read stays unknown if there are none."""
        kept = list(objs)
        if kept or kind.__name__ in self._by_kind:
            self.put(kind, kept)

    def list_all(self, kind: type[T]) -> list[T]:
        """All objects of one kind, in the order given."""
        return cast("list[T]", self._by_kind.get(kind.__name__, []))

    def list_kind(self, kind: str) -> list[Resource]:
        """The same of a kind by its name."""
        return self._by_kind.get(kind, [])

    def in_namespaces(self, kind: str, namespaces: Collection[str]) -> list[Resource]:
        """The objects of one kind in some namespaces, in the order given."""
        if len(namespaces) != 1:
            return [obj for obj in self.list_kind(kind) if obj.namespace in namespaces]

        def sort() -> dict[str, list[Resource]]:
            by_kind: dict[str, list[Resource]] = {}
            for obj in self.list_kind(kind):
                by_kind.setdefault(obj.namespace, []).append(obj)
            return by_kind

        (namespace,) = namespaces
        return self.share(("namespaces", kind), (kind,), sort).get(namespace, [])

    def keys_of(self, kind: str) -> frozenset[str]:
        """``namespace/name`` of the objects of a kind."""

        def spell() -> frozenset[str]:
            return frozenset(
                f"{resource.metadata.namespace}/{resource.metadata.name}" for resource in self.list_kind(kind)
            )

        return self.share(("keys", kind), (kind,), spell)

    def by_kind(self) -> dict[str, list[Resource]]:
        """All objects, the kinds in the order of their names; a kind that was read is included even if it has none."""
        return dict(sorted(self._by_kind.items()))

    def where(self, keep: Callable[[Resource], bool]) -> Objects:
        """Those objects that are to be kept, in lists of their own. All kinds stay covered, even empty ones."""
        return Objects({kind: filter(keep, objs) for kind, objs in self.by_kind().items()})

    def copy(self) -> Objects:
        """The same objects in lists of their own, the kinds in the order of their names."""
        twin = Objects(self.by_kind())
        twin._origin = self._origin
        return twin

    def share(
        self,
        key: Hashable,
        kinds: Collection[str],
        work: Callable[[], V],
        renew: Callable[[V, list[list[Resource]]], V] | None = None,
    ) -> V:
        """What ``work`` makes of the objects of some kinds: once for this and for all copies that have the same ones.

        It is the same value for all of them, so nobody may change it. ``renew`` makes it of the value for these lists
        as they were before.
        """
        lists, origin = [self.list_kind(kind) for kind in kinds], self._origin
        kept = origin._memory.get(key)
        if kept is not None and all(map(_are_same, kept[0], lists)):
            return cast("V", kept[1])
        value = work() if kept is None or renew is None else renew(cast("V", kept[1]), kept[0])
        if all(map(_are_same, map(origin.list_kind, kinds), lists)):
            origin._memory[key] = [list(objects) for objects in lists], value
        return value

    def known_kinds(self) -> frozenset[str]:
        """The kinds that were read, whether or not there were objects."""
        return frozenset(self._by_kind)

    def __iter__(self) -> Iterator[Resource]:
        for objs in self._by_kind.values():
            yield from objs

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))


def _are_same(one: Sequence[Resource], other: Sequence[Resource]) -> bool:
    # The comparison of lists looks at identity first, and is ten times as fast as a loop over both.
    return one == other
