"""CapacityScheduling: quotas of namespaces that may borrow what others leave, and have to give it back.

Upstream: pkg/capacityscheduling/capacity_scheduling.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import Dependency, Plugin, PostFilterResult
from kwhatif.framework.status import SKIP, Code, Diagnosis, Skip, Status
from kwhatif.framework.victim_rules import Account
from kwhatif.plugins.shared.elastic_quotas import Amounts, Quota, Quotas, add, beyond, quotas_of
from kwhatif.results.amounts import format_amount
from kwhatif.results.place import QuotaShortage

_UNREAD = "not eligible due to failed to read from cycleState"
_EXCEEDED = "global quota max exceeded"


class Claims(msgspec.Struct, frozen=True, eq=False):
    """What a pod asks for; with the nominated pods of its own quota, and with those of others that count."""

    own: Amounts
    in_quota: Amounts
    overall: Amounts


@dataclass(slots=True)
class _QuotaAccount(Account):
    """Quotas as they would be with pods of one node gone."""

    quotas: Quotas
    claims: Claims
    own: Quota
    _moved: dict[str, int] = field(default_factory=dict)
    _of_own: dict[str, int] = field(default_factory=dict)

    def remove(self, info: PodInfo) -> None:
        self._move(info, -1)

    def add(self, info: PodInfo) -> None:
        self._move(info, 1)

    def _move(self, info: PodInfo, sign: int) -> None:
        namespace = info.shape.namespace
        if self.quotas.of(namespace) is not None:
            add(self._moved, self.quotas.requests_of(info), sign)
            if namespace == self.own.namespace:
                add(self._of_own, self.quotas.requests_of(info), sign)

    def _is_beyond(self, in_quota: Amounts, overall: Amounts) -> bool:
        own = Quota(self.own.name, self.own.namespace, self.own.min, self.own.max, dict(self.own.used))
        add(own.used, self._of_own)
        everybody = dict(overall)
        add(everybody, self._moved)
        return bool(own.beyond_max(in_quota) or self.quotas.beyond_all(everybody))

    @property
    def refusal(self) -> str:
        return _EXCEEDED if self._is_beyond(self.claims.own, self.claims.own) else ""

    @property
    def is_exceeded(self) -> bool:
        return self._is_beyond(self.claims.in_quota, self.claims.overall)


class CapacityScheduling(Plugin[Claims, None]):
    name = "CapacityScheduling"
    offline_points = ("reserve",)
    dependencies = MappingProxyType(
        {
            "ElasticQuota": Dependency("namespaces are held to it"),
            "PodDisruptionBudget": Dependency("preemption spares budgets with it"),
        }
    )

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Claims | Skip | Status:
        quotas = quotas_of(cluster).catch_up()
        quota = quotas.of(pod.shape.namespace)
        if quota is None:
            return SKIP
        claims = self._claims(pod, cluster, quotas)
        if too_much := quota.beyond_max(claims.in_quota):
            return Status.unschedulable(
                f"Pod {pod.key} is rejected in PreFilter because ElasticQuota {quota.namespace} is more than Max"
            ).with_detail(_describe_max(too_much, claims.in_quota, quota), _beyond_max(too_much[0], claims, quota))
        if too_much := quotas.beyond_all(claims.overall):
            borrowers = _describe_borrowers(too_much, claims.overall, quotas)
            return Status.unschedulable(
                f"Pod {pod.key} is rejected in PreFilter because total ElasticQuota used is more than min"
            ).with_detail(borrowers, _beyond_all(too_much[0], claims, quotas))
        return claims

    def _claims(self, pod: PodInfo, cluster: Cluster, quotas: Quotas) -> Claims:
        own = quotas.requests_of(pod)
        in_quota, overall = dict(own), dict(own)
        for node, infos in cluster.nominated.items():
            if cluster.columns.row(node) is None:
                continue
            for other in infos:
                quota = quotas.of(other.shape.namespace)
                if quota is None or other.uid == pod.uid:
                    continue
                same = other.shape.namespace == pod.shape.namespace
                if same and other.priority >= pod.priority:
                    add(in_quota, quotas.requests_of(other))
                    add(overall, quotas.requests_of(other))
                elif not same and not quota.borrows:
                    add(overall, quotas.requests_of(other))
        return Claims(own, in_quota, overall)

    # --- preemption

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: Claims | None) -> PostFilterResult:
        return self.handle.preempt(pod, diagnosis, None, self)

    def ineligible(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why the pod may not preempt at all, or nothing."""
        if pod.shape.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        if self.name not in diagnosis.evaluation.reached:
            return _UNREAD
        cluster = diagnosis.cluster
        row = cluster.columns.row(pod.nominated) if pod.nominated else None
        if row is None:
            return ""
        status = diagnosis.status(row)
        if status is not None and status.code is Code.UNRESOLVABLE:
            return ""
        leaving = [other for other in cluster.pods_on[row] if other.shape.terminating]
        if any(any(self._may_go(pod, [other], cluster)) for other in leaving):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def victims(self, pod: PodInfo, others: Sequence[PodInfo]) -> list[bool] | str:
        """Own pods of lower priority where the pod would borrow, else pods of those who borrow."""
        assert self.handle.cluster is not None
        return self._may_go(pod, others, self.handle.cluster)

    def _may_go(self, pod: PodInfo, others: Sequence[PodInfo], cluster: Cluster) -> list[bool]:
        quotas = quotas_of(cluster).catch_up()
        quota = quotas.of(pod.shape.namespace)
        if quota is None:
            return [
                quotas.of(pod_info.shape.namespace) is None and pod_info.priority < pod.priority for pod_info in others
            ]
        own = pod.shape.namespace
        if quota.beyond_min(self._claims(pod, cluster, quotas).in_quota):
            return [pod_info.shape.namespace == own and pod_info.priority < pod.priority for pod_info in others]
        # The least important go first, until their quota no longer borrows.
        may_go = [False] * len(others)
        gone: dict[str, Amounts] = {}
        for place in reversed(range(len(others))):
            namespace = others[place].shape.namespace
            of_other = quotas.of(namespace)
            if of_other is None or namespace == own:
                continue
            left = gone.setdefault(namespace, dict(of_other.used))
            if beyond(left, {}, of_other.min, 0):
                may_go[place] = True
                add(left, quotas.requests_of(others[place]), -1)
        return may_go

    def describe_no_victims(self, pod: PodInfo, node: str) -> str:
        return f"No victims found on node {node} for preemptor pod {pod.pod.name}"

    def account(self, pod: PodInfo) -> Account:
        assert self.handle.cluster is not None
        quotas = quotas_of(self.handle.cluster).catch_up()
        quota = quotas.of(pod.shape.namespace)
        if quota is None:
            return Account()
        return _QuotaAccount(quotas, self._claims(pod, self.handle.cluster, quotas), quota)


