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
    from kwhatif.commands.api_over_time import deschedule, upgrade
    from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, NodesExplained, PoolsDiff
    from kwhatif.commands.autoscale.result import AutoscaleResult
    from kwhatif.commands.backtest.diff_result import BacktestDiff
    from kwhatif.commands.backtest.result import BacktestResult
    from kwhatif.commands.capacity.result import CapacityResult
    from kwhatif.commands.chances.result import ChancesResult
    from kwhatif.commands.deschedule.result import DescheduleResult
    from kwhatif.commands.questions import (
        autoscale,
        backtest,
        backtest_diff,
        capacity,
        chances,
        diff,
        diff_node_pools,
        drain,
        expand,
        explain,
        explain_consolidation,
        gate,
        karpenter,
        live,
        outage,
        place,
        sweep,
    )
    from kwhatif.commands.rightsize.result import RightsizeResult
    from kwhatif.commands.rightsize.run import rightsize
    from kwhatif.commands.sweep.result import SweepResult
    from kwhatif.commands.upgrade.result import UpgradeResult
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
    "errors": ("KwhatifError",),
    "framework.interface": ("Plugin",),
    "results.autoscale": ("AutoscaleResult",),
    "results.backtest": ("BacktestResult",),
    "results.backtest_diff": ("BacktestDiff",),
    "results.capacity": ("CapacityResult",),
    "results.chances": ("ChancesResult",),
    "results.deschedule": ("DescheduleResult",),
    "results.diff": ("DecisionDiff",),
    "results.drain": ("DrainResult",),
    "results.expand": ("ExpandResult",),
    "results.explain": ("ExplainResult",),
    "results.gate": ("GateResult",),
    "results.karpenter": ("KarpenterResult", "NodesExplained", "PoolsDiff"),
    "results.outage": ("OutageResult",),
    "results.place": ("PlaceResult",),
    "results.rightsize": ("RightsizeResult",),
    "results.sweep": ("SweepResult",),
    "results.upgrade": ("UpgradeResult",),
    "snapshot.format.model": ("Snapshot",),
    "snapshot.load": ("load_snapshot",),
    "whatif.rightsize.from_python": ("rightsize",),
    "whatif.questions": (
        "autoscale",
        "backtest",
        "backtest_diff",
        "capacity",
        "chances",
        "diff",
        "diff_node_pools",
        "drain",
        "expand",
        "explain",
        "explain_consolidation",
        "gate",
        "karpenter",
        "live",
        "outage",
        "place",
        "sweep",
    ),
    "whatif.questions_over_time": ("deschedule", "upgrade"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
