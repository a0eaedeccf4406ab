"""The types of the fields that are read here, by kind.

Upstream: staging/src/k8s.io/api (core/v1, apps/v1, batch/v1, scheduling/v1, node/v1).
"""

from __future__ import annotations

import msgspec

from kwhatif.api.core import Pod, PodSpec, ResourceList, ResourceRequirements, Toleration, Volume
from kwhatif.api.meta import Base, Int32, Int64, Labels, LabelSelector, ObjectMeta, Resource


class _Container(Base):
    name: str = ""


class _ClaimSpec(Base):
    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class _ClaimTemplate(Base):
    metadata: ObjectMeta | None = None
    spec: _ClaimSpec | None = None


class _Ephemeral(Base):
    volume_claim_template: _ClaimTemplate | None = None


class _Volume(Volume):
    ephemeral: _Ephemeral | None = None  # type: ignore[assignment]  # the scheduler's leaves the claim's spec open


class _PodSpec(PodSpec):
    volumes: list[_Volume] | None = None  # type: ignore[assignment]
    restart_policy: str | None = None
    active_deadline_seconds: Int64 | None = None
    ephemeral_containers: list[_Container] | None = None


class _Pod(Pod):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Template(Base):
    metadata: ObjectMeta | None = None
    spec: _PodSpec | None = None


class _Claim(Resource):
    spec: _ClaimSpec | None = None


class _RollingUpdate(Base):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    partition: Int32 | None = None


class _Strategy(Base):
    type: str | None = None
    rolling_update: _RollingUpdate | None = None


class _Ordinals(Base):
    start: Int32 | None = None


class _Retention(Base):
    when_deleted: str | None = None
    when_scaled: str | None = None


class _WorkloadSpec(Base):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 | None = None
    revision_history_limit: Int32 | None = None
    progress_deadline_seconds: Int32 | None = None
    paused: bool | None = None
    selector: LabelSelector | None = None
    template: _Template | None = None
    strategy: _Strategy | None = None
    update_strategy: _Strategy | None = None
    pod_management_policy: str | None = None
    service_name: str | None = None
    ordinals: _Ordinals | None = None
    volume_claim_templates: list[_Claim] | None = None
    persistent_volume_claim_retention_policy: _Retention | None = None


class _Workload(Resource):
    spec: _WorkloadSpec | None = None


class _ReplicationControllerSpec(Base):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 | None = None
    selector: Labels | None = None
    template: _Template | None = None


class _ReplicationController(Resource):
    spec: _ReplicationControllerSpec | None = None


class _ExitCodes(Base):
    container_name: str | None = None
    operator: str | None = None
    values: list[Int32] | None = None


class _Condition(Base):
    type: str | None = None
    status: str | None = None


class _FailureRule(Base):
    action: str | None = None
    on_exit_codes: _ExitCodes | None = None
    on_pod_conditions: list[_Condition | None] | None = None


class _FailurePolicy(Base):
    rules: list[_FailureRule | None] | None = None


class _SuccessRule(Base):
    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class _SuccessPolicy(Base):
    rules: list[_SuccessRule | None] | None = None


class _JobSpec(Base):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None
    template: _Template | None = None
    pod_failure_policy: _FailurePolicy | None = None
    success_policy: _SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class _Job(Resource):
    spec: _JobSpec | None = None


class _JobTemplate(Base):
    metadata: ObjectMeta | None = None
    spec: _JobSpec | None = None


class _CronJobSpec(Base):
    schedule: str | None = None
    concurrency_policy: str | None = None
    suspend: bool | None = None
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None
    job_template: _JobTemplate | None = None


class _CronJob(Resource):
    spec: _CronJobSpec | None = None


class _Limit(Base):
    type: str = ""
    min: ResourceList | None = None
    max: ResourceList | None = None
    default: ResourceList | None = None
    default_request: ResourceList | None = None
    max_limit_request_ratio: ResourceList | None = None


class _LimitRangeSpec(Base):
    limits: list[_Limit] | None = None


class _LimitRange(Resource):
    spec: _LimitRangeSpec | None = None


class _Scope(Base):
    scope_name: str = ""
    operator: str = ""
    values: list[str] | None = None


class _ScopeSelector(Base):
    match_expressions: list[_Scope] | None = None


class _QuotaSpec(Base):
    hard: ResourceList | None = None
    scopes: list[str] | None = None
    scope_selector: _ScopeSelector | None = None


class _Quota(Resource):
    spec: _QuotaSpec | None = None


class _PriorityClass(Resource):
    value: Int32 = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class _Overhead(Base):
    pod_fixed: ResourceList | None = None


class _Scheduling(Base):
    node_selector: Labels | None = None
    tolerations: list[Toleration] | None = None


class _RuntimeClass(Resource):
    overhead: _Overhead | None = None
    scheduling: _Scheduling | None = None


SHAPES: dict[str, type[Resource]] = {
    "Pod": _Pod,
    "PersistentVolumeClaim": _Claim,
    "ReplicationController": _ReplicationController,
    "LimitRange": _LimitRange,
    "ResourceQuota": _Quota,
    "Deployment": _Workload,
    "ReplicaSet": _Workload,
    "StatefulSet": _Workload,
    "DaemonSet": _Workload,
    "Job": _Job,
    "CronJob": _CronJob,
    "PriorityClass": _PriorityClass,
    "RuntimeClass": _RuntimeClass,
}
"""Kind -> shape; a kind's API group is checked by whoever looks here."""
