"""resource.k8s.io/v1, dynamic resource allocation: claims and their templates, device classes, resource slices, taint
rules.

v1beta1 and v1beta2 are converted while they are read. Upstream: api/resource/v1/types.go and
dynamic-resource-allocation/api/v1beta1/conversion.go.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import force_setattr

from kwhatif.api.core import Condition, NodeSelector, Taint
from kwhatif.api.meta import Base, Int64, ObjectMeta, Resource
from kwhatif.api.quantity import Quantity

EXACT_COUNT, ALL = "ExactCount", "All"
IMPLICIT_RESOURCE = "deviceclass.resource.kubernetes.io/"
"""Every class serves an extended resource of this prefix and its own name."""
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of the claim that the scheduler makes for a pod's extended resources."""
RESULTS_AT_MOST = 32
"""The most devices of one claim."""

_V1 = "resource.k8s.io/v1"
_OLDER = (f"{_V1}beta1", f"{_V1}beta2")

QuantityMap = dict[str, Quantity]


class _Versioned(Resource):
    def __post_init__(self) -> None:
        if self.api_version in _OLDER:
            force_setattr(self, "api_version", _V1)


# --- slices


class DeviceAttribute(Base):
    """One value; the field that is set is its type."""

    int_value: Int64 | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")
    int_values: list[Int64] | None = msgspec.field(default=None, name="ints")
    bool_values: list[bool] | None = msgspec.field(default=None, name="bools")
    string_values: list[str] | None = msgspec.field(default=None, name="strings")
    version_values: list[str] | None = msgspec.field(default=None, name="versions")

    @property
    def scalar(self) -> tuple[str, object] | None:
        """Type and value, unless the attribute is a list or of no known type."""
        if self.string_value is not None:
            return "string", self.string_value
        if self.int_value is not None:
            return "int", self.int_value
        if self.bool_value is not None:
            return "bool", self.bool_value
        if self.version_value is not None:
            return "version", self.version_value
        return None


class CapacityRange(Base):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityPolicy(Base):
    default: Quantity | None = None
    valid_values: list[Quantity] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(Base):
    value: Quantity = msgspec.field(default_factory=lambda: Quantity.from_units(0))
    request_policy: CapacityPolicy | None = None


class Counter(Base):
    value: Quantity = msgspec.field(default_factory=lambda: Quantity.from_units(0))


class CounterSet(Base):
    name: str = ""
    counters: dict[str, Counter] | None = None


class CounterConsumption(Base):
    counter_set: str = ""
    counters: dict[str, Counter] | None = None


class DeviceTaint(Taint):
    pass


class _DeviceBody(Base):
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: list[CounterConsumption] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class Device(_DeviceBody):
    name: str = ""
    basic: _DeviceBody | None = None
    """Where v1beta1 keeps everything but the name; empty once it is read."""

    def __post_init__(self) -> None:
        if self.basic is not None:
            for field in _DeviceBody.__struct_fields__:
                force_setattr(self, field, getattr(self.basic, field))
            force_setattr(self, "basic", None)


class ResourcePool(Base):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class SliceSpec(Base):
    driver: str = ""
    pool: ResourcePool = msgspec.field(default_factory=ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: list[Device] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(_Versioned):
    spec: SliceSpec = msgspec.field(default_factory=SliceSpec)


class TaintedDevices(Base):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class TaintRuleSpec(Base):
    device_selector: TaintedDevices | None = None
    taint: DeviceTaint = msgspec.field(default_factory=DeviceTaint)


class DeviceTaintRule(Resource):
    spec: TaintRuleSpec = msgspec.field(default_factory=TaintRuleSpec)


# --- claims


class CELSelector(Base):
    expression: str = ""


class DeviceSelector(Base):
    cel: CELSelector | None = None


class DeviceToleration(Base):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Upstream: dynamic-resource-allocation/resourceclaim/devicetoleration.go."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in (None, "", "Equal") and (self.value or "") == (taint.value or "")


class CapacityRequirements(Base):
    requests: QuantityMap | None = None


class _OneRequest(Base):
    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: Int64 | None = None
    tolerations: list[DeviceToleration] | None = None
    capacity: CapacityRequirements | None = None

    @property
    def mode(self) -> str:
        """The allocation mode, with the API server's default filled in."""
        return self.allocation_mode or EXACT_COUNT

    @property
    def effective_count(self) -> int:
        return self.count or (1 if self.mode == EXACT_COUNT else 0)


class ExactRequest(_OneRequest):
    admin_access: bool | None = None


class SubRequest(_OneRequest):
    name: str = ""

    @property
    def admin_access(self) -> bool | None:
        """Alternatives never have it."""
        return None


class DeviceRequest(ExactRequest):
    """``exactly`` or ``first_available``. The fields beside them are v1beta1's form of ``exactly``."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[SubRequest] | None = None

    def __post_init__(self) -> None:
        if self.device_class_name and self.exactly is None and not self.first_available:
            inline = {field: getattr(self, field) for field in ExactRequest.__struct_fields__}
            force_setattr(self, "exactly", ExactRequest(**inline))
        for field, default in zip(ExactRequest.__struct_fields__, ExactRequest.__struct_defaults__, strict=True):
            force_setattr(self, field, default)


class Constraint(Base):
    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Base):
    requests: list[DeviceRequest] | None = None
    constraints: list[Constraint] | None = None


class ClaimSpec(Base):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class DeviceResult(Base):
    """One device allocated to one request of a claim; ``request`` of an alternative is ``request/alternative``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: QuantityMap | None = None

    @property
    def id(self) -> tuple[str, str, str]:
        """Driver, pool and device."""
        return self.driver, self.pool, self.device


class DeviceResults(Base):
    results: list[DeviceResult] | None = None


class Allocation(Base):
    devices: DeviceResults = msgspec.field(default_factory=DeviceResults)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ClaimConsumer(Base):
    api_group: str | None = None
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Base):
    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: list[Condition] | None = None


class ClaimStatus(Base):
    allocation: Allocation | None = None
    reserved_for: list[ClaimConsumer] | None = None
    devices: list[AllocatedDeviceStatus] | None = None


class ResourceClaim(_Versioned):
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class ClaimTemplateSpec(Base):
    metadata: ObjectMeta | None = None
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)


class ResourceClaimTemplate(_Versioned):
    spec: ClaimTemplateSpec = msgspec.field(default_factory=ClaimTemplateSpec)


class DeviceClassSpec(Base):
    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str | None = None


class DeviceClass(_Versioned):
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
