"""What the pods of a Workload ask for, as Kueue counts it: overhead, defaults of LimitRanges, limits taken as requests,
excluded and transformed resources; and what is wrong with it.

Upstream: pkg/workload/resources.go, workload.go (totalRequestsFromPodSets) and pkg/util/limitrange.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Container, Pod, PodSpec, ResourceList, ResourceRequirements
from kwhatif.api.decode import convert
from kwhatif.api.kueue import WorkloadPodSet
from kwhatif.api.meta import Base, Resource
from kwhatif.api.quantity import Quantity, plain_quantity
from kwhatif.cluster.pod_requests import pod_requests
from kwhatif.golang.field_validation import ROOT, Path, aggregate
from kwhatif.kueue.amounts import Requests, divide, multiply, requests_of
from kwhatif.kueue.configuration import ResourceSettings, ResourceTransformation
from kwhatif.versions import features_of

KUBERNETES_MINOR = "1.36"
"""Kueue 0.19 is built with the types of this Kubernetes."""

_ABOVE_LIMITS = "requests must not exceed its limits"
_ABOVE_MAX = "requests must not be above the limitRange max"
_BELOW_MIN = "requests must not be below the limitRange min"


class LimitSummary(Base):
    """Limits of one type: those of one LimitRange, or of all of a namespace as one."""

    type: str = ""
    max: ResourceList = msgspec.field(default_factory=dict)
    min: ResourceList = msgspec.field(default_factory=dict)
    default: ResourceList = msgspec.field(default_factory=dict)
    default_request: ResourceList = msgspec.field(default_factory=dict)

    def join(self, other: LimitSummary) -> LimitSummary:
        """The lowest maxima and the highest minima; of defaults the first."""
        return LimitSummary(
            type=self.type,
            max=_merge(self.max, other.max, min),
            min=_merge(self.min, other.min, max),
            default={**other.default, **self.default},
            default_request={**other.default_request, **self.default_request},
        )


class _LimitRangeSpec(Base):
    limits: list[LimitSummary] = msgspec.field(default_factory=list)


class LimitRange(Resource):
    """Of a LimitRange what Kueue reads."""

    spec: _LimitRangeSpec = msgspec.field(default_factory=_LimitRangeSpec)


class NamespaceLimits:
    """LimitRanges, summarised by namespace and type."""

    def __init__(self, ranges: Iterable[Mapping[str, Any]]) -> None:
        self._summaries: dict[str, dict[str, LimitSummary]] = {}
        for range_ in ranges:
            limit_range = convert(range_, LimitRange)
            of_namespace = self._summaries.setdefault(limit_range.namespace, {})
            for limits in limit_range.spec.limits:
                known = of_namespace.get(limits.type)
                of_namespace[limits.type] = limits if known is None else known.join(limits)

    def of(self, namespace: str) -> Mapping[str, LimitSummary]:
        """By type of limit: ``Container``, ``Pod``."""
        return self._summaries.get(namespace, {})


def _merge(left: ResourceList, right: ResourceList, choose: Callable[[Quantity, Quantity], Quantity]) -> ResourceList:
    merged = dict(left)
    for name, quantity in right.items():
        merged[name] = choose(merged[name], quantity) if name in merged else quantity
    return merged


_encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode
_encode_in_order = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode


class PodSetRequests(msgspec.Struct, frozen=True):
    """What all pods of a pod set ask for together. ``requests`` are in the order in which Kueue walks them."""

    name: str
    count: int
    requests: Requests

    def scale(self, count: int) -> PodSetRequests:
        if not self.count or self.count == count:
            return self
        return PodSetRequests(self.name, count, multiply(divide(self.requests, self.count), count))


class CountedPodSet(msgspec.Struct, frozen=True, eq=False):
    """A pod set with what is added to its template, the requests of one pod, and those that count against quotas: of
    one pod and of all.

    ``shape`` is equal for pod sets that Kueue treats alike but for their counts, ``constraints`` for those whose pods
    may be on the same nodes, and ``topology_shape`` for those that also want the same of a topology. ``is_refused``
    tells whether ``resource_problems`` finds anything.
    """

    pod_set: WorkloadPodSet
    requests: Requests
    counted: Requests
    total: PodSetRequests
    shape: bytes
    constraints: bytes
    topology_shape: bytes
    is_refused: bool


class PodCounter:
    """Counts pod sets; those of a namespace that are alike once."""

    def __init__(
        self, limits: NamespaceLimits, overheads: Mapping[str, ResourceList], settings: ResourceSettings
    ) -> None:
        self.limits = limits
        self._overheads, self._settings = overheads, settings
        self._known: dict[tuple[str, bytes], CountedPodSet] = {}
        self._shapes: dict[Hashable, int] = {}

    def count(self, pod_set: WorkloadPodSet, namespace: str) -> CountedPodSet:
        key = namespace, _encode(pod_set)
        sized = self._known.get(key)
        if sized is None:
            spec = self._adjust(pod_set.template.spec, namespace)
            adjusted = replace(pod_set, template=replace(pod_set.template, spec=spec))
            requests = spec_requests(spec)
            counted = counted_requests(spec, requests, self._settings)
            count = max(pod_set.count, 0)
            affinity = spec.affinity.node_affinity if spec.affinity else None
            constraints = _encode_in_order((spec.node_selector, affinity, spec.tolerations))
            sized = self._known[key] = CountedPodSet(
                adjusted,
                requests,
                counted,
                PodSetRequests(pod_set.name, count, multiply(counted, count)),
                _encode_in_order((pod_set.name, pod_set.min_count, pod_set.topology_request, counted, _shape_of(spec))),
                constraints,
                _encode_in_order((constraints, requests, pod_set.topology_request)),
                bool(resource_problems([adjusted], self.limits.of(namespace))),
            )
        return sized

    def number_shape(self, shape: Hashable) -> int:
        """The same number for all that is of one shape: numbers are compared and looked up fast."""
        return self._shapes.setdefault(shape, len(self._shapes))

    def _adjust(self, spec: PodSpec, namespace: str) -> PodSpec:
        """With overhead, defaults, and requests where only limits are said (upstream: AdjustResources)."""
        overhead = spec.overhead
        if not overhead and spec.runtime_class_name is not None:
            overhead = self._overheads.get(spec.runtime_class_name)
        summaries = self.limits.of(namespace)
        of_container, of_pod = summaries.get("Container"), summaries.get("Pod")
        return replace(
            spec,
            overhead=overhead,
            init_containers=_adjust_containers(spec.init_containers, of_container),
            containers=_adjust_containers(spec.containers, of_container),
            resources=None if spec.resources is None else _adjust(spec.resources, of_pod),
        )


def _adjust_containers(containers: list[Container] | None, limits: LimitSummary | None) -> list[Container] | None:
    if containers is None:
        return None
    return [
        replace(container, resources=_adjust(container.resources or ResourceRequirements(), limits))
        for container in containers
    ]


def _adjust(resources: ResourceRequirements, summary: LimitSummary | None) -> ResourceRequirements:
    limits, requests = dict(resources.limits or {}), dict(resources.requests or {})
    if summary is not None:
        limits = {**summary.default, **limits}
        requests = {**summary.default_request, **requests}
    return replace(resources, limits=limits or None, requests={**limits, **requests} or None)


def encode_shape(spec: PodSpec) -> bytes:
    """What pods of one role are alike in; the same for the same shape. Upstream: SpecShape in pkg/util/pod."""
    return _encode_in_order(_shape_of(spec))


def _shape_of(spec: PodSpec) -> tuple[object, ...]:
    return (
        _containers_shape(spec.init_containers or ()),
        _containers_shape(spec.containers or ()),
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.runtime_class_name,
        spec.priority,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resource_claims,
        spec.resources.requests if spec.resources else None,
    )


def _containers_shape(containers: Iterable[Container]) -> list[object]:
    return [
        (container.resources.requests if container.resources else None, container.ports) for container in containers
    ]


def spec_amounts(spec: PodSpec) -> ResourceList:
    """The requests of one pod."""
    return pod_requests(Pod(spec=spec), features_of(KUBERNETES_MINOR), with_status=False)


def spec_requests(spec: PodSpec) -> Requests:
    return requests_of(spec_amounts(spec))


def counted_requests(spec: PodSpec, own: Requests, settings: ResourceSettings) -> Requests:
    """The requests of one pod that count against quotas; none below zero. ``own`` are its ``spec_requests``."""
    excluded = tuple(settings.exclude_resource_prefixes or ())
    if not excluded and not settings.transformations:
        return {name: max(amount, 0) for name, amount in own.items()}
    amounts = {name: q for name, q in spec_amounts(spec).items() if not (excluded and name.startswith(excluded))}
    transformed = _transform(amounts, settings.transformations or ())
    return {name: max(amount, 0) for name, amount in requests_of(transformed).items()}


def _transform(amounts: ResourceList, transformations: Sequence[ResourceTransformation]) -> ResourceList:
    """What transformations make of requests (upstream: applyResourceTransformations)."""
    by_input = {transformation.input: transformation for transformation in transformations}
    if not by_input.keys() & amounts.keys():
        return amounts
    kept: ResourceList = {}
    made: dict[str, int] = {}
    for name, quantity in amounts.items():
        rule = by_input.get(name)
        if rule is None:
            kept[name] = quantity
            continue
        value = quantity.nano()
        factor = amounts.get(rule.multiply_by or "")
        for output, share in (rule.outputs or {}).items():
            # The product is exact upstream, and so is this: a billionth of a billionth is the finest.
            product = value * share.nano() * (factor.nano() if factor is not None else 10**9)
            made[output] = made.get(output, 0) + product
        if (rule.strategy or "Retain") == "Retain":
            kept[name] = quantity
    for output, product in made.items():
        generated = Quantity(max(-(-product // 10**18), 0), -9, True, "DecimalSI")
        kept[output] = kept[output] + generated if output in kept else generated
    return kept


# --- what is wrong


def resource_problems(pod_sets: Sequence[WorkloadPodSet], summaries: Mapping[str, LimitSummary]) -> str:
    """Why the requests are rejected outright, in Kueue's words; nothing if they are not."""
    paths = [(ROOT.child("spec", "podSets").index(k).child("template", "spec"), p) for k, p in enumerate(pod_sets)]
    problems = [problem for path, pod_set in paths for problem in _limit_problems(path, pod_set.template.spec)]
    if problems:
        return f"resources validation failed: {aggregate(problems)}"
    if summaries:
        problems = [p for path, pod_set in paths for p in _range_problems(path, pod_set.template.spec, summaries)]
    return f"resources didn't satisfy LimitRange constraints: {aggregate(problems)}" if problems else ""


