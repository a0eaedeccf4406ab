"""``autoscale`` as a question: of cluster-autoscaler, of Karpenter, and of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kwhatif.results.autoscale import AutoscaleResult
from kwhatif.results.karpenter import AutoscalersResult, KarpenterResult, NodesExplained
from kwhatif.results.place import PlaceResult
from kwhatif.whatif.autoscale.autoscale import autoscale, groups_of
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups
from kwhatif.whatif.place.afterwards import End, afterwards
from kwhatif.whatif.place.place import placed
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Autoscale(Question[AutoscaleResult]):
    """What would cluster-autoscaler do with these pods, and with those that wait in the snapshot?

    ``groups`` is the file with the node groups. With ``scale_down`` also: which nodes are unneeded? ``orders`` is in
    how many other orders nodes and pods are listed, to tell what is left to chance. If nodes take ``provision`` seconds
    to come up, scheduler and autoscaler go on in turns until nothing more happens.
    """

    groups: str
    scale_down: bool = False
    orders: int = 6
    provision: int | None = None
    with_pending: bool = True

    def needs_pods(self, case: Case) -> bool:
        return bool(case.inputs.manifests)

    def pods(self, case: Case) -> list[Asked]:
        return waiting_pods(super().pods(case))

    def answer(self, cases: Sequence[Case], notes: Notes) -> AutoscaleResult:
        (case,) = cases
        known = groups_of(self.groups, case.snapshot, notes, case.inputs.now)
        return self.after(placed(case.session, case.asked, **beside(case))[0], case, known)

    def after(self, result: PlaceResult, case: Case, known: KnownGroups) -> AutoscaleResult:
        """Once the scheduler has placed what it could."""
        found = autoscale(
            case.session,
            result,
            case.asked,
            known,
            scale_down=self.scale_down,
            orders=self.orders,
            provision=self.provision,
            now=case.inputs.now,
        )
        return replace(found, **case.refused)


@dataclass(frozen=True)
class Karpenter(Question[KarpenterResult]):
    """What would Karpenter do with these pods, and with those that wait in the snapshot?

    ``catalogue`` is the file with the instance types; ``node_pools`` are files with NodePools, instead of those of the
    snapshot. With ``consolidate`` also: which nodes would it give back?
    """

    catalogue: str
    node_pools: Sequence[str] = ()
    consolidate: bool = False
    with_pending: bool = True

    def needs_pods(self, case: Case) -> bool:
        return bool(case.inputs.manifests)

    def pods(self, case: Case) -> list[Asked]:
        return waiting_pods(super().pods(case))

    def answer(self, cases: Sequence[Case], notes: Notes) -> KarpenterResult:
        (case,) = cases
        return self.after(*placed(case.session, case.asked, **beside(case)), case)

    def after(self, result: PlaceResult, end: End, case: Case) -> KarpenterResult:
        """Once the scheduler has placed what it could."""
        from kwhatif.whatif.autoscale.instance_types_document import read_catalogue
        from kwhatif.whatif.autoscale.karpenter_plan import karpenter, pools_of

        pools, known = pools_of(case.snapshot, self.node_pools), read_catalogue(self.catalogue)
        later = afterwards(case.snapshot, case.edited.covered, case.expanded, end)
        found = karpenter(later, result, known, pools, consolidation=self.consolidate, now=case.inputs.now)
        return replace(found, **case.refused)


@dataclass(frozen=True)
class ExplainNodes(Question[NodesExplained]):
    """Why does Karpenter give these nodes back, or keep them?"""

    names: Sequence[str]
    catalogue: str
    node_pools: Sequence[str] = ()
    with_pending: bool = True

    def needs_pods(self, case: Case) -> bool:
        return bool(case.inputs.manifests)

    def pods(self, case: Case) -> list[Asked]:
        return waiting_pods(super().pods(case))

    def answer(self, cases: Sequence[Case], notes: Notes) -> NodesExplained:
        from kwhatif.whatif.autoscale.instance_types_document import read_catalogue
        from kwhatif.whatif.autoscale.karpenter_plan import explained, pools_of, world_of

        (case,) = cases
        pools, known = pools_of(case.snapshot, self.node_pools), read_catalogue(self.catalogue)
        result, end = placed(case.session, case.asked, **beside(case))
        later = afterwards(case.snapshot, case.edited.covered, case.expanded, end)
        return NodesExplained(
            catalogue=known.source,
            incomplete=known.incomplete,
            nodes=tuple(explained(world_of(later, known, pools, case.inputs.now), self.names)),
            fidelity=result.fidelity,
        )


@dataclass(frozen=True)
class Autoscalers(Question[AutoscalersResult]):
    """What would both do, each for its own nodes?"""

    cluster_autoscaler: Autoscale
    karpenter: Karpenter
    with_pending: bool = True

    def needs_pods(self, case: Case) -> bool:
        return self.karpenter.needs_pods(case)

    def pods(self, case: Case) -> list[Asked]:
        return self.karpenter.pods(case)

    def answer(self, cases: Sequence[Case], notes: Notes) -> AutoscalersResult:
        (case,) = cases
        known = groups_of(self.cluster_autoscaler.groups, case.snapshot, notes, case.inputs.now)
        result, end = placed(case.session, case.asked, **beside(case))
        bought = self.karpenter.after(result, end, case)
        return AutoscalersResult(
            cluster_autoscaler=self.cluster_autoscaler.after(result, case, known), karpenter=bought
        )


def waiting_pods(pods: Sequence[Asked]) -> list[Asked]:
    """Those that are not on their way out."""
    return [item for item in pods if not item.pod.metadata.deletion_timestamp]


def beside(case: Case) -> dict[str, Any]:
    """What placing the pods of a case takes besides."""
    return {"rollouts": case.expanded.rollouts, "others": case.others}
