"""PodLifeTime: pods that are older than a limit, the oldest first.

Upstream: pkg/framework/plugins/podlifetime.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import start_time
from kwhatif.descheduling.framework.container_states import waiting_reasons
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems

_STATES = frozenset(
    (
        *("Running", "Pending", "Succeeded", "Failed", "Unknown"),
        *("NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError"),
        *("PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff"),
        *("CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName"),
    )
)


class PodLifeTimeArgs(ScopedArgs):
    max_pod_life_time_seconds: int | None = None
    states: tuple[str, ...] = ()
    including_init_containers: bool = False
    including_ephemeral_containers: bool = False


class PodLifeTime(ScopedPlugin[PodLifeTimeArgs]):
    name = "PodLifeTime"
    args_type = PodLifeTimeArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: PodLifeTimeArgs) -> Iterator[str]:
        if args.max_pod_life_time_seconds is None:
            yield "MaxPodLifeTimeSeconds not set"
        yield from scope_problems(args.namespaces, args.label_selector)
        if not _STATES.issuperset(args.states):
            yield f"states must be one of [{' '.join(sorted(_STATES))}]"

    def run(self) -> None:
        old: list[tuple[int, Pod]] = []
        for node in self.handle.nodes:
            old += (
                (start_time(pod.metadata.creation_timestamp), pod)
                for pod in self.handle.pods.of(node.name)
                if self.scope.holds(pod)
                and self._is_too_old(pod)
                and (not self.args.states or any(state in self.args.states for state in self._states_of(pod)))
                and self.handle.may_go(pod)
            )
        for _, pod in sorted(old, key=lambda entry: entry[0]):
            if self.evict(pod, self._reason(pod)) is EvictionOutcome.TOTAL:
                return

    def why_not_within(self, pod: Pod) -> str:
        if not self._is_too_old(pod):
            return f"it is {self.age_of(pod)} s old, not more than {self.args.max_pod_life_time_seconds} s"
        return f"it is in none of the states {', '.join(self.args.states)}"

    def _is_too_old(self, pod: Pod) -> bool:
        return self.age_of(pod) > (self.args.max_pod_life_time_seconds or 0)

    def _states_of(self, pod: Pod) -> Iterator[str]:
        yield pod.status.phase or ""
        yield pod.status.reason or ""
        if self.args.including_init_containers:
            yield from waiting_reasons(pod.status.init_container_statuses)
        if self.args.including_ephemeral_containers:
            yield from waiting_reasons(pod.status.ephemeral_container_statuses)
        yield from waiting_reasons(pod.status.container_statuses)

    def _reason(self, pod: Pod) -> str:
        reason = f"it is {self.age_of(pod)} s old, more than {self.args.max_pod_life_time_seconds} s"
        state = next((state for state in self._states_of(pod) if state in self.args.states), "")
        return f"{reason}, and its state is {state}" if state else reason
