"""The question of ``capacity``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import structs

from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.commands.common_options import CLUSTER, MANIFESTS, RequiredManifests
from kwhatif.errors import UsageError
from kwhatif.results.base import Gap
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.simulation.session import Session


@dataclass(frozen=True, kw_only=True)
class Capacity(Question[CapacityResult]):
    """Count how many more copies of a pod, or of a release, fit: per node, in total, and what limits them.

    A copy is all pods of the manifests together; with --pod, one pod of the workload. No pod is evicted for it.
    """

    takes = AutoscaledOptions
    lacks = frozenset({"verb"})
    exit_1_when = "fewer fit than --at-least says"
    examples = (
        f"{MANIFESTS}/checkout.yaml {CLUSTER}",
        f"{MANIFESTS}/checkout.yaml {CLUSTER} --at-least 5",
    )
    as_new = True
    counts_copies: ClassVar[bool] = True

    manifests: RequiredManifests = ()
    pod: Annotated[bool, Flag("--pod", help="Count single pods of the one workload of the manifests.")] = False
    at_least: Annotated[
        int, Flag("--at-least", metavar="N", least=0, shows_default=True, help="Exit with 1 if fewer than N fit.")
    ] = 1
    limit: Annotated[int | None, Flag("--limit", metavar="N", least=0, help="Stop counting at N.")] = None

    def check(self, scenario: Scenario) -> None:
        if self.limit is not None and self.limit < self.at_least:
            raise UsageError(f"--limit {self.limit} ends the count before --at-least {self.at_least} can be reached")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[CapacityResult]:
        from kwhatif.commands.capacity.capacity import measure_capacity

        (scenario,) = scenarios
        return measure_capacity(
            _session_of(scenario, single=self.pod),
            scenario.expanded,
            single=self.pod,
            at_least=self.at_least,
            limit=self.limit,
            unknown_kinds=scenario.unknown_kinds,
            first=scenario.edited.waiting_pods,
            scaler=scenario.scaler,
            **scenario.refusal_fields,
        )


def _session_of(scenario: PreparedScenario, *, single: bool) -> Session:
    """The session to fill, with a gap where the number of copies is not that which Kueue would let start."""
    queues = scenario.edited.queues
    admitted = [pod.pod.key for pod in scenario.expanded.pods if pod.pod.key not in queues.held]
    copies = queues.copies
    if not queues.words or not admitted:
        return scenario.session
    if single and len(scenario.expanded.pods) > 1:
        what = "Kueue is asked about the whole job alone, not about single pods"
        effect = "the others count as admitted in its flavors, whatever their quota"
    elif copies is not None and copies.elsewhere:
        what = f"Kueue admits copy {copies.fits + 1} in other flavors ({copies.elsewhere})"
        effect = "copies are counted in the flavors of the first alone"
    else:
        return scenario.session
    read = structs.replace(
        scenario.read, gaps=(*scenario.read.gaps, Gap(what=what, effect=effect, pods=tuple(admitted)))
    )
    return dataclasses.replace(scenario, read=read).new_session()
