"""kwhatif: what would kube-scheduler do?

    import kwhatif

    result = kwhatif.place(["db.yaml"], snapshot="cluster.json", kubernetes_version="1.34")
    for placement in result.placements:
        print(placement.pod, placement.node or placement.message)

``place``, ``explain``, ``expand``, ``capacity``, ``drain``, ``outage``, ``chances``, ``diff``, ``sweep``, ``gate``,
``rightsize``, ``backtest`` and ``autoscale`` answer as the commands of these names do; ``karpenter``,
``diff_node_pools``, ``explain_consolidation`` and ``backtest_diff`` as those do with the options that ask so. Files are
given by their paths, manifests also as plain values, a cluster also as what ``load_snapshot`` makes of some, or as
``live()``, the one that kubectl would talk to. Every result has ``exit_code``, ``notes``, ``to_dict()`` (what
``-o json`` prints) and ``to_dicts()`` (its rows).

Names are imported when they are first used, so that ``import kwhatif`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, NodesExplained, PoolsDiff
    from kwhatif.commands.autoscale.pools_diff import diff_node_pools
    from kwhatif.commands.autoscale.result import AutoscaleResult
    from kwhatif.commands.autoscale.run import autoscale, explain_consolidation, karpenter
    from kwhatif.commands.backtest.diff_result import BacktestDiff
    from kwhatif.commands.backtest.result import BacktestResult
    from kwhatif.commands.backtest.run import backtest, backtest_diff
    from kwhatif.commands.capacity.result import CapacityResult
    from kwhatif.commands.capacity.run import capacity
    from kwhatif.commands.chances.result import ChancesResult
    from kwhatif.commands.chances.run import chances
    from kwhatif.commands.deschedule.result import DescheduleResult
    from kwhatif.commands.deschedule.run import deschedule
    from kwhatif.commands.diff.run import diff
    from kwhatif.commands.drain.run import drain
    from kwhatif.commands.expand.run import expand
    from kwhatif.commands.explain.run import explain
    from kwhatif.commands.gate.run import gate
    from kwhatif.commands.live_cluster import live
    from kwhatif.commands.outage.run import outage
    from kwhatif.commands.place.run import place
    from kwhatif.commands.rightsize.result import RightsizeResult
    from kwhatif.commands.rightsize.run import rightsize
    from kwhatif.commands.sweep.result import SweepResult
    from kwhatif.commands.sweep.run import sweep
    from kwhatif.commands.upgrade.result import UpgradeResult
    from kwhatif.commands.upgrade.run import upgrade
    from kwhatif.errors import KwhatifError
    from kwhatif.framework.interface import Plugin
    from kwhatif.results.diff import DecisionDiff
    from kwhatif.results.disruption import DrainResult, OutageResult
    from kwhatif.results.expand import ExpandResult
    from kwhatif.results.explain import ExplainResult
    from kwhatif.results.gate import GateResult
    from kwhatif.results.place import PlaceResult
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import load_snapshot

__all__ = [
    "AutoscaleResult",
    "BacktestDiff",
    "BacktestResult",
    "CapacityResult",
    "ChancesResult",
    "DecisionDiff",
    "DescheduleResult",
    "DrainResult",
    "ExpandResult",
    "ExplainResult",
    "GateResult",
    "KarpenterResult",
    "KwhatifError",
    "NodesExplained",
    "OutageResult",
    "PlaceResult",
    "Plugin",
    "PoolsDiff",
    "RightsizeResult",
    "Snapshot",
    "SweepResult",
    "UpgradeResult",
    "autoscale",
    "backtest",
    "backtest_diff",
    "capacity",
    "chances",
    "deschedule",
    "diff",
    "diff_node_pools",
    "drain",
    "expand",
    "explain",
    "explain_consolidation",
    "gate",
    "karpenter",
    "live",
    "load_snapshot",
    "outage",
    "place",
    "rightsize",
    "sweep",
    "upgrade",
]

_HOMES = {
    "commands.autoscale.karpenter_result": (
        "KarpenterResult",
        "NodesExplained",
        "PoolsDiff",
    ),
    "commands.autoscale.pools_diff": ("diff_node_pools",),
    "commands.autoscale.result": ("AutoscaleResult",),
    "commands.autoscale.run": (
        "autoscale",
        "explain_consolidation",
        "karpenter",
    ),
    "commands.backtest.diff_result": ("BacktestDiff",),
    "commands.backtest.result": ("BacktestResult",),
    "commands.backtest.run": (
        "backtest",
        "backtest_diff",
    ),
    "commands.capacity.result": ("CapacityResult",),
    "commands.capacity.run": ("capacity",),
    "commands.chances.result": ("ChancesResult",),
    "commands.chances.run": ("chances",),
    "commands.deschedule.result": ("DescheduleResult",),
    "commands.deschedule.run": ("deschedule",),
    "commands.diff.run": ("diff",),
    "commands.drain.run": ("drain",),
    "commands.expand.run": ("expand",),
    "commands.explain.run": ("explain",),
    "commands.gate.run": ("gate",),
    "commands.live_cluster": ("live",),
    "commands.outage.run": ("outage",),
    "commands.place.run": ("place",),
    "commands.rightsize.result": ("RightsizeResult",),
    "commands.rightsize.run": ("rightsize",),
    "commands.sweep.result": ("SweepResult",),
    "commands.sweep.run": ("sweep",),
    "commands.upgrade.result": ("UpgradeResult",),
    "commands.upgrade.run": ("upgrade",),
    "errors": ("KwhatifError",),
    "framework.interface": ("Plugin",),
    "results.diff": ("DecisionDiff",),
    "results.disruption": (
        "DrainResult",
        "OutageResult",
    ),
    "results.expand": ("ExpandResult",),
    "results.explain": ("ExplainResult",),
    "results.gate": ("GateResult",),
    "results.place": ("PlaceResult",),
    "snapshot.format.model": ("Snapshot",),
    "snapshot.load": ("load_snapshot",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
