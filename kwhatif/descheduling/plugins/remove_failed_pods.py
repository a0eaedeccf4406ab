"""RemoveFailedPods: pods of the phase Failed, by age, owner, reason and exit code.

Upstream: pkg/framework/plugins/removefailedpods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.container_states import exit_codes, failure_reasons
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems
from kwhatif.golang.config_struct import Int32

_LEAST_AGE = 3600


class RemoveFailedPodsArgs(ScopedArgs):
    """``min_pod_lifetime_seconds`` is 3600 by default."""

    exclude_owner_kinds: tuple[str, ...] = ()
    min_pod_lifetime_seconds: int | None = None
    reasons: tuple[str, ...] = ()
    exit_codes: tuple[Int32, ...] = ()
    including_init_containers: bool = False


class RemoveFailedPods(ScopedPlugin[RemoveFailedPodsArgs]):
    name = "RemoveFailedPods"
    args_type = RemoveFailedPodsArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: RemoveFailedPodsArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces, args.label_selector)

    def run(self) -> None:
        for node in self.handle.nodes:
            failed = [
                (pod, self._reason(pod))
                for pod in self.handle.pods.of(node.name)
                if pod.status.phase == "Failed"
                and self.scope.holds(pod)
                and self.handle.may_go(pod)
                and not self._spares(pod)
            ]
            if not self.evict_from_node(failed):
                return

    def why_not_within(self, pod: Pod) -> str:
        if pod.status.phase != "Failed":
            return f"its phase is {pod.status.phase or 'unknown'}, not Failed"
        return "it is too young, or its owner, reason or exit code is none of those that count"

    def _spares(self, pod: Pod) -> bool:
        """Whether the pod does not meet one of the arguments' conditions."""
        args, status = self.args, pod.status
        least = _LEAST_AGE if args.min_pod_lifetime_seconds is None else args.min_pod_lifetime_seconds
        if self.age_of(pod) < least:
            return True
        if any(owner.kind in args.exclude_owner_kinds for owner in pod.metadata.owner_references or ()):
            return True
        statuses = [status.container_statuses]
        if args.including_init_containers:
            statuses.append(status.init_container_statuses)
        if args.reasons:
            reasons = {reason for ended in statuses for reason in failure_reasons(ended)} | {status.reason or ""} - {""}
            if reasons.isdisjoint(args.reasons):
                return True
        return bool(args.exit_codes) and {code for ended in statuses for code in exit_codes(ended)}.isdisjoint(
            args.exit_codes
        )

    def _reason(self, pod: Pod) -> str:
        status = pod.status
        said = status.reason or next(failure_reasons(status.container_statuses), "")
        return f"it failed{f' ({said})' if said else ''} and is {self.age_of(pod)} s old"
