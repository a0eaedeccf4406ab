"""``-o name``: a line a pod, for scripts, as ``kubectl get -o name`` names things."""

from __future__ import annotations

from kwhatif.report.blocks import NONE
from kwhatif.report.escape import clean, in_text
from kwhatif.results.place import PlaceResult


def names_of(result: PlaceResult) -> str:
    """``pod/shop/web-1 -> node/node-b``, and ``<none>`` for a pod that found no node."""
    lines = (f"pod/{p.pod} -> {f'node/{p.node}' if p.node else NONE}" for p in result.placements)
    return in_text("".join(f"{clean(line)}\n" for line in lines))
