"""The question of ``expand``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from kwhatif.commands.common_options import CLUSTER, MANIFESTS, RequiredManifests
from kwhatif.results.amounts import format_some
from kwhatif.results.base import INPUT, Gap
from kwhatif.results.expand import ExpandResult
from kwhatif.simulation.command import Output
from kwhatif.simulation.inputs import Notes, SchedulerOptions
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import PreparedScenario

if TYPE_CHECKING:
    from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests


_SCHEDULER = {field.name for field in fields(SchedulerOptions)} - {"strict", "kueue_config"}
"""No scheduler is asked."""


@dataclass(frozen=True, kw_only=True)
class Expand(Question[ExpandResult]):
    """Show the pods that come of manifests, and all that was filled in, changed or refused on the way."""

    lacks = frozenset({"at", *_SCHEDULER})
    prints = Output(reports=(), help="The format to print; yaml is the pods and claims alone.")
    needs_cluster = False
    reads_rules_file = True
    exit_1_when = "something is refused or gets stuck"
    examples = (
        f"{MANIFESTS}/checkout.yaml {CLUSTER}",
        f"{MANIFESTS}/checkout.yaml -o yaml",
    )

    manifests: RequiredManifests = ()

    schedules: ClassVar[bool] = False

    def is_answered_by(self, expanded: ExpandedManifests) -> bool:
        """Warnings of the API server are an answer, too."""
        return bool(expanded.refusals or expanded.warnings)

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[ExpandResult]:
        from kwhatif.simulation.cluster_files import unknown_kinds
        from kwhatif.simulation.expansion.pods import summarize_expansion
        from kwhatif.simulation.expansion.snapshot_objects import template_gap, unknown_gap
        from kwhatif.simulation.fidelity.assess import require_no_gaps
        from kwhatif.simulation.fidelity.gaps import (
            doubt_gaps,
            missing_owner_gaps,
            priority_gaps,
            server_gaps,
            update_gaps,
        )

        (scenario,) = scenarios
        result = summarize_expansion(scenario.expanded)
        pods = scenario.expanded.pods
        gaps = [*missing_owner_gaps(scenario.snapshot, pods), *_gaps_without_nodes(scenario)]
        if others := unknown_kinds(scenario, notes):
            gaps.append(unknown_gap(others, pods))
        if assumed := [rollout.name for rollout in scenario.expanded.rollouts if rollout.assumed]:
            gaps.append(template_gap(scenario.snapshot.dropped, assumed))
        snapshot, covered = scenario.snapshot, scenario.edited.covered
        unread = [*server_gaps(snapshot, covered, pods), *priority_gaps(snapshot, covered, pods)]
        unread += update_gaps(snapshot, covered, scenario.expanded.rollouts)
        seen = {gap.what for gap in gaps}
        unread += doubt_gaps(scenario.expanded.doubts, {item.pod.key for item in pods})
        of_server = [gap for gap in unread if gap.pods and gap.what not in seen]
        # Without a cluster it goes without saying that nothing is known of it.
        for gap in [*gaps, *(of_server if scenario.inputs.snapshot else ())]:
            notes.warn(f"{gap} [{format_some(gap.pods)}]")
        gaps += [*of_server, *scenario.read.gaps]
        if scenario.scheduler_options.strict:
            require_no_gaps(gaps)
        return Answer(replace(result, edits=tuple(scenario.snapshot.edits), gaps=tuple(gaps)))


def _gaps_without_nodes(scenario: PreparedScenario) -> Iterator[Gap]:
    """That a DaemonSet has a pod a node, and no node is known."""
    from kwhatif.api.core import Node

    names = [manifest.obj.name for manifest in scenario.manifests if manifest.obj.kind == "DaemonSet"]
    if names and not scenario.snapshot.objects.list_all(Node):
        what = f"{'DaemonSet' if len(names) == 1 else 'DaemonSets'} {format_some(names)}: no nodes are known"
        effect = "their number of pods is that of the nodes, so none is here; --snapshot names the cluster"
        yield Gap(what=what, effect=effect, pods=(INPUT,))
