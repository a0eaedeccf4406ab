"""Recommendations and resource policies of VerticalPodAutoscalers.

Upstream: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kwhatif.api.core import ResourceList
from kwhatif.api.decode import convert
from kwhatif.errors import InputError

EVERY_CONTAINER = "*"


class _Base(msgspec.Struct, rename="camel"):
    """A part of an object."""


class _Target(_Base):
    kind: str = ""
    name: str = ""


class ContainerPolicy(_Base):
    """Bounds of a recommendation for a container; ``*`` is every container that has no policy of its own."""

    container_name: str = EVERY_CONTAINER
    mode: str | None = None
    min_allowed: ResourceList | None = None
    max_allowed: ResourceList | None = None
    controlled_resources: list[str] | None = None
    controlled_values: str | None = None


class Recommended(_Base):
    """The recommendation for a container, and the bounds within which its requests may stay."""

    container_name: str = ""
    target: ResourceList | None = None
    lower_bound: ResourceList | None = None
    upper_bound: ResourceList | None = None


class _Policy(_Base):
    container_policies: list[ContainerPolicy] | None = None


class _Recommendation(_Base):
    container_recommendations: list[Recommended] | None = None


class _Spec(_Base):
    target_ref: _Target = msgspec.field(default_factory=_Target)
    resource_policy: _Policy | None = None


class _Status(_Base):
    recommendation: _Recommendation | None = None


class _Metadata(_Base):
    name: str
    namespace: str | None = None


class _VerticalPodAutoscaler(_Base):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class Recommendations(msgspec.Struct):
    """By workload (``Kind/namespace/name``): the recommendation for each container, and the policies."""

    targets: dict[str, dict[str, Recommended]] = {}
    policies: dict[str, dict[str, ContainerPolicy]] = {}

    def add(self, value: Mapping[str, Any], namespace: str) -> None:
        """One VerticalPodAutoscaler; ``namespace`` is its default. Raises InputError with the place."""
        autoscaler = convert(value, _VerticalPodAutoscaler)
        target = autoscaler.spec.target_ref
        if not target.kind or not target.name:
            raise InputError("expected the workload it is about, found none", place="$.spec.targetRef")
        workload = f"{target.kind}/{autoscaler.metadata.namespace or namespace}/{target.name}"
        given = (autoscaler.status.recommendation or _Recommendation()).container_recommendations or ()
        self.targets.setdefault(workload, {}).update({recommended.container_name: recommended for recommended in given})
        policies = (autoscaler.spec.resource_policy or _Policy()).container_policies or ()
        self.policies.setdefault(workload, {}).update({policy.container_name: policy for policy in policies})

    def policy_of(self, workload: str, container: str) -> ContainerPolicy | None:
        """The policy that holds for a container, if any."""
        policies = self.policies.get(workload, {})
        return policies.get(container) or policies.get(EVERY_CONTAINER)

    def target_of(self, workload: str, container: str) -> Recommended | None:
        """The recommendation for a container, None if there is none."""
        return self.targets.get(workload, {}).get(container)