def _beyond_max(resource: str, claims: Claims, quota: Quota) -> QuotaShortage:
    return QuotaShortage(
        quota=f"{quota.namespace}/{quota.name}",
        bound="max",
        resource=resource,
        asks=claims.in_quota.get(resource, 0),
        used=quota.used.get(resource, 0),
        limit=quota.max.get(resource, 0),
    )


def _beyond_all(resource: str, claims: Claims, quotas: Quotas) -> QuotaShortage:
    used, least = quotas.sums()
    return QuotaShortage(
        quota="",
        bound="min",
        resource=resource,
        asks=claims.overall.get(resource, 0),
        used=used.get(resource, 0),
        limit=least.get(resource, 0),
    )


def _describe_max(names: Sequence[str], requests: Amounts, quota: Quota) -> str:
    """``cpu: asks 1500m, used 3 of max 4 (min 2)``."""
    parts = []
    for name in names:
        amounts = (request.get(name, 0) for request in (requests, quota.used, quota.max, quota.min))
        asks, used, most, least = (format_amount(name, amount) for amount in amounts)
        parts.append(f"{name}: asks {asks}, used {used} of max {most} (min {least})")
    return "; ".join(parts)


def _describe_borrowers(names: Sequence[str], requests: Amounts, quotas: Quotas) -> str:
    """Who uses more than its min of what is short."""
    texts = []
    for name in names:
        parts = []
        for quota in quotas:
            used, least = quota.used.get(name, 0), quota.min.get(name, 0)
            borrowed = f" (borrows {format_amount(name, used - least)})" if used > least else ""
            parts.append(f"{quota.namespace} {format_amount(name, used)} of min {format_amount(name, least)}{borrowed}")
        texts.append(f"{name}: asks {format_amount(name, requests.get(name, 0))}, used {', '.join(parts)}")
    return "; ".join(texts)
