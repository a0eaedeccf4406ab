"""``autoscale`` as a question: of cluster-autoscaler, of Karpenter, and of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kwhatif.results.autoscale import AutoscaleResult
from kwhatif.results.karpenter import AutoscalersResult, KarpenterResult, NodesExplained
from kwhatif.results.parts import Fidelity, Result
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.autoscale import autoscale, groups_of
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups
from kwhatif.whatif.place.afterwards import afterwards
from kwhatif.whatif.place.place import Placed, placed
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True)
class AfterPlacing(Question[R_co]):
    """What becomes of these pods, and of those that wait in the snapshot, once the scheduler has placed what it could?

    Pods that are on their way out are none of them.
    """

    with_pending = True

    def needs_pods(self, case: Case) -> bool:
        return bool(case.inputs.manifests)

    def pods(self, case: Case) -> list[Asked]:
        return [item for item in super().pods(case) if not item.pod.metadata.deletion_timestamp]


def after_placing(case: Case, after: Callable[[Placed, Fidelity], R_co]) -> Answer[R_co]:
    """The scheduler places what it can; what comes ``after`` is the result."""
    run = placed(case.session, case.asked, rollouts=case.expanded.rollouts, others=case.others)
    return Answer([run.basis], partial(after, run))


def later(case: Case, run: Placed) -> Snapshot:
    """The cluster as a run leaves it."""
    return afterwards(case.snapshot, case.edited.covered, case.expanded, run.end)


@dataclass(frozen=True)
class Autoscale(AfterPlacing[AutoscaleResult]):
    """What would cluster-autoscaler do?

    ``groups`` is the file with the node groups. With ``scale_down`` also: which nodes are unneeded? ``orders`` is in
    how many other orders nodes and pods are listed, to tell what is left to chance. If nodes take ``provision`` seconds
    to come up, scheduler and autoscaler go on in turns until nothing more happens.
    """

    groups: str
    scale_down: bool = False
    orders: int = 6
    provision: int | None = None

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[AutoscaleResult]:
        (case,) = cases
        known = groups_of(self.groups, case.snapshot, notes, case.inputs.now)
        return after_placing(case, partial(self.after, case, known))

    def after(self, case: Case, known: KnownGroups, run: Placed, fidelity: Fidelity) -> AutoscaleResult:
        """Once the scheduler has placed what it could."""
        return autoscale(
            case.session,
            run.placements,
            case.asked,
            known,
            scale_down=self.scale_down,
            orders=self.orders,
            provision=self.provision,
            now=case.inputs.now,
            fidelity=fidelity,
        )


@dataclass(frozen=True)
class Karpenter(AfterPlacing[KarpenterResult]):
    """What would Karpenter do?

    ``catalogue`` is the file with the instance types; ``node_pools`` are files with NodePools, instead of those of the
    snapshot. With ``consolidate`` also: which nodes would it give back? In ``orders`` more orders of Karpenter's maps
    is looked, to tell what is left to chance.
    """

    catalogue: str
    node_pools: Sequence[str] = ()
    consolidate: bool = False
    orders: int = 6

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[KarpenterResult]:
        (case,) = cases
        return after_placing(case, partial(self.after, case))

    def after(self, case: Case, run: Placed, fidelity: Fidelity) -> KarpenterResult:
        """Once the scheduler has placed what it could."""
        from kwhatif.whatif.autoscale.instance_types_document import read_catalogue
        from kwhatif.whatif.autoscale.karpenter_plan import karpenter, pools_of

        pools, known = pools_of(case.snapshot, self.node_pools), read_catalogue(self.catalogue)
        return karpenter(
            later(case, run),
            run.placements,
            known,
            pools,
            consolidation=self.consolidate,
            orders=self.orders,
            now=case.inputs.now,
            fidelity=fidelity,
        )


@dataclass(frozen=True)
class ExplainNodes(AfterPlacing[NodesExplained]):
    """Why does Karpenter give these nodes back, or keep them?"""

    names: Sequence[str]
    catalogue: str
    node_pools: Sequence[str] = ()

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[NodesExplained]:
        from kwhatif.whatif.autoscale.instance_types_document import read_catalogue
        from kwhatif.whatif.autoscale.karpenter_plan import explained, pools_of, world_of

        (case,) = cases
        pools, known = pools_of(case.snapshot, self.node_pools), read_catalogue(self.catalogue)

        def after(run: Placed, fidelity: Fidelity) -> NodesExplained:
            world = world_of(later(case, run), known, pools, case.inputs.now)
            return NodesExplained(
                catalogue=known.source,
                incomplete=known.incomplete,
                nodes=tuple(explained(world, self.names)),
                fidelity=fidelity,
            )

        return after_placing(case, after)


@dataclass(frozen=True)
class Autoscalers(AfterPlacing[AutoscalersResult]):
    """What would both do, each for its own nodes?"""

    cluster_autoscaler: Autoscale
    karpenter: Karpenter

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[AutoscalersResult]:
        (case,) = cases
        known = groups_of(self.cluster_autoscaler.groups, case.snapshot, notes, case.inputs.now)

        def after(run: Placed, fidelity: Fidelity) -> AutoscalersResult:
            bought = self.karpenter.after(case, run, fidelity)
            grown = self.cluster_autoscaler.after(case, known, run, fidelity)
            return AutoscalersResult(cluster_autoscaler=grown, karpenter=bought)

        return after_placing(case, after)
