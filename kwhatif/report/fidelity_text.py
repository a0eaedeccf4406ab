"""What an answer stands on, in a few lines."""

from __future__ import annotations

from kwhatif.report.blocks import Lines, some
from kwhatif.results import Fidelity, Gap

__all__ = ["fidelity_blocks", "spelt"]


def fidelity_blocks(fidelity: Fidelity) -> list[Lines]:
    """The rules and the snapshot, then the gaps if one touches a pod that was asked about; else one line."""
    blocks = [Lines((_standing(fidelity),))]
    touching = fidelity.touching
    if touching:
        others = [gap for gap in fidelity.gaps if not gap.pods]
        marked = [f"* {spelt(gap)} ({some(gap.pods)})" for gap in touching]
        blocks.append(Lines(("Gaps (* touches these pods):",)))
        blocks.append(Lines((*marked, *(f"  {spelt(gap)}" for gap in others)), listed=True))
    elif fidelity.gaps:
        known = "; ".join(gap.what for gap in fidelity.gaps)
        blocks = [Lines((_standing(fidelity), f"No gap touches these pods ({known})."))]
    return blocks


def spelt(gap: Gap) -> str:
    """The gap and what it does to the answer."""
    return f"{gap.what}: {gap.effect}"


def _standing(fidelity: Fidelity) -> str:
    source = f" from {fidelity.source}" if fidelity.source else ""
    version = f" of Kubernetes {fidelity.cluster.removeprefix('v')}" if fidelity.cluster else ""
    taken = f", taken {fidelity.taken_at}" if fidelity.taken_at else ", taken at an unknown time"
    return f"Rules of Kubernetes {fidelity.rules}; snapshot{version}{source}{taken}."
