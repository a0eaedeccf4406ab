"""ElasticQuotas and the usage of their namespaces.

Upstream: pkg/capacityscheduling/elasticquota.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from kwhatif.api.core import PodSpec, ResourceList
from kwhatif.api.scheduler_plugins import ElasticQuota
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.plugins.shared.followed_pods import Following
from kwhatif.plugins.shared.pod_qos import requests_of

_ALWAYS = ("cpu", "memory", "ephemeral-storage", "pods")
_MOST = 2**63 - 1

Amounts = dict[str, int]
"""Millicores of cpu, units of all else."""


def amounts_of(resources: ResourceList) -> Amounts:
    """What the scheduler counts of a list of resources."""
    return {name: amount.amount_of(name) for name, amount in resources.items() if name in _ALWAYS or is_scalar(name)}


def asked_by(spec: PodSpec) -> Amounts:
    """The most of the sum of containers and of each init container, and the overhead."""
    total: Amounts = {}
    for container in spec.containers or ():
        add(total, amounts_of(requests_of(container)))
    for container in spec.init_containers or ():
        for name, amount in amounts_of(requests_of(container)).items():
            total[name] = max(total.get(name, 0), amount)
    add(total, amounts_of(spec.overhead or {}))
    return total


def add(total: Amounts, more: Mapping[str, int], sign: int = 1) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + sign * amount


def beyond(requests: Mapping[str, int], used: Mapping[str, int], limit: Mapping[str, int], unnamed: int) -> list[str]:
    """The resources of which ``requests`` and ``used`` together exceed a limit.

    A limit that does not name cpu, memory or ephemeral storage has none of it; of others it has ``unnamed``. Of these,
    only what is asked for is looked at.
    """
    names = [name for name in _ALWAYS if requests.get(name, 0) + used.get(name, 0) > limit.get(name, 0)]
    others = (name for name in requests if name not in _ALWAYS)
    return names + [name for name in others if requests[name] + used.get(name, 0) > limit.get(name, unnamed)]


class Quota(msgspec.Struct):
    """The quota of one namespace."""

    name: str
    namespace: str
    min: Amounts
    max: Amounts
    used: Amounts = {}

    def beyond_max(self, requests: Mapping[str, int]) -> list[str]:
        return beyond(requests, self.used, self.max, _MOST)

    def beyond_min(self, requests: Mapping[str, int]) -> list[str]:
        """The resources of which the namespace's usage with these requests exceeds min."""
        return beyond(requests, self.used, self.min, 0)

    @property
    def borrows(self) -> bool:
        """Whether the namespace uses more than min."""
        return bool(beyond(self.used, {}, self.min, 0))


class Quotas:
    """All quotas of a cluster by namespace, of each namespace the first; it follows the pods on nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._by_namespace: dict[str, Quota] = {}
        for elastic_quota in cluster.objects.list_all(ElasticQuota):
            namespace = elastic_quota.namespace or "default"
            least = {} if elastic_quota.spec.min is None else amounts_of(elastic_quota.spec.min)
            most = (
                dict.fromkeys(_ALWAYS[:3], _MOST)
                if elastic_quota.spec.max is None
                else amounts_of(elastic_quota.spec.max)
            )
            self._by_namespace.setdefault(namespace, Quota(elastic_quota.name, namespace, least, most))
        self._asked: dict[int, Amounts] = {}
        self._following = Following(cluster, self)

    def catch_up(self) -> Quotas:
        """The quotas with what is used now."""
        self._following.catch_up()
        return self

    def of(self, namespace: str) -> Quota | None:
        return self._by_namespace.get(namespace)

    def __iter__(self) -> Iterator[Quota]:
        return iter(self._by_namespace.values())

    def requests_of(self, info: PodInfo) -> Amounts:
        """A pod's requests, computed once a shape."""
        amounts = self._asked.get(info.shape.index)
        if amounts is None:
            amounts = self._asked[info.shape.index] = asked_by(info.shape.spec)
        return amounts

    def come(self, info: PodInfo, row: int) -> None:
        quota = self._by_namespace.get(info.shape.namespace)
        if quota is not None:
            add(quota.used, self.requests_of(info))

    def leave(self, info: PodInfo, row: int) -> None:
        quota = self._by_namespace.get(info.shape.namespace)
        if quota is not None:
            add(quota.used, self.requests_of(info), -1)

    def sums(self) -> tuple[Amounts, Amounts]:
        """What all of them use, and what all are entitled to."""
        used: Amounts = {}
        least: Amounts = {}
        for quota in self._by_namespace.values():
            add(used, quota.used)
            add(least, quota.min)
        return used, least

    def beyond_all(self, requests: Mapping[str, int]) -> list[str]:
        """The resources of which all quotas together use more than all are entitled to, with what is asked for."""
        used, least = self.sums()
        add(used, requests)
        return beyond(used, {}, least, 0)


@cached_per_cluster
def quotas_of(cluster: Cluster) -> Quotas:
    return Quotas(cluster)
