"""The client of one extender: filter, prioritize, preempt and bind calls, with counts of calls and failures.

Upstream: pkg/scheduler/extender.go (HTTPExtender).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.formatting import go_quote, without_password
from kwhatif.golang.parsing import Duration
from kwhatif.policy.structs import Extender as Configured
from kwhatif.scheduling.extenders import wire
from kwhatif.scheduling.extenders.http_caller import Caller, ExtenderError
from kwhatif.scheduling.preemption_candidates import Victims

T = TypeVar("T")

MOST_TIMEOUTS = 3
"""An extender with this many timeouts in a row is not called again."""
DEFAULT_TIMEOUT = Duration.of_seconds(5)


class CallFailure(msgspec.Struct, frozen=True):
    """A failed call: its ``point`` and pod, the reason, its consequence, and whether it timed out."""

    point: str
    pod: str
    text: str
    outcome: str
    timed_out: bool = False


class Extender:
    """The client of one extender.

    ``calls`` counts by extension point, ``failures`` has every failed call, ``spared`` the number of calls that were
    not made since too many had timed out. ``assumed`` are the pods it would have bound, had it been called; ``emptied``
    says that nodes it returned were scored as if they were empty.
    """

    def __init__(self, configured: Configured) -> None:
        self._configured = configured
        # A negative one is no limit at all to upstream; here there always is one.
        limit = configured.http_timeout if configured.http_timeout > 0 else DEFAULT_TIMEOUT
        self._caller = Caller(configured, limit)
        self._texts = None if configured.node_cache_capable else wire.NodeTexts()
        self._managed = frozenset(resource.name for resource in configured.managed_resources)
        self._in_a_row = 0
        self._last = ""
        self.url = configured.url_prefix
        self.name = without_password(configured.url_prefix)
        self.ignorable = configured.ignorable
        self.weight = configured.weight
        self.filters = bool(configured.filter_verb)
        self.prioritizes = bool(configured.prioritize_verb)
        self.preempts = bool(configured.preempt_verb)
        self.binds = bool(configured.bind_verb)
        self.whole_nodes = not configured.node_cache_capable
        self.calls: Counter[str] = Counter()
        self.failures: list[CallFailure] = []
        self.spared = 0
        self.assumed: list[str] = []
        self.emptied = False

    def is_interested(self, info: PodInfo) -> bool:
        """Whether a container of the pod asks for a resource it manages; of one that manages none, always."""
        spec = info.pod.spec
        return not self._managed or any(
            not self._managed.isdisjoint(amounts)
            for container in (*(spec.containers or ()), *(spec.init_containers or ()))
            if container.resources is not None
            for amounts in (container.resources.requests, container.resources.limits)
            if amounts
        )

    def record_failure(self, point: str, info: PodInfo, error: ExtenderError | str, outcome: str) -> None:
        """Record a failure."""
        late = isinstance(error, ExtenderError) and error.late
        self.failures.append(CallFailure(point, info.key, str(error), outcome, late))

    # --- what it can be asked. All raise ExtenderError.

    def filter(self, info: PodInfo, nodes: Sequence[Node]) -> wire.FilterResult:
        body = wire.request(info, nodes, self._texts)
        answer = self._ask("filter", self._configured.filter_verb, body, wire.FilterResult) or wire.FilterResult()
        if answer.error:
            raise ExtenderError(self._caller.secrets.conceal(answer.error))
        if not self.whole_nodes:
            known = {node.name for node in nodes}
            for name in answer.node_names or ():
                if name not in known:
                    raise ExtenderError(
                        f"extender {go_quote(self.name)} claims a filtered node {go_quote(name)} "
                        "which is not found in the input node list"
                    )
        return answer

    def prioritize(self, info: PodInfo, nodes: Sequence[Node]) -> list[wire.HostPriority]:
        """Scores by host, not yet weighed."""
        body = wire.request(info, nodes, self._texts)
        return self._ask("prioritize", self._configured.prioritize_verb, body, list[wire.HostPriority]) or []

    def preempt(self, info: PodInfo, cluster: Cluster, claims: Mapping[str, Victims]) -> dict[str, Victims]:
        body = wire.preempt_request(info, claims, whole=self.whole_nodes)
        answer = self._ask("preempt", self._configured.preempt_verb, body, wire.PreemptionResult)
        left = sorted(answer.node_name_to_meta_victims.items()) if answer else ()
        return {node: self._claim(cluster, node, meta) for node, meta in left}

    def bind(self, info: PodInfo, node: str) -> None:
        answer = self._ask("bind", self._configured.bind_verb, wire.bind_request(info, node), wire.BindingResult)
        if answer and answer.error:
            raise ExtenderError(self._caller.secrets.conceal(answer.error))

    def _claim(self, cluster: Cluster, node: str, meta: wire.MetaVictims | None) -> Victims:
        """Resolve uids to pods of that node."""
        row = cluster.columns.row(node)
        if row is None:
            raise ExtenderError(f"nodeinfo not found for node name {go_quote(node)}")
        if meta is None:
            # kube-scheduler does not survive this one.
            raise ExtenderError(f"extender: {self.name} has null for the victims on node: {node}")
        there = {pod.uid: pod for pod in cluster.pods_on[row]}
        for pod in meta.pods:
            if pod is None or pod.uid not in there:
                spelt = "<nil>" if pod is None else f"&{{{pod.uid}}}"
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: {spelt}) on node: {node}, "
                    "but the pod is not found on that node"
                )
        return Victims(tuple(there[pod.uid] for pod in meta.pods if pod), meta.violations)

    def _ask(self, point: str, verb: str, body: bytes, answer: type[T]) -> T | None:
        if self._in_a_row >= MOST_TIMEOUTS:
            self.spared += 1
            raise ExtenderError(self._last)
        self.calls[point] += 1
        url = f"{self.url.rstrip('/')}/{verb}"
        try:
            code, text = self._caller.post(url, body)
        except ExtenderError as error:
            self._in_a_row, self._last = (self._in_a_row + 1 if error.late else 0), str(error)
            raise
        self._in_a_row = 0
        shown = without_password(url)
        if code != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {shown}, code {code}")
        try:
            return wire.read(text, answer)
        except ExtenderError as error:
            raise ExtenderError(f"extender {shown}: {error}") from None
