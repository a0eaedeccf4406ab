"""What an answer stands on, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.report.blocks import Block, Heading, Lines
from kwhatif.results.amounts import lasted, some
from kwhatif.results.parts import Fidelity


def fidelity_blocks(fidelity: Fidelity, shown_by: str = "--all") -> list[Block]:
    """The rules and the snapshot, then the gaps: those that touch a pod asked about one by one, the others briefly."""
    lines = (standing(fidelity), *edited(fidelity.edits))
    touching = fidelity.touching
    whole, brief = _others([gap.what for gap in fidelity.gaps if not gap.pods], shown_by)
    if not touching:
        said = [f"No gap touches these pods{f' ({others})' if others else ''}." for others in (whole, brief)]
        return [Lines((*lines, said[0]), brief=(*lines, said[1]))]
    gaps = [f"* {gap} [{some(gap.pods)}]" for gap in touching]
    listed = [(*gaps, f"  {others}") if others else tuple(gaps) for others in (whole, brief)]
    return [Lines(lines), Heading("GAPS (* touches these pods)"), Lines(listed[0], listed=True, brief=listed[1])]


def edited(edits: Sequence[str]) -> tuple[str, ...]:
    """One line that says what was changed for this answer, if anything was."""
    return (f"With edits: {'; '.join(edits)}.",) if edits else ()


_MISSING = "the snapshot holds no "


_FEW = 2
"""Kinds that the snapshot lacks, and that are named to everybody."""


def _others(gaps: list[str], shown_by: str) -> tuple[str, str]:
    """Gaps that touch no pod in one sentence, the kinds that a snapshot lacks together; and with their number."""
    kinds = [gap.removeprefix(_MISSING) for gap in gaps if gap.startswith(_MISSING)]
    each = dict.fromkeys(kind for several in kinds for kind in several.split(", "))
    missing = [_MISSING + ", ".join(each)] if each else []
    brief = [f"the snapshot lacks {len(each)} kinds; {shown_by} names them"] if len(each) > _FEW else missing
    more = [gap for gap in gaps if not gap.startswith(_MISSING)]
    return "; ".join([*missing, *more]), "; ".join([*more, *brief])


def standing(fidelity: Fidelity) -> str:
    """The rules, and the snapshot they were applied to, in a sentence."""
    source = f" from {fidelity.source}" if fidelity.source else ""
    version = f" of Kubernetes {fidelity.cluster.removeprefix('v')}" if fidelity.cluster else ""
    if isinstance(fidelity.age_seconds, int):
        what, taken = "live snapshot", f"{lasted(fidelity.age_seconds)} old"
    else:
        what, taken = "snapshot", f"taken {fidelity.taken_at or 'at an unknown time'}"
    return f"Rules of Kubernetes {fidelity.rules}; {what}{version}{source}, {taken}."