def _each_container(path: Path, spec: PodSpec) -> Iterator[tuple[Path, ResourceRequirements]]:
    for name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for k, container in enumerate(containers or ()):
            yield path.child(name).index(k), container.resources or ResourceRequirements()


def _limit_problems(path: Path, spec: PodSpec) -> Iterator[str]:
    for where, resources in _each_container(path, spec):
        if names := _greater(resources.requests or {}, resources.limits or {}):
            yield where.invalid(names, _ABOVE_LIMITS)
    if spec.resources is not None and (names := _greater(spec.resources.requests or {}, spec.resources.limits or {})):
        yield path.child("resources").invalid(names, _ABOVE_LIMITS)


def _range_problems(path: Path, spec: PodSpec, summaries: Mapping[str, LimitSummary]) -> Iterator[str]:
    if (limits := summaries.get("Container")) is not None:
        for where, resources in _each_container(path, spec):
            requests, most = resources.requests or {}, resources.limits or {}
            if names := _greater(_merge(requests, most, max), limits.max):
                yield where.invalid(names, _ABOVE_MAX)
            if names := _greater(limits.min, _merge(requests, most, min)):
                yield where.invalid(names, _BELOW_MIN)
    if (limits := summaries.get("Pod")) is not None:
        total = spec_amounts(spec)
        if names := _greater(total, limits.max):
            yield path.invalid(names, _ABOVE_MAX)
        if names := _greater(limits.min, total):
            yield path.invalid(names, _BELOW_MIN)


def _greater(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> list[str]:
    """The resources of which the left one has more, of those that both name."""
    if not left.keys() & right.keys():
        return []
    mine, theirs = requests_of(left), requests_of(right)
    return sorted(name for name, amount in mine.items() if name in theirs and amount > theirs[name])
