"""The binding cycle: assume, reserve, permit and bind, undone when a plugin refuses.

Upstream: assumeAndReserve and bindingCycle in pkg/scheduler/schedule_one.go, and
pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.interface import WaitingPod
from kwhatif.framework.status import Code, Status, fit_message
from kwhatif.golang.parsing import Duration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.profile import Profile, SharedState


class BindingCycle:
    """Binds the pods of one profile. ``held`` are the attempts whose pods wait for a permit, by uid."""

    def __init__(self, cluster: Cluster, profile: Profile, shared: SharedState) -> None:
        self.held: dict[str, Attempt] = {}
        self._cluster, self._profile, self._shared = cluster, profile, shared
        self._framework = profile.framework

    def find_rows(self) -> None:
        """Find held pods again after the cluster's rows were renumbered."""
        for uid, attempt in self.held.items():
            attempt.row = self._cluster.columns.row(self._profile.waiting[uid].node)

    def take_over(self, before: BindingCycle) -> None:
        """Take over the pods that another cycle of this profile holds."""
        self.held, self._profile.waiting = before.held, before._profile.waiting

    def commit(self, attempt: Attempt) -> None:
        """Assume, reserve, permit, bind; undone step by step when a plugin refuses."""
        pod, row = attempt.pod, attempt.row
        assert row is not None
        attempt.chosen = row
        if self.assume_and_reserve(attempt, row) is not None:
            return
        answer = attempt.permit = self._framework.permit(pod, self._cluster.columns.names[row], attempt.states)
        if isinstance(answer, Status):
            self.take_back(attempt)
            self.refuse(attempt, answer)
        elif answer is not None:
            self.hold(attempt, answer)
        else:
            self._bind(attempt)

    def assume_and_reserve(self, attempt: Attempt, row: int) -> Status | None:
        """Count a pod on a node and reserve what it needs there; a refusal undoes both, and is returned."""
        pod = attempt.pod
        self._cluster.assume(pod, row)
        if pod.nominated:
            self._cluster.remove_nomination(pod.uid)
        refusal = self._framework.reserve(pod, self._cluster.columns.names[row], attempt.states)
        if refusal is not None:
            self._cluster.forget(pod.uid)
            self.refuse(attempt, refusal)
        return refusal

    def hold(self, attempt: Attempt, seconds: Mapping[str, float]) -> None:
        """Hold a pod until all permit plugins approve: plugin -> its timeout."""
        assert attempt.row is not None
        pod = attempt.pod
        node = self._cluster.columns.names[attempt.row]
        self._profile.waiting[pod.uid] = WaitingPod(pod, node, self._shared.now, dict(seconds))
        self.held[pod.uid] = attempt
        attempt.waiting = True

    def _bind(self, attempt: Attempt) -> None:
        assert attempt.row is not None
        before = None if self._profile.extenders is None else self._profile.extenders.bind
        refusal = self._framework.bind(attempt.pod, self._cluster.columns.names[attempt.row], attempt.states, before)
        if refusal is not None:
            # Past Permit, any refusal is an accident: the pod was not found unschedulable, it backs off and comes back.
            self._lose(attempt, Status(Code.ERROR, refusal.reasons, refusal.plugin))

    def _turn_away(self, attempt: Attempt, waiting: WaitingPod, refusal: Status) -> None:
        """A pod that waited is rejected. It will try its node first if it was not nominated before it waited.

        Upstream removes only a nomination that the cycle itself has seen, and notifies no other pod of this one.
        """
        nominated = attempt.pod.nominated
        self._lose(attempt, refusal)
        if self._cluster.shapes.features.nominated_node_name_for_expectation and not nominated:
            attempt.keeps_nomination, attempt.pod.nominated = True, waiting.node

    def _lose(self, attempt: Attempt, refusal: Status) -> None:
        attempt.lost = True
        self.take_back(attempt)
        self.refuse(attempt, refusal)

    def take_back(self, attempt: Attempt) -> None:
        """Unreserve and forget a pod that was placed."""
        assert attempt.row is not None
        self._framework.unreserve(attempt.pod, self._cluster.columns.names[attempt.row], attempt.states)
        self._cluster.forget(attempt.pod.uid)

    def refuse(self, attempt: Attempt, refusal: Status) -> None:
        """The chosen node's own plugins refused: the message is about that one node."""
        attempt.row, attempt.refused, attempt.pod.nominated = None, refusal, ""
        attempt.message = fit_message(1, dict.fromkeys(refusal.reasons, 1)) if refusal.is_rejected else refusal.message

    def settle(self) -> list[Attempt]:
        """Bind held pods with all permits, and reject those that were denied or whose timeout is over.

        Returns the attempts that came to an end. Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go.
        """
        ended = []
        for uid, waiting in list(self._profile.waiting.items()):
            refusal = waiting.denied
            if refusal is None and waiting.waits:
                if waiting.deadline > self._shared.now:
                    continue
                refusal = refusal_after_timeout(waiting)
            attempt = self.held[uid]
            if refusal is None:
                self._bind(attempt)
            else:
                self._turn_away(attempt, waiting, refusal)
            attempt.waiting = False
            del self.held[uid], self._profile.waiting[uid]
            if attempt.row is not None:
                self._cluster.touch(attempt.row)
            ended.append(attempt)
        return ended


def refusal_after_timeout(waiting: WaitingPod) -> Status:
    plugin, seconds = min(waiting.waits.items(), key=lambda item: (item[1], item[0]))
    patience = Duration(round(seconds * 1_000_000_000))
    text = f"rejected due to timeout after waiting {patience} at plugin {plugin}"
    return Status(Code.UNSCHEDULABLE, (text,), plugin)
