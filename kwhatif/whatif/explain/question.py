"""``explain`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.errors import UsageError
from kwhatif.results.explain import ExplainResult
from kwhatif.scheduling.driver import Options
from kwhatif.whatif.explain.explain import LOOKING, Looking, explain
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case
from kwhatif.whatif.stages.targets import AboutPods


@dataclass(frozen=True)
class Explain(AboutPods[ExplainResult]):
    """Why does a pod go where it goes, or nowhere?"""

    looking: Looking = LOOKING

    def check(self, case: Case) -> None:
        if not self.words and not self.offered and case.inputs.edits is None:
            raise self.nothing

    @property
    def nothing(self) -> UsageError:
        return UsageError("name the pods to explain: manifests, or pods of the snapshot")

    def options(self, case: Case) -> Options:
        return {"detailed": True}

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[ExplainResult]:
        (case,) = cases
        return explain(case.session, case.asked, self.looking, others=case.others)
