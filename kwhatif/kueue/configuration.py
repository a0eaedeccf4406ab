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


class FairSharingSettings(Base):
    """``enable`` is of v1beta1, where fair sharing may stand there and be off."""

    enable: bool | None = None
    preemption_strategies: list[str] | None = None


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
    wait_for_pods_ready: dict[str, Any] | None = None

    @property
    def frameworks(self) -> list[str] | None:
        """The kinds of jobs that are managed; None where no Configuration says it, and so all are taken to be."""
        if self.kind is None:
            return None
        return self.integrations.frameworks or ["batch/job"]

    @property
    def is_fair(self) -> bool:
        return self.fair_sharing is not None and self.fair_sharing.enable is not False

    @property
    def strategies(self) -> tuple[str, ...]:
        """The rules by which shares allow a preemption, the first to be tried first."""
        named = self.fair_sharing.preemption_strategies if self.fair_sharing else None
        return tuple(named or (FINAL_SHARE, INITIAL_SHARE))

    @property
    def ignores_undeclared(self) -> bool:
        """Whether resources that a ClusterQueue does not cover are left out of account."""
        return self.resources.quota_check_strategy == IGNORE_UNDECLARED
