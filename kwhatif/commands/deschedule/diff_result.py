"""Results of the comparison of two descheduler policies."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.outcome import OutcomeResult


class EvictionDifference(ResultStruct, frozen=True, kw_only=True):
    """A pod that only one side evicts, or each by another plugin or with another end; empty texts: it is left alone."""

    pod: str
    node: str
    plugin_a: str = ""
    plugin_b: str = ""
    lands_on_a: str = ""
    lands_on_b: str = ""


class DescheduleDiff(OutcomeResult, frozen=True, kw_only=True):
    """Both sides, and the pods of the first cycle with which they do not do the same. It is good if nothing differs."""

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "deschedule-diff"
    about: ClassVar[str] = "What two policies of the descheduler differ in, by kwhatif diff --deschedule"
    view: ClassVar[str] = "deschedule.diff_text:VIEW"
    page: ClassVar[str] = "deschedule.diff_text:PAGE"

    kind: str = "DescheduleDiff"
    a: DescheduleResult
    b: DescheduleResult
    pods: tuple[EvictionDifference, ...] = ()

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return (self.a.fidelity, self.b.fidelity)

    @property
    def differs(self) -> bool:
        a, b = self.a, self.b
        return bool(self.pods) or (len(a.pods), a.quiet, len(a.thrash)) != (len(b.pods), b.quiet, len(b.thrash))
