"""DefaultEvictor: which pods may be evicted (Filter), and which just before their eviction (PreEvictionFilter).

Upstream: pkg/framework/plugins/defaultevictor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from kwhatif.api.core import Namespace, Pod
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError, parse_selector
from kwhatif.cluster.shapes import start_time
from kwhatif.cluster.types import BoolArray
from kwhatif.descheduling.framework.assigned_pods import AssignedPods
from kwhatif.descheduling.framework.descheduler_policy import PluginArgs, PolicyStruct, PriorityThreshold
from kwhatif.descheduling.framework.node_fit import NodeFit
from kwhatif.descheduling.framework.pod_order import is_preferred_to_stay
from kwhatif.descheduling.framework.pod_protections import (
    BARE,
    CLAIMS,
    CRITICAL,
    DAEMON_SET,
    DEFAULT_PROTECTIONS,
    EXTRA_PROTECTIONS,
    LOCAL_STORAGE,
    SYSTEM_CRITICAL_PRIORITY,
    WITHOUT_BUDGET,
    ProtectedObjects,
    Protection,
    protections,
)
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.parsing import Duration

NAME = "DefaultEvictor"
EVICT_ANNOTATION = "descheduler.alpha.kubernetes.io/evict"
_SOURCE = "kubernetes.io/config.source"
_MANDATORY = "Mandatory"
_POLICIES = ("Preferred", _MANDATORY)

DOES_NOT_FIT = (
    "pod does not fit on any other node because of nodeSelector(s), Taint(s), or nodes marked as unschedulable"
)
_WRONG_NAMESPACE = "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"


class ProtectedStorageClass(PolicyStruct):
    name: str = ""


class PodsWithPVCConfig(PolicyStruct):
    protected_storage_classes: tuple[ProtectedStorageClass, ...] = ()


class PodProtectionsConfig(PolicyStruct, rename={"pods_with_pvc": "PodsWithPVC"}):
    pods_with_pvc: PodsWithPVCConfig | None = None


class PodProtections(PolicyStruct):
    extra_enabled: tuple[str, ...] = ()
    default_disabled: tuple[str, ...] = ()
    config: PodProtectionsConfig | None = None

    @property
    def storage_classes(self) -> list[str]:
        claims = self.config.pods_with_pvc if self.config else None
        return (
            [protected_storage_class.name for protected_storage_class in claims.protected_storage_classes]
            if claims
            else []
        )


class DefaultEvictorArgs(PluginArgs):
    node_selector: str = ""
    label_selector: LabelSelector | None = None
    namespace_label_selector: LabelSelector | None = None
    priority_threshold: PriorityThreshold | None = None
    node_fit: bool = False
    min_replicas: int = 0
    min_pod_age: Duration | None = None
    no_eviction_policy: str = ""
    pod_protections: PodProtections = PodProtections()
    evict_local_storage_pods: bool = False
    evict_daemon_set_pods: bool = False
    evict_system_critical_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = msgspec.field(default=False, name="ignorePodsWithoutPDB")
    evict_failed_bare_pods: bool = False

    @property
    def has_deprecated_fields(self) -> bool:
        return (
            self.evict_local_storage_pods
            or self.evict_daemon_set_pods
            or self.evict_system_critical_pods
            or self.ignore_pvc_pods
            or self.evict_failed_bare_pods
            or self.ignore_pods_without_pdb
        )

    @property
    def protections(self) -> list[str]:
        """Those in force: by ``podProtections`` as soon as one of its lists is not empty, else by the old flags."""
        chosen = self.pod_protections
        if chosen.default_disabled or chosen.extra_enabled:
            kept = [name for name in DEFAULT_PROTECTIONS if name not in chosen.default_disabled]
            return [*kept, *chosen.extra_enabled]
        flags = {
            LOCAL_STORAGE: not self.evict_local_storage_pods,
            DAEMON_SET: not self.evict_daemon_set_pods,
            CRITICAL: not self.evict_system_critical_pods,
            BARE: not self.evict_failed_bare_pods,
            CLAIMS: self.ignore_pvc_pods,
            WITHOUT_BUDGET: self.ignore_pods_without_pdb,
        }
        return [name for name, enabled in flags.items() if enabled]


def evictor_problems(args: DefaultEvictorArgs) -> Iterator[str]:
    """What is wrong with the arguments (upstream: validation.go)."""
    threshold, chosen = args.priority_threshold, args.pod_protections
    if threshold is not None and threshold.value is not None and threshold.name:
        yield "priority threshold misconfigured, only one of priorityThreshold fields can be set"
    if args.no_eviction_policy and args.no_eviction_policy not in _POLICIES:
        yield f"noEvictionPolicy accepts only [{' '.join(map(go_quote, _POLICIES))}] values"
    if not chosen.extra_enabled and not chosen.default_disabled:
        return
    if args.has_deprecated_fields:
        yield "cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled"
    for field, names, known in (
        ("ExtraEnabled", chosen.extra_enabled, EXTRA_PROTECTIONS),
        ("DefaultDisabled", chosen.default_disabled, DEFAULT_PROTECTIONS),
    ):
        for name in names:
            if name not in known:
                options = f"[{' '.join(known)}]"
                yield f"invalid pod protection policy in {field}: {go_quote(name)}. Valid options are: {options}"
    for field, names in (("DefaultDisabled", chosen.default_disabled), ("ExtraEnabled", chosen.extra_enabled)):
        if len(set(names)) < len(names):
            yield f"PodProtections.{field} contains duplicate entries"
    if CLAIMS in chosen.extra_enabled:
        for index, name in enumerate(chosen.storage_classes):
            if not name:
                place = f"PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[{index}]"
                yield f"{place} name cannot be empty"


def threshold_of(args: DefaultEvictorArgs, classes: Mapping[str, int]) -> tuple[int, str]:
    """The priority from which pods are protected, and what is wrong with it (upstream: pkg/utils/priority.go)."""
    threshold = args.priority_threshold
    value = SYSTEM_CRITICAL_PRIORITY
    if threshold is not None and threshold.value is not None:
        value = threshold.value
    elif threshold is not None and threshold.name:
        if threshold.name not in classes:
            missing = f"priorityclasses.scheduling.k8s.io {go_quote(threshold.name)} not found"
            return value, f"unable to get priority value from the priority class: {missing}"
        value = classes[threshold.name]
    if value > SYSTEM_CRITICAL_PRIORITY:
        return value, f"priority threshold can't be greater than {SYSTEM_CRITICAL_PRIORITY}"
    return value, ""


def evictor_refusal(args: DefaultEvictorArgs) -> str:
    """Why the plugin cannot be built from arguments that passed for valid."""
    try:
        Selector.from_label_selector(args.label_selector)
    except SelectorError as error:
        return f"unable to initialize {go_quote(NAME)} plugin: {error}"
    wanted = args.namespace_label_selector
    if wanted is not None and wanted.match_labels:
        try:
            Selector.from_label_selector(wanted)
        except SelectorError as error:
            text = f"unable to convert namespaceLabelSelector to label selector: {error}"
            return f"unable to initialize {go_quote(NAME)} plugin: {text}"
    return ""


class EvictorWorld(msgspec.Struct, frozen=True):
    """The objects that the evictor reads. ``threshold`` is the priority from which pods are protected."""

    pods: AssignedPods
    fit: NodeFit
    namespaces: Mapping[str, Namespace]
    objects: ProtectedObjects
    now: int
    threshold: int = SYSTEM_CRITICAL_PRIORITY


class DefaultEvictor:
    """Decides for the pods of one profile. Reasons are in upstream's words."""

    def __init__(self, args: DefaultEvictorArgs, world: EvictorWorld) -> None:
        self._args, self._world = args, world
        self._labels = None if args.label_selector is None else Selector.from_label_selector(args.label_selector)
        self._protections: list[Protection] = [
            *protections(args.protections, world.threshold, args.pod_protections.storage_classes, world.objects)
        ]
        wanted = args.namespace_label_selector
        self._namespaces = Selector.from_label_selector(wanted) if wanted is not None and wanted.match_labels else None
        self._suitable = self._suitable_nodes() if args.node_fit else None

    def _suitable_nodes(self) -> BoolArray | None:
        """``bool[N]``: where node fit looks; None for a selector that cannot be parsed."""
        try:
            selector = parse_selector(self._args.node_selector)
        except SelectorError:
            return None
        nodes = self._world.pods.all_nodes
        return np.array([node.is_ready and selector.matches(node.metadata.labels or {}) for node in nodes], np.bool_)

    # --- the extension points

    def is_evictable(self, pod: Pod) -> bool:
        return next(self._refusals(pod), None) is None

    def passes_pre_eviction_filter(self, pod: Pod) -> bool:
        return not self.refusal_before_eviction(pod)

    def refusals(self, pod: Pod) -> list[str]:
        """Why the pod may not be evicted: all reasons of Filter, else that of PreEvictionFilter."""
        reasons = list(self._refusals(pod))
        if reasons:
            return reasons
        late = self.refusal_before_eviction(pod)
        return [late] if late else []

    def refusal_before_eviction(self, pod: Pod) -> str:
        """The reason of PreEvictionFilter; None if the pod passes."""
        if self._args.node_fit:
            if self._suitable is None:
                return "unable to list ready nodes"
            if not self._world.fit.fits_any_other(pod, self._suitable):
                return DOES_NOT_FIT
        if self._namespaces is not None:
            namespace = self._world.namespaces.get(pod.namespace)
            if namespace is None or not self._namespaces.matches(namespace.metadata.labels or {}):
                return _WRONG_NAMESPACE
        return ""

    def _refusals(self, pod: Pod) -> Iterator[str]:
        annotations = pod.metadata.annotations or {}
        if EVICT_ANNOTATION in annotations:
            return
        if self._args.no_eviction_policy == _MANDATORY and is_preferred_to_stay(pod):
            # Upstream logs no reason.
            yield "no-eviction annotation"
            return
        if pod.is_mirror:
            yield "pod is a mirror pod"
        if annotations.get(_SOURCE, "api") != "api":
            yield "pod is a static pod"
        if pod.metadata.deletion_timestamp:
            yield "pod is terminating"
        yield from filter(None, (protection(pod) for protection in self._protections))
        yield from self._by_arguments(pod)

    def _by_arguments(self, pod: Pod) -> Iterable[str]:
        args = self._args
        if self._labels is not None and not self._labels.matches(pod.metadata.labels or {}):
            yield "pod labels do not match the labelSelector filter in the policy parameter"
        owners = pod.metadata.owner_references or ()
        if args.min_replicas > 1 and len(owners) == 1:
            replicas = self._world.pods.owned_by(owners[0].uid or "")
            if replicas < args.min_replicas:
                yield f"owner has {replicas} replicas which is less than minReplicas of {args.min_replicas}"
        if args.min_pod_age is not None:
            started = pod.status.start_time
            if not started or self._world.now - start_time(started) < args.min_pod_age:
                yield f"pod age is not older than MinPodAge: &Duration{{Duration:{args.min_pod_age},}} seconds"
