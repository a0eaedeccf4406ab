"""One extender over HTTP: is it interested, what does it answer, and how often did it fail.

Upstream: pkg/scheduler/extender.go (HTTPExtender).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.duration import Duration
from kwhatif.golang.spelling import go_quote, without_password
from kwhatif.policy.structs import Extender as Configured
from kwhatif.scheduling.extenders import wire
from kwhatif.scheduling.extenders.gojson import GoJsonError
from kwhatif.scheduling.extenders.post import PostError, post
from kwhatif.scheduling.extenders.tls import context_for
from kwhatif.scheduling.victims import Claim

__all__ = ["Extender", "ExtenderError", "Failure"]

T = TypeVar("T")

MOST_TIMEOUTS = 3
"""An extender that let so many calls in a row run out of time is not called again: it would take for ever."""
DEFAULT_TIMEOUT = Duration.of_seconds(5)


class ExtenderError(Exception):
    """An extender gave no answer, or none that can be used. ``late`` if that is because time ran out."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        self.late = late
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed: at which ``point``, for which pod, why, what it leads to, and if it ran out of time."""

    point: str
    pod: str
    text: str
    outcome: str
    late: bool = False


class Extender:
    """The client of one extender.

    ``calls`` counts by extension point, ``failures`` has every call that failed, ``spared`` the number of calls that
    were not made since it had let too many run out of time. ``assumed`` are the pods it would have bound, had it been
    asked; ``emptied`` says that nodes it sent back were scored as if they were empty.
    """

    def __init__(self, configured: Configured) -> None:
        self._configured = configured
        # A negative one is no limit at all to upstream; here there always is one.
        self._seconds = (configured.http_timeout if configured.http_timeout > 0 else DEFAULT_TIMEOUT).seconds
        self._context = context_for(configured)
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
        self.failures: list[Failure] = []
        self.spared = 0
        self.assumed: list[str] = []
        self.emptied = False

    def interested(self, info: PodInfo) -> bool:
        """Whether a container of the pod asks for a resource it manages; of one that manages none, always."""
        spec = info.pod.spec
        return not self._managed or any(
            not self._managed.isdisjoint(amounts)
            for container in (*(spec.containers or ()), *(spec.init_containers or ()))
            if container.resources is not None
            for amounts in (container.resources.requests, container.resources.limits)
            if amounts
        )

    def failed(self, point: str, info: PodInfo, error: ExtenderError | str, outcome: str) -> None:
        """Write a failure down."""
        late = isinstance(error, ExtenderError) and error.late
        self.failures.append(Failure(point, info.key, str(error), outcome, late))

    # --- what it can be asked. All raise ExtenderError.

    def filter(self, info: PodInfo, nodes: Sequence[Node]) -> wire.FilterAnswer:
        answer = self._ask(
            "filter", self._configured.filter_verb, wire.request(info, nodes, self._texts), wire.filter_answer
        )
        if answer.error:
            raise ExtenderError(answer.error)
        if answer.names is None or self.whole_nodes:
            return answer
        known = {node.name for node in nodes}
        for name in answer.names:
            if name not in known:
                raise ExtenderError(
                    f"extender {go_quote(self.name)} claims a filtered node {go_quote(name)} "
                    "which is not found in the input node list"
                )
        return answer

    def prioritize(self, info: PodInfo, nodes: Sequence[Node]) -> list[tuple[str, int]]:
        """Scores by host, not yet weighed."""
        return self._ask(
            "prioritize", self._configured.prioritize_verb, wire.request(info, nodes, self._texts), wire.priorities
        )

    def preempt(self, info: PodInfo, cluster: Cluster, claims: Mapping[str, Claim]) -> dict[str, Claim]:
        body = wire.preempt_request(info, claims, whole=self.whole_nodes)
        answer = self._ask("preempt", self._configured.preempt_verb, body, wire.preempt_answer)
        return {node: self._claim(cluster, node, meta) for node, meta in answer.items()}

    def bind(self, info: PodInfo, node: str) -> None:
        error = self._ask("bind", self._configured.bind_verb, wire.bind_request(info, node), wire.bind_error)
        if error:
            raise ExtenderError(error)

    def _claim(self, cluster: Cluster, node: str, meta: wire.MetaVictims | None) -> Claim:
        """Uids are pods of that node again."""
        row = cluster.columns.row(node)
        if row is None:
            raise ExtenderError(f"nodeinfo not found for node name {go_quote(node)}")
        if meta is None:
            # kube-scheduler does not survive this one.
            raise ExtenderError(f"extender: {self.name} has null for the victims on node: {node}")
        there = {pod.uid: pod for pod in cluster.pods_on[row]}
        victims = []
        for uid in meta.uids:
            if uid is None or uid not in there:
                spelt = "<nil>" if uid is None else f"&{{{uid}}}"
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: {spelt}) on node: {node}, "
                    "but the pod is not found on that node"
                )
            victims.append(there[uid])
        return Claim(tuple(victims), meta.violations)

    def _ask(self, point: str, verb: str, body: bytes, read: Callable[[bytes], T]) -> T:
        if self._in_a_row >= MOST_TIMEOUTS:
            self.spared += 1
            raise ExtenderError(self._last)
        self.calls[point] += 1
        url = f"{self.url.rstrip('/')}/{verb}"
        tls = self._configured.tls_config
        try:
            code, answer = post(
                url, body, seconds=self._seconds, context=self._context, server_name=tls.server_name if tls else ""
            )
        except PostError as error:
            self._in_a_row, self._last = (self._in_a_row + 1 if error.late else 0), str(error)
            raise ExtenderError(str(error), late=error.late) from None
        self._in_a_row = 0
        if code != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {without_password(url)}, code {code}")
        try:
            return read(answer)
        except GoJsonError as error:
            raise ExtenderError(str(error)) from None
