"""``diff`` as a question: two cases, in which what is given once serves both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

from kwhatif.api.core import Pod
from kwhatif.errors import UsageError
from kwhatif.results.diff import DecisionDiff
from kwhatif.whatif.diff.diff import Side, compared
from kwhatif.whatif.diff.replay import Replayed, replay
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.session import Asked, pending_pods
from kwhatif.whatif.stages.expansion import expanded
from kwhatif.whatif.stages.inputs import Engine, Files, Inputs, Source
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question

T = TypeVar("T")

_AT_VERSION = re.compile(r"(?P<policy>.*)@(?P<version>v?\d+\.\d+[\w.+-]*)", re.DOTALL)
_NAMESPACE = "namespace="


@dataclass(eq=False)
class _Case(Case):
    """One side. ``both`` has the other one, too; ``replayed`` are the pods taken off the nodes of this one.

    ``again`` expands its manifests once more, on the cluster as it was before anything of them was put there.
    """

    both: list[_Case] = field(default_factory=list)
    replayed: Replayed = field(default_factory=Replayed)
    again: Callable[[], Expanded] = field(init=False)


@dataclass(frozen=True)
class Diff(Question[DecisionDiff]):
    """What would change with another policy, version, cluster or manifests?

    Of ``snapshots`` and ``policies`` (files that may have an ``@VERSION`` after them) there are one or two; ``files``
    are manifests of both sides, ``old`` and ``new`` those of one. ``replayed`` says which pods of the snapshot are
    scheduled, too: ``pending``, those of a ``namespace=NAME``, or ``all``.
    """

    several_runs: ClassVar[bool] = True

    snapshots: Sequence[Source]
    policies: Sequence[Any] = ()
    files: Files = ()
    old: Files = ()
    new: Files = ()
    replayed: Sequence[str] = ()

    def cases(self, inputs: Inputs, engine: Engine) -> list[Case]:
        """The two sides, of what else is the same for both. Raises UsageError for what makes no two sides."""
        if len(self.policies) > 2:
            raise UsageError(f"--policy is given {len(self.policies)} times: there are two sides")
        if bool(self.old) != bool(self.new):
            raise UsageError("--old and --new go together: manifests of side A and of side B")
        if max(len(self.policies), len(self.snapshots)) < 2 and not self.old:
            raise UsageError("nothing to compare: give --policy twice, --against-snapshot, or --old and --new")
        if not (self.files or self.old or self.replayed):
            raise UsageError("name files with pods to schedule, or pods of the snapshot with --replay")
        both: list[_Case] = []
        for side in (0, 1):
            of_side = replace(inputs, snapshot=_of(self.snapshots, side), manifests=_of(self._manifests, side))
            both.append(_Case(of_side, at_version(engine, _of(self.policies or [None], side)), both=both))
        return list(both)

    @property
    def _manifests(self) -> list[Files]:
        """Those of both sides, or those of each."""
        return [[*self.files, *side] for side in (self.old, self.new)] if self.old else [self.files]

    def check(self, case: Case) -> None:
        for word in self.replayed:
            if word not in ("pending", "all") and (word == _NAMESPACE or not word.startswith(_NAMESPACE)):
                raise UsageError(f"--replay {word}: expected pending, namespace=NAME or all")

    def expand(self, case: Case) -> None:
        """Take the pods that are replayed off their nodes, and find out what becomes of the manifests.

        Raises UsageError for a namespace that has no pods: an empty answer must not pass for a good one.
        """
        side = cast("_Case", case)
        there = {pod.namespace for each in side.both for pod in each.snapshot.objects.of(Pod)}
        for name in sorted(self._namespaces - there):
            raise UsageError(f"--replay namespace={name}: the snapshot has no pods in it")
        names = [{profile.scheduler_name for profile in each.setup.configuration.profiles} for each in side.both]
        snapshot, side.replayed = replay(case.snapshot, self._runs_again, (names[0] & names[1]).__contains__)
        # A copy of its own for each side, which adds objects of its manifests to it.
        case.edited = replace(case.edited, snapshot=snapshot)
        super().expand(case)
        before, reading, version = snapshot.copy(), case.inputs.reading, case.engine.kubernetes_version
        side.again = partial(expanded, before, case.manifests, reading, version)

    def pods(self, case: Case) -> list[Asked]:
        replayed = {item.pod.key for item in cast("_Case", case).replayed.pods}
        asked = [item for item in super().pods(case) if item.pod.key not in replayed]
        given = {*replayed, *(item.pod.key for item in asked)}
        waiting = filter(self._waits, pending_pods(case.snapshot))
        return [*asked, *(item for item in waiting if item.pod.key not in given)]

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[DecisionDiff]:
        a, b = (self._side(number, cast("_Case", case)) for number, case in enumerate(cases))
        answer, (cases[0].session, cases[1].session) = compared(a, b)
        return answer

    def _side(self, number: int, case: _Case) -> Side:
        # An update can be begun once: each run needs its own.
        expand = case.again if case.expanded.rollouts else lambda: case.expanded
        label, replayed = self._label(number, case), case.replayed
        return Side(label, case.new_session, case.asked, expand, replayed, case.others, case.make_scaler)

    def _label(self, side: int, case: Case) -> str:
        """What only this side has."""
        parts: list[str] = []
        if len(self.policies) > 1:
            policy = self.policies[side]
            parts.append(f"policy {policy}" if isinstance(policy, str) else "a policy of its own")
        if len(self.snapshots) > 1:
            parts.append(f"snapshot {case.snapshot.source}")
        if self.old:
            names = [each if isinstance(each, str) else f"a {each.get('kind')}" for each in self._manifests[side]]
            parts.append(f"manifests {', '.join(names)}")
        return ", ".join(parts)

    @property
    def _namespaces(self) -> set[str]:
        return {word.removeprefix(_NAMESPACE) for word in self.replayed if word.startswith(_NAMESPACE)}

    def _runs_again(self, pod: Pod) -> bool:
        return "all" in self.replayed or pod.namespace in self._namespaces

    def _waits(self, item: Asked) -> bool:
        return "pending" in self.replayed or self._runs_again(item.pod)


def at_version(engine: Engine, policy: Any) -> Engine:
    """The scheduler of one side: its policy, and the Kubernetes named with it."""
    if policy is None:
        return engine
    found = _AT_VERSION.fullmatch(policy) if isinstance(policy, str) else None
    if found is None:
        return replace(engine, policy=policy)
    return replace(engine, policy=found["policy"] or "default", kubernetes_version=found["version"])


def _of(given: Sequence[T], side: int) -> T:
    return given[side if len(given) > 1 else 0]
