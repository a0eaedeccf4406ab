"""Questions that schedule pods of the snapshot once more, besides those of manifests: ``--replay``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

from kwhatif.api.core import Pod
from kwhatif.errors import UsageError
from kwhatif.results.parts import Result
from kwhatif.whatif.diff.replay import Replayed, replay
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.session import Asked, pending_pods
from kwhatif.whatif.stages.expansion import expanded
from kwhatif.whatif.stages.question import Case, Question

R_co = TypeVar("R_co", bound=Result, covariant=True)

_NAMESPACE = "namespace="


@dataclass(eq=False)
class ReplayCase(Case):
    """One of the cases that are compared, which are ``all``; ``replayed`` are the pods taken off the nodes of this one.

    ``again`` expands its manifests once more, on the cluster as it was before anything of them was put there.
    """

    all: list[ReplayCase] = field(default_factory=list)
    replayed: Replayed = field(default_factory=Replayed)
    again: Callable[[], Expanded] = field(init=False)

    @property
    def expand_again(self) -> Callable[[], Expanded]:
        """What becomes of the manifests, for one run. An update can be begun once: each run needs its own."""
        return self.again if self.expanded.rollouts else lambda: self.expanded


class Replaying(Question[R_co]):
    """Asked of ReplayCases. ``replayed`` says which pods: ``pending``, those of a ``namespace=NAME``, or ``all``."""

    replayed: Sequence[str]

    def check(self, case: Case) -> None:
        for word in self.replayed:
            if word not in ("pending", "all") and (word == _NAMESPACE or not word.startswith(_NAMESPACE)):
                raise UsageError(f"--replay {word}: expected pending, namespace=NAME or all")

    def expand(self, case: Case) -> None:
        """Take the pods that are replayed off their nodes, and find out what becomes of the manifests.

        Raises UsageError for a namespace that has no pods: an empty answer must not pass for a good one.
        """
        side = cast("ReplayCase", case)
        there = {pod.namespace for each in side.all for pod in each.snapshot.objects.of(Pod)}
        for name in sorted(self._namespaces - there):
            raise UsageError(f"--replay namespace={name}: the snapshot has no pods in it")
        names = [{profile.scheduler_name for profile in each.setup.configuration.profiles} for each in side.all]
        known = set.intersection(*names)
        snapshot, side.replayed = replay(case.snapshot, self._runs_again, known.__contains__)
        # A copy of its own for each case, which adds objects of its manifests to it.
        case.edited = replace(case.edited, snapshot=snapshot)
        super().expand(case)
        before, reading, version = snapshot.copy(), case.inputs.reading, case.engine.kubernetes_version
        side.again = partial(expanded, before, case.manifests, reading, version)

    def pods(self, case: Case) -> list[Asked]:
        replayed = {item.pod.key for item in cast("ReplayCase", case).replayed.pods}
        asked = [item for item in super().pods(case) if item.pod.key not in replayed]
        given = {*replayed, *(item.pod.key for item in asked)}
        waiting = filter(self._waits, pending_pods(case.snapshot))
        return [*asked, *(item for item in waiting if item.pod.key not in given)]

    @property
    def _namespaces(self) -> set[str]:
        return {word.removeprefix(_NAMESPACE) for word in self.replayed if word.startswith(_NAMESPACE)}

    def _runs_again(self, pod: Pod) -> bool:
        return "all" in self.replayed or pod.namespace in self._namespaces

    def _waits(self, item: Asked) -> bool:
        return "pending" in self.replayed or self._runs_again(item.pod)
