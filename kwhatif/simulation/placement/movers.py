"""Whether a run has come to rest with its first attempts: would a pod without a node move if it were tried again?"""

from __future__ import annotations

from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.session import Session


def would_move(session: Session, run: PlacementRun) -> bool:
    """Whether a pod that found no node would find one now, or would evict others. Nothing is changed."""
    driver, seen = session.driver, set[int]()
    for taken in run.tried_too_early():
        info = taken.info
        if run.is_member(taken):
            # Whether a group fits is found out by its cycle.
            return True
        if info is None or info.shape.index in seen:
            continue
        seen.add(info.shape.index)
        attempt = driver.futile_attempt(info) or driver.decide(info)
        if attempt.is_placed or attempt.nominated:
            return True
    return False
