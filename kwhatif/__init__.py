"""kwhatif: what would kube-scheduler do?

    import kwhatif

    result = kwhatif.place(["db.yaml"], snapshot="cluster.json", kubernetes_version="1.34")
    for placement in result.placements:
        print(placement.pod, placement.node or placement.message)

``place``, ``explain``, ``expand``, ``capacity``, ``drain``, ``outage``, ``chances``, ``diff``, ``sweep``, ``gate``,
``backtest`` and ``autoscale`` answer as the commands of these names do; ``karpenter``, ``diff_node_pools``,
``explain_consolidation`` and ``backtest_diff`` as those do with the options that ask so. Files are given by their
paths, manifests also as plain values, a cluster also as what ``load_snapshot`` makes of some, or as ``live()``, the
one that kubectl would talk to. Every result has ``exit_code``, ``notes``, ``to_dict()`` (what ``-o json`` prints) and
``to_dicts()`` (its rows).

Names are imported when they are first used, so that ``import kwhatif`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, NodesExplained, PoolsDiff
    from kwhatif.commands.autoscale.result import AutoscaleResult
    from kwhatif.commands.backtest.diff_result import BacktestDiff
    from kwhatif.commands.backtest.result import BacktestResult
    from kwhatif.commands.capacity.result import CapacityResult
    from kwhatif.commands.chances.result import ChancesResult
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
    from kwhatif.commands.sweep.result import SweepResult
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
    "Snapshot",
    "SweepResult",
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
    "load_snapshot",
    "outage",
    "place",
    "sweep",
]

_HOMES = {
    "commands.autoscale.karpenter_result": (
        "KarpenterResult",
        "NodesExplained",
        "PoolsDiff",
    ),
    "commands.autoscale.result": ("AutoscaleResult",),
    "commands.backtest.diff_result": ("BacktestDiff",),
    "commands.backtest.result": ("BacktestResult",),
    "commands.capacity.result": ("CapacityResult",),
    "commands.chances.result": ("ChancesResult",),
    "commands.questions": (
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
    "commands.sweep.result": ("SweepResult",),
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
