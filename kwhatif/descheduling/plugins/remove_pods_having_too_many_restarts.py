"""RemovePodsHavingTooManyRestarts: pods whose containers were restarted too often, the most often first.

Upstream: pkg/framework/plugins/removepodshavingtoomanyrestarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.container_states import restarts, waiting_reasons
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems
from kwhatif.golang.config_struct import Int32

_STATES = ("CrashLoopBackOff", "Running")


class RemovePodsHavingTooManyRestartsArgs(ScopedArgs):
    pod_restart_threshold: Int32 = 0
    including_init_containers: bool = False
    states: tuple[str, ...] = ()


class RemovePodsHavingTooManyRestarts(ScopedPlugin[RemovePodsHavingTooManyRestartsArgs]):
    name = "RemovePodsHavingTooManyRestarts"
    args_type = RemovePodsHavingTooManyRestartsArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: RemovePodsHavingTooManyRestartsArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces, args.label_selector)
        if args.pod_restart_threshold < 1:
            yield "invalid PodsHavingTooManyRestarts threshold"
        if not set(_STATES).issuperset(args.states):
            yield f"states must be one of [{' '.join(_STATES)}]"

    def run(self) -> None:
        for node in self.handle.nodes:
            restarted = [
                (self._restarts(pod), pod)
                for pod in self.handle.pods.of(node.name)
                if self.scope.holds(pod)
                and self.handle.may_go(pod)
                and self._restarts(pod) >= self.args.pod_restart_threshold
                and self._is_in_state(pod)
            ]
            least = f"at least {self.args.pod_restart_threshold}"
            in_order = sorted(restarted, key=lambda entry: -entry[0])
            if not self.evict_from_node((pod, f"{count} restarts, {least}") for count, pod in in_order):
                return

    def why_not_within(self, pod: Pod) -> str:
        if self._restarts(pod) < self.args.pod_restart_threshold:
            return f"{self._restarts(pod)} restarts, fewer than {self.args.pod_restart_threshold}"
        return f"it is in none of the states {', '.join(self.args.states)}"

    def _restarts(self, pod: Pod) -> int:
        count = restarts(pod.status.container_statuses)
        return count + restarts(pod.status.init_container_statuses) if self.args.including_init_containers else count

    def _is_in_state(self, pod: Pod) -> bool:
        states, status = self.args.states, pod.status
        if not states or (status.phase or "") in states:
            return True
        statuses = [*(status.container_statuses or ())]
        if self.args.including_init_containers:
            statuses += status.init_container_statuses or ()
        return any(reason in states for reason in waiting_reasons(statuses))
