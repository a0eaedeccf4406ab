"""Updates of a DaemonSet: node by node, first out then in, or with a surge first in then out.

Upstream: pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode), update.go (rollingUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kwhatif.admission.answer import Object
from kwhatif.golang.integers import int64
from kwhatif.workloads.daemon_set import GENERATION, REVISION, daemon_pod, generation_of, target_of
from kwhatif.workloads.naming import template_hash
from kwhatif.workloads.node_check import NodeCheck, Wanted
from kwhatif.workloads.objects import labels_of, name_of, scaled, section
from kwhatif.workloads.pod_status import is_over
from kwhatif.workloads.rollout_replicas import owned_by
from kwhatif.workloads.rollout_state import Admit, Member, Rollout, member_of
from kwhatif.workloads.templates import same_template


@dataclass
class DaemonSetRollout(Rollout):
    """``wanted`` holds what the new template wants of each node, in the order of the nodes."""

    daemon_set: Object
    revision: str
    generation: str
    changed: bool
    wanted: dict[str, Wanted]

    @classmethod
    def of(
        cls, old: Object, new: Object, pods: Sequence[Object], nodes: Sequence[Object], admit: Admit
    ) -> DaemonSetRollout:
        was, is_ = section(old, "spec", "template"), section(new, "spec", "template")
        members = [member_of(pod, labels_of(pod).get(REVISION, "")) for pod in owned_by(new, pods)]
        for member in members:
            member.home = target_of(member.pod)
        changed = not same_template(was, is_)
        revision, generation = template_hash(is_), generation_of(old)
        if changed:
            number = int64(generation)
            generation = generation if number is None else str(number + 1)
        elif members:
            newest = max(members, key=lambda member: (_generation(member), _created(member)))
            revision = newest.revision
        check = NodeCheck(is_)
        wanted = {name_of(node): check(node) for node in nodes}
        mixed = changed or any(member.revision != revision for member in members)
        return cls(members, admit, new, revision, generation, mixed, wanted)

    # --- one pass of the controller

    def sync(self) -> bool:
        changed, refused = self._manage()
        if changed or refused or self._on_delete:
            return changed
        return self._roll()

    def _manage(self) -> tuple[bool, bool]:
        """Every node has the pods it should have, whatever their revision. Whether any came or went, or was refused."""
        changed = refused = False
        by_node = self._by_node()
        for node, wanted in self.wanted.items():
            there = by_node.get(node, [])
            running = [m for m in there if m.active]
            over = [m for m in there if is_over(m.pod) and not m.terminating]
            if wanted.stay:
                going = over + self._surplus(running)
                missing = wanted.run and (not there or (bool(self._surge) and not running))
            else:
                going, missing = [m for m in there if not m.terminating], False
            for member in going:
                self.remove(member)
                changed = True
            if missing:
                made = self._make(node)
                changed, refused = changed or made, refused or not made
        for member in [m for m in self.members if m.home not in self.wanted and self._homeless(m)]:
            self.remove(member)
            changed = True
        return changed, refused

    def _surplus(self, running: list[Member]) -> list[Member]:
        """The pods of one node that are too many: all but the oldest; with a surge, of each revision."""
        running = sorted(running, key=lambda m: (not section(m.pod, "spec").get("nodeName"), _created(m), m.name))
        if not self._surge or len(running) <= 1:
            return running[1:]
        new = [m for m in running if m.revision == self.revision]
        old = [m for m in running if m.revision != self.revision]
        going = new[1:] + old[1:]
        if new and old and (not old[0].ready or new[0].available):
            going.append(old[0])
        return going

    def _roll(self) -> bool:
        surge, unavailable = self._limits
        return self._roll_in_first(surge) if surge else self._roll_out_first(unavailable)

    def _roll_out_first(self, most: int) -> bool:
        """Delete old pods as far as the limit allows; those that are not available do not count against it."""
        missing, broken, candidates = 0, [], []
        for _, new, old, single in self._nodes():
            if not single or bool(new) == bool(old):
                missing += 1
            elif new:
                missing += not new.available
            elif old and not old.available:
                broken.append(old)
                missing += 1
            elif old and missing < most:
                candidates.append(old)
        going = broken + candidates[: max(0, most - missing)]
        for member in going:
            self.remove(member)
        return bool(going)

    def _roll_in_first(self, most: int) -> bool:
        """Make new pods beside old ones as far as the surge allows, and delete the old whose successor is available."""
        surging, available = 0, 0
        going: list[Member] = []
        unwanted: list[Member] = []
        allowed: list[str] = []
        candidates: list[str] = []
        for node, new, old, single in self._nodes():
            if not single:
                surging += 1
                continue
            counted = old or new
            available += counted is not None and counted.available
            if old is None:
                continue
            runs = self.wanted.get(node, Wanted(False, False)).run
            if new is not None:
                surging += not new.available
                going += [old] if new.available else []
            elif not runs:
                (unwanted if old.available else going).append(old)
            elif not old.available:
                allowed.append(node)
            elif surging < most:
                candidates.append(node)
        desired = sum(wanted.run for wanted in self.wanted.values())
        going += unwanted[: max(0, available - desired)]
        for member in going:
            self.remove(member)
        made = [self._make(node) for node in allowed + candidates[: max(0, most - surging)]]
        return bool(going) or any(made)

    # --- small parts

    @property
    def _on_delete(self) -> bool:
        return section(self.daemon_set, "spec", "updateStrategy").get("type") == "OnDelete"

    @property
    def _surge(self) -> int:
        return 0 if self._on_delete else self._limits[0]

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """Surge and unavailability among the nodes that should have a pod; both are rounded up."""
        rolling = {"maxUnavailable": 1} | section(self.daemon_set, "spec", "updateStrategy", "rollingUpdate")
        desired = sum(wanted.run for wanted in self.wanted.values())
        surge = scaled(rolling.get("maxSurge"), desired, up=True)
        unavailable = scaled(rolling["maxUnavailable"], desired, up=True)
        return surge, unavailable if surge or unavailable else 1

    def _by_node(self) -> dict[str, list[Member]]:
        found: dict[str, list[Member]] = {}
        for member in self.members:
            found.setdefault(member.home, []).append(member)
        return found

    def _nodes(self) -> Iterator[tuple[str, Member | None, Member | None, bool]]:
        """Each node that has a pod or should have one, its new and its old pod; False if there are more of either."""
        by_node = self._by_node()
        places = [node for node, wanted in self.wanted.items() if wanted.run or node in by_node]
        for node in places + sorted(by_node.keys() - self.wanted.keys()):
            there = [m for m in by_node.get(node, ()) if not m.terminating]
            new = [m for m in there if m.revision == self.revision]
            old = [m for m in there if m.revision != self.revision]
            if len(new) > 1 or len(old) > 1:
                yield node, None, None, False
            else:
                yield node, (new[0] if new else None), (old[0] if old else None), True

    def _make(self, node: str) -> bool:
        pod = daemon_pod(self.daemon_set, node, self.revision, self.generation)
        made = self.create(pod, self.revision)
        if made is not None:
            made.home = node
        return made is not None

    def _homeless(self, member: Member) -> bool:
        return not member.terminating and not section(member.pod, "spec").get("nodeName")

    def is_new(self, member: Member) -> bool:
        return self.changed and member.revision == self.revision

    def unfinished(self) -> str:
        late = []
        for node, new, old, _ in self._nodes():
            runs = self.wanted.get(node, Wanted(False, False)).run
            done = new is not None and new.available and old is None
            if self._on_delete:
                done = any(member is not None and member.available for member in (new, old))
            if runs and not done:
                late.append(node)
        return f"no updated and available pod on: {', '.join(late)}" if late else ""


def _generation(member: Member) -> int:
    return int64(labels_of(member.pod).get(GENERATION, "")) or 0


def _created(member: Member) -> str:
    return str(section(member.pod, "metadata").get("creationTimestamp") or "")
