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
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if find_spec(f"{__name__}.{name}") is not None:
        # One of our own modules: ``from kwhatif import bounds`` imports it when this fails.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module(f"{__name__}.commands.public")
    if name == "__all__":
        return public.names()
    try:
        return globals().setdefault(name, public.public_object(name))
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
