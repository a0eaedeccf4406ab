"""kwhatif: what would kube-scheduler do?

    import kwhatif

    result = kwhatif.place(["db.yaml"], snapshot="cluster.json", kubernetes_version="1.34")
    for placement in result.placements:
        print(placement.pod, placement.node or placement.message)

``place``, ``explain``, ``expand``, ``capacity``, ``drain``, ``outage``, ``diff``, ``gate`` and ``autoscale`` answer as
the commands of these names do. Files are given by their paths, manifests also as plain values, a cluster also as what
``load_snapshot`` makes of some. Every result has ``exit_code``, ``notes``, ``to_dict()`` (what ``-o json`` prints) and
``to_dicts()`` (its rows).

Names are imported when they are first used, so that ``import kwhatif`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kwhatif.errors import KwhatifError
    from kwhatif.framework.interface import Plugin
    from kwhatif.results.autoscale import AutoscaleResult
    from kwhatif.results.capacity import CapacityResult
    from kwhatif.results.diff import DecisionDiff
    from kwhatif.results.drain import DrainResult
    from kwhatif.results.expand import ExpandResult
    from kwhatif.results.explain import ExplainResult
    from kwhatif.results.gate import GateResult
    from kwhatif.results.outage import OutageResult
    from kwhatif.results.place import PlaceResult
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.whatif.questions import autoscale, capacity, diff, drain, expand, explain, gate, outage, place

__all__ = [
    "AutoscaleResult",
    "CapacityResult",
    "DecisionDiff",
    "DrainResult",
    "ExpandResult",
    "ExplainResult",
    "GateResult",
    "KwhatifError",
    "OutageResult",
    "PlaceResult",
    "Plugin",
    "Snapshot",
    "autoscale",
    "capacity",
    "diff",
    "drain",
    "expand",
    "explain",
    "gate",
    "load_snapshot",
    "outage",
    "place",
]

_HOMES = {
    "errors": ("KwhatifError",),
    "framework.interface": ("Plugin",),
    "results.autoscale": ("AutoscaleResult",),
    "results.capacity": ("CapacityResult",),
    "results.diff": ("DecisionDiff",),
    "results.drain": ("DrainResult",),
    "results.expand": ("ExpandResult",),
    "results.explain": ("ExplainResult",),
    "results.gate": ("GateResult",),
    "results.outage": ("OutageResult",),
    "results.place": ("PlaceResult",),
    "snapshot.format.model": ("Snapshot",),
    "snapshot.load": ("load_snapshot",),
    "whatif.questions": ("autoscale", "capacity", "diff", "drain", "expand", "explain", "gate", "outage", "place"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
