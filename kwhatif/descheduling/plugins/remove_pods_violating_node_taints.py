"""RemovePodsViolatingNodeTaints: pods that do not tolerate a NoSchedule taint of their node.

NoExecute taints are left to the taint eviction controller. Upstream:
pkg/framework/plugins/removepodsviolatingnodetaints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from kwhatif.api.core import Pod, Taint
from kwhatif.api.selectors import tolerates
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.scoped_plugin import ScopedPlugin, scope_problems


class RemovePodsViolatingNodeTaintsArgs(ScopedArgs):
    """Taints are named by key, or by ``key=value``. An ``includedTaints`` that is there but empty includes none."""

    include_prefer_no_schedule: bool = False
    excluded_taints: tuple[str, ...] = ()
    included_taints: tuple[str, ...] | None = None


class RemovePodsViolatingNodeTaints(ScopedPlugin[RemovePodsViolatingNodeTaintsArgs]):
    name = "RemovePodsViolatingNodeTaints"
    args_type = RemovePodsViolatingNodeTaintsArgs
    point: ClassVar[str] = "deschedule"

    @classmethod
    def problems(cls, args: RemovePodsViolatingNodeTaintsArgs) -> Iterator[str]:
        yield from scope_problems(args.namespaces, args.label_selector)
        if args.excluded_taints and args.included_taints:
            yield "either includedTaints or excludedTaints can be set, but not both"

    def run(self) -> None:
        for node in self.handle.nodes:
            taints = [taint for taint in node.spec.taints or () if self._counts(taint)]
            if not taints:
                continue
            pods = [
                pod for pod in self.handle.pods.running(node.name) if self.scope.holds(pod) and self.handle.may_go(pod)
            ]
            going = (
                (pod, f"it does not tolerate the taint {taint.text} of {node.name}")
                for pod in pods
                if (taint := _find_untolerated(pod, taints)) is not None
            )
            if not self.evict_from_node(going):
                return

    def why_not_within(self, pod: Pod) -> str:
        node = self.handle.pods.by_name[pod.spec.node_name or ""]
        if not any(self._counts(taint) for taint in node.spec.taints or ()):
            return f"{node.name} has no taint that counts"
        return f"it tolerates all taints of {node.name} that count"

    def _counts(self, taint: Taint) -> bool:
        args = self.args
        effects = ("NoSchedule", "PreferNoSchedule") if args.include_prefer_no_schedule else ("NoSchedule",)
        if taint.effect not in effects or _is_named(taint, args.excluded_taints):
            return False
        return args.included_taints is None or _is_named(taint, args.included_taints)


def _is_named(taint: Taint, names: Collection[str]) -> bool:
    return taint.key in names or bool(taint.value and f"{taint.key}={taint.value}" in names)


def _find_untolerated(pod: Pod, taints: list[Taint]) -> Taint | None:
    """The first taint that no toleration of the pod tolerates."""
    tolerations = pod.spec.tolerations or ()
    return next(
        (
            taint
            for taint in taints
            if not any(tolerates(toleration, taint, comparison_operators=True) for toleration in tolerations)
        ),
        None,
    )
