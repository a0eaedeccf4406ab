"""The part of Kueue's Configuration that decides, with its defaults.

Upstream: apis/config/v1beta2/configuration_types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.api.meta import Base, LabelSelector
from kwhatif.api.quantity import Quantity

FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
IGNORE_UNDECLARED = "IgnoreUndeclared"
ELASTIC = "kueue.x-k8s.io/elastic-job"
"""The annotation of a job whose size may change while it runs."""

_ON = """
    AdmissionFairSharing AdmissionGatedBy ElasticJobsViaWorkloadSlices FairSharingPreemptWithinNominal
    FairSharingPrioritizeNonBorrowing FlavorFungibility FlavorFungibilityPreserveScanProgress KueueDRAIntegration
    KueueDRAIntegrationExtendedResource KueueDRAIntegrationPartitionableDevices MultiKueue PartialAdmission
    PrioritySortingWithinCohort QuotaCheckStrategy ReclaimablePods SchedulingEquivalenceHashing
    TASFailedNodeReplacement TASHandleOverlappingFlavors TASMultiLayerTopology TASProfileMixed
    TASRecomputeAssignmentWithinSchedulingCycle TopologyAwareScheduling WorkloadIdentifierAnnotations
"""
_OFF = """
    ConcurrentAdmission ElasticJobsViaWorkloadSlicesWithTAS KueueDRAIntegrationConsumableCapacity
    MultiKueueOrchestratedPreemption PrioritizePreemptorWorkloads PriorityBoost
    RecomputeAssignmentUponPreemptionTargetsOverlap SchedulerLibraryIntegration SchedulerTimestampPreemptionBuffer
    ShortWorkloadNames TASBalancedPlacement TASRespectNodeAffinityPreferred UnadmittedWorkloadsExplicitStatus
    UnadmittedWorkloadsObservability WorkloadPriorityClassDefaulting
"""
DECIDING_GATES = {**dict.fromkeys(_ON.split(), True), **dict.fromkeys(_OFF.split(), False)}
"""The feature gates by which Kueue decides otherwise, with their defaults in 0.19. Upstream: pkg/features."""


class FairSharingSettings(Base):
    """``enable`` is of v1beta1, where fair sharing may stand there and be off."""

    enable: bool | None = None
    preemption_strategies: list[str] | None = None


class WaitForPodsReady(Base):
    """``enable`` is of v1beta1, as above."""

    enable: bool | None = None


class ResourceTransformation(Base):
    input: str = ""
    strategy: str | None = None
    multiply_by: str | None = None
    outputs: dict[str, Quantity] | None = None


class ResourceSettings(Base):
    exclude_resource_prefixes: list[str] | None = None
    transformations: list[ResourceTransformation] | None = None
    quota_check_strategy: str | None = None


class Integrations(Base):
    frameworks: list[str] | None = None
    label_keys_to_copy: list[str] | None = None


class Configuration(Base):
    """``config.kueue.x-k8s.io``; what is not said is the default."""

    api_version: str | None = None
    kind: str | None = None
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: LabelSelector | None = None
    fair_sharing: FairSharingSettings | None = None
    resources: ResourceSettings = msgspec.field(default_factory=ResourceSettings)
    integrations: Integrations = msgspec.field(default_factory=Integrations)
    feature_gates: dict[str, bool] | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None
    admission_fair_sharing: dict[str, Any] | None = None

    @property
    def frameworks(self) -> list[str] | None:
        """The kinds of jobs that are managed; None where no Configuration says it, and so all are taken to be."""
        if self.kind is None:
            return None
        return self.integrations.frameworks or ["batch/job"]

    @property
    def is_fair(self) -> bool:
        return self._is_on(self.fair_sharing)

    @property
    def waits_for_pods(self) -> bool:
        return self._is_on(self.wait_for_pods_ready)

    def _is_on(self, settings: FairSharingSettings | WaitForPodsReady | None) -> bool:
        """Whether a part is there, and in v1beta1 also enabled."""
        if settings is None or settings.enable is not None:
            return settings is not None and bool(settings.enable)
        return not (self.api_version or "").endswith("/v1beta1")

    @property
    def strategies(self) -> tuple[str, ...]:
        """The rules by which shares allow a preemption, the first to be tried first."""
        named = self.fair_sharing.preemption_strategies if self.fair_sharing else None
        return tuple(named or (FINAL_SHARE, INITIAL_SHARE))

    @property
    def ignores_undeclared(self) -> bool:
        """Whether resources that a ClusterQueue does not cover are left out of account."""
        return self.resources.quota_check_strategy == IGNORE_UNDECLARED
