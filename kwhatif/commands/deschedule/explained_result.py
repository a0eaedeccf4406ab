"""Results of ``explain --deschedule``."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, Result, ResultStruct


class PodVerdict(ResultStruct, frozen=True, kw_only=True):
    """What one plugin makes of a pod: ``evicts``, ``refused`` (by a limit or a budget), ``protected`` (by the evictor),
    ``leaves`` (nothing in it calls for an eviction) or ``gone`` (another plugin was first)."""

    profile: str
    plugin: str
    verdict: str
    reason: str


class PodDescheduled(ResultStruct, frozen=True, kw_only=True):
    """A pod, its node, and what the plugins make of it in the order in which they run.

    ``outside`` says why it is none of the cycle's business at all.
    """

    pod: str
    node: str
    evicted: bool
    outside: str = ""
    verdicts: tuple[PodVerdict, ...] = ()


class DescheduleExplained(Result, frozen=True, kw_only=True):
    """Why the next cycle of the descheduler evicts these pods, or leaves them."""

    schema: ClassVar[str] = "deschedule-explained"
    about: ClassVar[str] = "Why the descheduler evicts pods or leaves them, by kwhatif explain --deschedule"
    view: ClassVar[str] = "deschedule.explained_text:VIEW"
    page: ClassVar[str] = "deschedule.explained_text:PAGE"

    kind: str = "DescheduleExplained"
    policy: str
    pods: tuple[PodDescheduled, ...]
    fidelity: Fidelity

    @property
    def exit_code(self) -> int:
        """0 if none of them is evicted."""
        return 1 if any(pod.evicted for pod in self.pods) else 0
