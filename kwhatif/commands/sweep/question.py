"""The question of ``sweep``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from kwhatif.commands.common_options import FleetOptions
from kwhatif.commands.sweep.options import SweepOptions
from kwhatif.commands.sweep.result import SweepResult
from kwhatif.simulation.command import Command, Output
from kwhatif.simulation.flag import Argument, values_of
from kwhatif.simulation.inputs import Files
from kwhatif.simulation.scenario_options import AutoscaledOptions


@dataclass(frozen=True, kw_only=True)
class Sweep(SweepOptions, FleetOptions, Command[SweepResult]):
    """Try many scheduler policies on the same pods: which are best, and which settings matter.

    Each differs from today's policy in the settings of a SweepSpace document; of equal nodes each takes the one that
    one worker of that version does. Shown are the policies that no other beats by every objective.
    docs/how-to/search-for-a-policy.md
    explains the measures.

    Exit codes: 0 policies were compared, 2 usage or input error.
    """

    takes = AutoscaledOptions
    lacks: ClassVar[frozenset[str]] = frozenset({"verb", "at", "call_extenders"})
    prints = Output(rows_help="Show all policies and settings. Default: the front, and what matters most.")
    examples = (
        "samples/sweep/training.yaml --space samples/sweep/space.yaml --snapshot samples/sweep/cluster.yaml "
        "--replay all",
        "--replay namespace=shop --space samples/sweep/space.yaml --snapshot samples/sweep/cluster.yaml --prices "
        "samples/sweep/prices.yaml --objective cost --objective zoneSkew=0.5 --write best.yaml",
    )

    manifests: Annotated[
        Files, Argument(metavar="FILE", file="manifests", repeats=True, help="Manifests with pods to schedule.")
    ] = ()

    @classmethod
    def has_gaps(cls) -> bool:
        return True

    def choose(self) -> Command[Any]:
        from kwhatif.commands.sweep.run import SweepPolicies

        fleet = values_of(FleetOptions, self)
        return SweepPolicies(manifests=self.manifests, **fleet, **values_of(SweepOptions, self))
