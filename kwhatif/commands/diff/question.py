"""The question of ``diff``: of two sides, of what Karpenter buys, or of whom the descheduler evicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from kwhatif.commands.autoscale.karpenter_result import PoolsDiff
from kwhatif.commands.autoscale.options import ComparePoolsOptions
from kwhatif.commands.common_options import CLUSTER, MANIFESTS
from kwhatif.commands.deschedule.options import ComparePoliciesOptions
from kwhatif.commands.deschedule.result import DescheduleDiff
from kwhatif.commands.diff.options import DiffOptions
from kwhatif.errors import UsageError
from kwhatif.results.diff import DecisionDiff
from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import Argument, values_of
from kwhatif.simulation.inputs import Files
from kwhatif.simulation.scenario_options import AutoscaledOptions


@dataclass(frozen=True, kw_only=True)
class _DiffSides(DiffOptions, Command[DecisionDiff]):
    """Compare the decisions of two policies, Kubernetes versions, clusters or sets of manifests.

    Each side places the pods that 'kwhatif place' does. Of equally good nodes both sides take the same one: a
    tie is no difference.
    """

    takes = AutoscaledOptions
    lacks: ClassVar[frozenset[str]] = frozenset({"verb", "at", "call_extenders"})
    exit_1_when = "something differs"
    examples = (
        f"{MANIFESTS}/web.yaml {CLUSTER} --policy default --policy samples/policies/most-allocated.yaml",
        f"--replay all {CLUSTER} --policy default@1.30 --policy default@1.36",
    )

    manifests: Annotated[
        Files,
        Argument(
            metavar="FILE", file="manifests", repeats=True, help="Manifests with the pods, the same for both sides."
        ),
    ] = ()

    @classmethod
    def has_gaps(cls) -> bool:
        return True

    def choose(self) -> Command[Any]:
        from kwhatif.commands.diff.run import CompareSides

        return CompareSides(manifests=self.manifests, **values_of(DiffOptions, self))


@dataclass(frozen=True, kw_only=True)
class Diff(_DiffSides, ComparePoolsOptions, ComparePoliciesOptions, Command[DecisionDiff | PoolsDiff | DescheduleDiff]):
    """Compare the decisions of two policies, Kubernetes versions, clusters or sets of manifests.

    With --node-pools, or --catalogue twice: what Karpenter would buy for the pods that wait, and for how much. With
    --deschedule twice: whom the descheduler would evict by each policy, and what follows.

    Each side places the pods that 'kwhatif place' does. Of equally good nodes both sides take the same one: a
    tie is no difference.
    """

    functions: ClassVar[Mapping[str, str]] = {
        "diff": "question:_DiffSides",
        "diff_descheduling": "kwhatif.commands.deschedule.compare_policies:ComparePolicies",
        "diff_node_pools": "kwhatif.commands.autoscale.pools_diff:ComparePools",
    }

    def choose(self) -> Command[Any]:
        sides = any(values_of(DiffOptions, self).values())
        pools = values_of(ComparePoolsOptions, self)
        if any(pools.values()):
            if sides:
                raise UsageError("--node-pools, --catalogue and --rebuild go with manifests for both sides alone")
            from kwhatif.commands.autoscale.pools_diff import ComparePools

            return ComparePools(manifests=self.manifests, **pools)
        if self.deschedule:
            if self.manifests or sides:
                raise UsageError("--deschedule compares evictions of pods that run: it takes no pods to place")
            from kwhatif.commands.deschedule.compare_policies import ComparePolicies

            return ComparePolicies(**values_of(ComparePoliciesOptions, self))
        return super().choose()
