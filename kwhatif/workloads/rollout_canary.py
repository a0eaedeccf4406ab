"""Canary updates of Argo Rollouts: each step sets the number of new pods, and of stable ones accordingly.

Pauses are assumed to end, analyses and experiments to succeed. Upstream: utils/replicaset/canary.go of
argoproj/argo-rollouts (CalculateReplicaCountsForBasicCanary, CalculateReplicaCountsForTrafficRoutedCanary),
rollout/canary.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import deep_copy_json, get_scaled_value, integer, name_of
from kwhatif.workloads.rollout_pods import Wanted, alike
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of

_NEW, _STABLE = "new", "stable"


class CanaryStep(msgspec.Struct, frozen=True):
    """The share of pods that are new, in percent; or their number, where the step scales the canary by itself."""

    weight: int
    replicas: int | None = None


@dataclass(eq=False)
class CanaryRollout(Rollout):
    """``step`` is the place of the canary's step; after the last, all pods are new."""

    obj: Object
    replicas: int
    body: Object
    claims: tuple[Object, ...]
    steps: tuple[CanaryStep, ...]
    step: int = field(default=0, init=False)

    @classmethod
    def of(cls, obj: Object, pods: Sequence[Object], targets: Sequence[Wanted], admit: Admit) -> CanaryRollout:
        replicas = integer(section(obj, "spec").get("replicas"), 1)
        body, claims = targets[0] if targets else ({}, ())
        members = [member_of(pod, _NEW if targets and alike(pod, body) else _STABLE) for pod in pods]
        changed = any(member.revision == _STABLE for member in members)
        return cls(members, admit, obj, replicas if targets else 0, body, claims, steps_of(obj) if changed else ())

    def sync(self) -> bool:
        new, stable = self.members.active[_NEW], self.members.active[_STABLE]
        want_new, want_stable = self._sizes()
        room = self.replicas + self._surge() - new - stable
        if self._routes_traffic() or (self.step < len(self.steps) and self.steps[self.step].replicas is not None):
            room = want_new
        growth = min(want_new - new, room)
        if growth > 0:
            return self._create(growth)
        if new > want_new:
            return self._remove(_NEW, new - want_new)
        spare = stable - want_stable
        available = self.members.available[_NEW] + stable
        spare = min(spare, available - (self.replicas - self._unavailable()))
        if spare > 0:
            return self._remove(_STABLE, spare)
        if self.step < len(self.steps) and self._is_reached(want_new, want_stable):
            self.step += 1
            return True
        return False

    def _sizes(self) -> tuple[int, int]:
        if self.step >= len(self.steps):
            # Where traffic is routed, it leaves the stable pods only when all new ones are there to take it.
            early = self._routes_traffic() and self.members.available[_NEW] < self.replicas
            return self.replicas, self.members.active[_STABLE] if early else 0
        step = self.steps[self.step]
        if step.replicas is not None or not self.replicas:
            return step.replicas or 0, self.replicas
        if not self._routes_traffic():
            return canary_and_stable(self.replicas, step.weight, self._surge())
        new = self._at_least(-(-self.replicas * step.weight // 100))
        if not self._canary().get("dynamicStableScale"):
            return new, self.replicas
        return new, self._at_least(-(-self.replicas * (100 - step.weight) // 100))

    def _at_least(self, count: int) -> int:
        """The size of a version that has any pods, no less than ``minPodsPerReplicaSet``."""
        return max(count, integer(self._canary().get("minPodsPerReplicaSet"), 0)) if count else 0

    def _is_reached(self, new: int, stable: int) -> bool:
        return self.members.available[_NEW] == new and self.members.active[_STABLE] == stable

    def _create(self, count: int) -> bool:
        for place in range(count):
            if self.create(deep_copy_json(self.body), _NEW, self.claims) is None:
                return place > 0
        return True

    def _remove(self, revision: str, count: int) -> bool:
        active = (member for member in self.members.of(revision) if member.active)
        for member in heapq.nsmallest(count, active, key=lambda member: member.available):
            self.remove(member)
        return True

    def _canary(self) -> Object:
        return section(self.obj, "spec", "strategy", "canary")

    def _routes_traffic(self) -> bool:
        return bool(self._canary().get("trafficRouting"))

    def _surge(self) -> int:
        return get_scaled_value(self._canary().get("maxSurge", "25%"), self.replicas, up=True)

    def _unavailable(self) -> int:
        """Where neither more nor fewer are allowed, one may be unavailable."""
        scaled = get_scaled_value(self._canary().get("maxUnavailable", "25%"), self.replicas, up=False)
        return min(scaled or (self._surge() == 0), self.replicas)

    def is_new(self, revision: str) -> bool:
        return bool(self.steps) and revision == _NEW

    def remaining_work(self) -> str:
        new, old = self.members.available[_NEW], self.members.active[_STABLE]
        if new >= self.replicas and not old:
            return ""
        where = f" at step {self.step + 1} of {len(self.steps)}" if self.step < len(self.steps) else ""
        return f"{new} of {self.replicas} pods of Rollout {name_of(self.obj)} are new{where}, {old} old"


def canary_and_stable(replicas: int, weight: int, surge: int) -> tuple[int, int]:
    """The numbers of new and of stable pods that come closest to ``weight`` percent of new ones.

    Their sum is ``replicas``, or one more where ``surge`` allows it. With two pods or more, each version has at least
    one for weights of 1 to 99.
    """
    more, fewer = -(-replicas * weight // 100), replicas * weight // 100
    may_be_none = weight in (0, 100) or (replicas == 1 and not surge)
    options = [(more, replicas)] if more < replicas or may_be_none else []
    for total in (replicas, replicas + 1) if surge else (replicas,):
        if total > replicas:
            options.append((more, total))
        # Of two equally close options, upstream takes the one with more new pods.
        if total * weight % 100 != 50 and (fewer or may_be_none):
            options.append((fewer, total))
    new, total = min(options, key=lambda option: abs(option[0] * 100 / option[1] - weight), default=(0, replicas))
    return new, total - new


def steps_of(obj: Object) -> tuple[CanaryStep, ...]:
    """The target of each step of a canary; steps that only wait have that of the one before."""
    canary = section(obj, "spec", "strategy", "canary")
    canary_steps: list[CanaryStep] = []
    weight, replicas, follows = 0, None, True
    for step in canary.get("steps") or ():
        if step.get("setWeight") is not None:
            weight = integer(step["setWeight"], 0)
            if follows:
                replicas = None
        scale = section(step, "setCanaryScale")
        if scale and canary.get("trafficRouting"):
            follows = bool(scale.get("matchTrafficWeight"))
            replicas = None if follows else _scale_of(obj, scale)
        canary_steps.append(CanaryStep(weight, replicas))
    return tuple(canary_steps)


def _scale_of(obj: Object, scale: Object) -> int:
    if scale.get("replicas") is not None:
        return integer(scale["replicas"], 0)
    return -(-integer(section(obj, "spec").get("replicas"), 1) * integer(scale.get("weight"), 0) // 100)
