"""Utilization of nodes and pods: requested, measured by ``metrics.k8s.io``, or from Prometheus. Amounts are billionths.

Upstream: pkg/framework/plugins/nodeutilization/usageclients.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kwhatif.api.core import Node, Pod
from kwhatif.api.objects import part_of, section
from kwhatif.descheduling.framework.assigned_pods import NANO, Amounts, AssignedPods
from kwhatif.descheduling.framework.plugin import PluginFailure, UsageData
from kwhatif.golang.formatting import go_number, go_quote
from kwhatif.golang.numbers import int64_of

METRIC_RESOURCE = "MetricResource"
"""The resource that Prometheus' answer is about; every node has 100 of it."""


class UsageClient(Protocol):
    """``resources`` are those it tells of."""

    resources: Sequence[str]

    def node_usage(self, nodes: Sequence[Node]) -> dict[str, dict[str, int]]:
        """What is used on each node. Raises PluginFailure."""

    def pod_usage(self, pod: Pod) -> Amounts | None:
        """What a pod uses; None if that is not known of it."""


class RequestedUsage:
    """What running pods request."""

    def __init__(self, resources: Sequence[str], pods: AssignedPods) -> None:
        self.resources, self._pods = resources, pods

    def node_usage(self, nodes: Sequence[Node]) -> dict[str, dict[str, int]]:
        by_node = {}
        for node in nodes:
            requested = self._pods.requests_on(node.name)
            by_node[node.name] = {name: requested.get(name, 0) for name in self.resources}
            if "pods" in self.resources:
                by_node[node.name]["pods"] = len(self._pods.running(node.name)) * NANO
        return by_node

    def pod_usage(self, pod: Pod) -> Amounts:
        requested = self._pods.requests(pod)
        return {name: requested.get(name, 0) for name in self.resources}


class MeasuredUsage:
    """One sample of NodeMetrics and PodMetrics; pods are counted. The program's smoothing over time is left out."""

    def __init__(self, resources: Sequence[str], pods: AssignedPods, data: UsageData) -> None:
        self.resources, self._pods, self._data = resources, pods, data

    def node_usage(self, nodes: Sequence[Node]) -> dict[str, dict[str, int]]:
        by_node: dict[str, dict[str, int]] = {}
        for node in nodes:
            measured = (self._data.nodes or {}).get(node.name)
            if measured is None:
                raise PluginFailure(f"unable to find node {go_quote(node.name)} in the collected metrics")
            usage = {"cpu": measured.get("cpu", 0), "memory": measured.get("memory", 0)}
            usage["pods"] = len(self._pods.running(node.name)) * NANO
            for name in self.resources:
                if name not in usage:
                    resource, of = go_quote(name), go_quote(node.name)
                    raise PluginFailure(f"unable to find {resource} resource for collected {of} node metric")
            by_node[node.name] = {name: usage[name] for name in self.resources}
        return by_node

    def pod_usage(self, pod: Pod) -> Amounts | None:
        containers = (self._data.pods or {}).get(pod.key)
        if containers is None:
            return None
        measured = [name for name in self.resources if name != "pods"]
        if any(name not in container for container in containers for name in measured):
            return None
        return {name: sum(container[name] for container in containers) for name in measured}


class PrometheusUsage:
    """A share of each node, by the label ``instance``. What a pod uses is not known."""

    resources: Sequence[str] = (METRIC_RESOURCE,)

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def node_usage(self, nodes: Sequence[Node]) -> dict[str, dict[str, int]]:
        shares = prometheus_shares(self._answer)
        for node in nodes:
            if node.name not in shares:
                raise PluginFailure(f"unable to find metric entry for {node.name}")
        # 0.29 * 100 is 28.999..., and that is 28.
        return {node.name: {METRIC_RESOURCE: int64_of(shares[node.name] * 100) * NANO} for node in nodes}

    def pod_usage(self, pod: Pod) -> Amounts | None:
        return None


def prometheus_shares(answer: Any) -> Mapping[str, float]:
    """The value of each instance in the answer of ``/api/v1/query``. Raises PluginFailure."""
    if not isinstance(answer, Mapping) or answer.get("status") != "success":
        said = answer.get("error", "") if isinstance(answer, Mapping) else "no answer"
        raise PluginFailure(f"unable to capture prometheus metrics: {said}")
    data = section(answer, "data")
    kind = data.get("resultType")
    if kind != "vector":
        raise PluginFailure(f'expected query results to be of type "vector", got {go_quote(str(kind))} instead')
    shares: dict[str, float] = {}
    for sample in data.get("result") or ():
        instance = section(sample, "metric").get("instance")
        if instance is None:
            raise PluginFailure("the collected metrics sample is missing 'instance' key")
        value = float(part_of(sample, "value")[1])
        if value < 0 or value > 1:
            outside = f"has value {go_number(value)} outside of <0; 1> interval"
            raise PluginFailure(f"the collected metrics sample for {go_quote(instance)} {outside}")
        shares[instance] = value
    return shares
