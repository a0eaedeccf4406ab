"""What stands before anything fails, to compare with: workloads with their replicas, budgets with what they want."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from kwhatif.api.others import PodDisruptionBudget
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outage import BrokenFloor
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.fidelity.ownership import Owners

STATEFUL_SET = "StatefulSet"


class Standing:
    """Workloads and budgets of a cluster in which nothing has failed yet."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster) -> None:
        self._owners = Owners(snapshot)
        self._workloads: dict[tuple[int, str], str] = {}
        self._cluster = cluster
        self._snapshot = snapshot

    def workload_of(self, info: PodInfo) -> str:
        """The workload at the top, as ``Deployment shop/web``."""
        controller = info.shape.controller
        # Pods of one shape share their controller; one without is its own workload.
        key = info.shape.index, "" if controller is not None else info.key
        if key not in self._workloads:
            self._workloads[key] = str(self._owners.workload_of(info.pod))
        return self._workloads[key]

    @cached_property
    def replicas(self) -> Counter[str]:
        """How many pods of each workload have a node."""
        return Counter(self.workload_of(info) for info, _ in self._cluster.pods())

    @cached_property
    def _wanted(self) -> dict[str, int]:
        """The replicas that each StatefulSet asks for, where the snapshot tells."""
        return {
            f"{STATEFUL_SET} {each['metadata'].get('namespace') or 'default'}/{each['metadata']['name']}": int(
                each.get("spec", {}).get("replicas", 1)
            )
            for each in self._snapshot.whole.get(STATEFUL_SET, ())
        }

    def loses_quorum(self, workload: str, left: int) -> bool:
        """Whether so many of a StatefulSet's replicas are no more than half of them, and were more."""
        if not workload.startswith(STATEFUL_SET):
            return False
        wanted = max(self._wanted.get(workload, 0), self.replicas[workload])
        return 2 * left <= wanted < 2 * self.replicas[workload]

    # --- budgets

    @cached_property
    def _budgets(self) -> list[tuple[PodDisruptionBudget, Selector, int, int]]:
        """Budgets that the controller has judged: with the healthy pods they want and have."""
        found = []
        for budget in self._cluster.objects.of(PodDisruptionBudget):
            status = budget.status
            if budget.spec.selector is None or status.desired_healthy is None:
                continue
            try:
                selector = Selector.of(budget.spec.selector)
            except SelectorError:
                continue
            healthy = status.current_healthy
            if healthy is None:
                healthy = status.desired_healthy + (status.disruptions_allowed or 0)
            found.append((budget, selector, status.desired_healthy, healthy))
        return found

    @cached_property
    def _about(self) -> dict[int, list[int]]:
        return {}

    def broken_floors(self, lost: Iterable[PodInfo]) -> tuple[BrokenFloor, ...]:
        """The budgets that have fewer healthy pods than they want once these are lost, which had enough before."""
        gone = Counter(place for info in lost if is_healthy(info) for place in self._selecting(info))
        broken = []
        for place in sorted(gone):
            budget, _, desired, healthy = self._budgets[place]
            after = healthy - gone[place]
            if after < desired <= healthy:
                name = f"{budget.namespace}/{budget.name}"
                broken.append(BrokenFloor(budget=name, desired=desired, before=healthy, after=max(after, 0)))
        return tuple(broken)

    def _selecting(self, info: PodInfo) -> Sequence[int]:
        found = self._about.get(info.shape.index)
        if found is None:
            shape = info.shape
            found = self._about[shape.index] = [
                place
                for place, (budget, selector, _, _) in enumerate(self._budgets)
                if budget.namespace == shape.namespace and selector.matches(shape.labels)
            ]
        return found


def is_healthy(info: PodInfo) -> bool:
    """Whether a budget counts the pod: it is ready, as far as its conditions tell, and not on its way out."""
    if info.shape.terminating:
        return False
    return all(one.status == "True" for one in info.pod.status.conditions or () if one.type == "Ready")
