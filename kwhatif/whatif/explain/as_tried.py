"""Pods explained in the very state in which a run tried them: after their siblings, in a rollout, in a gate's change.

The run is another question, which is answered as ever while somebody looks on. A pod that it did not try is explained
in the state in which it leaves the cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.results.amounts import counted
from kwhatif.results.explain import ExplainResult
from kwhatif.results.parts import Fidelity, Gap
from kwhatif.results.place import Placement
from kwhatif.scheduling.driver import Options
from kwhatif.scheduling.schedule_one import Observer
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.whatif.explain.explain import LOOKING, Looking, explain
from kwhatif.whatif.explain.watch import Watch, reports_of
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.expansion import expanded, insist_on_pods
from kwhatif.whatif.stages.inputs import Files
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.pod_words import PodWord
from kwhatif.whatif.stages.question import Answer, Case, Question
from kwhatif.whatif.stages.targets import found, one_of_each, split


@dataclass(eq=False)
class AsTried(Question[ExplainResult]):
    """Why did a run put a pod where it did, or nowhere?

    ``words`` and ``namespace`` say which pods, as for ``Explain``; those of files among the words come after the run,
    and so do those of the files ``offered`` that a word names.
    """

    run: Question[Any]
    words: Files = ()
    namespace: str | None = None
    offered: Files = ()
    looking: Looking = LOOKING

    def __post_init__(self) -> None:
        self.tells_merged, self.anew, self.with_pending = self.run.tells_merged, self.run.anew, self.run.with_pending
        files, names = split(self.words)
        self._meant = [PodWord(name, self.namespace or "") for name in names]
        self._later = [_Later(files), _Later(self.offered)]

    def needs_pods(self, case: Case) -> bool:
        return self.run.needs_pods(case)

    def check(self, case: Case) -> None:
        self.run.check(case)

    def check_edited(self, case: Case) -> None:
        self.run.check_edited(case)

    def load(self, case: Case) -> None:
        self.run.load(case)
        for later in self._later:
            later.manifests = load_manifests(later.files, self.namespace or "default")

    def expand(self, case: Case) -> None:
        self.run.expand(case)
        for later in self._later:
            insist_on_pods(later.files, later.manifests, case.inputs.reading)
            more = expanded(case.snapshot, later.manifests, case.inputs.reading, case.engine.kubernetes_version)
            later.asked = one_of_each(list(more.asked()))
            for name in ("objects", "claims", "refusals", "failed", "doubts"):
                getattr(case.expanded, name).extend(getattr(more, name))

    def pods(self, case: Case) -> list[Asked]:
        return self.run.pods(case)

    def options(self, case: Case) -> Options:
        options = self.run.options(case)
        owners = Owners(case.snapshot)
        self._watch = Watch(
            lambda pod: any(word.means(pod, owners) for word in self._meant), options.get("observer", Observer())
        )
        return {**options, "detailed": True, "observer": self._watch}

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[ExplainResult]:
        (case,) = cases
        self._watch.session = case.session
        self.looking.check(case.session)
        run = self.run.answer(cases, notes)
        assert case.after is not None
        placements = {each.pod: each for each in run.placements}
        tried, others = self._chosen(case, placements)
        reports = reports_of(tried, placements, self._watch.told, self.looking)
        placed = counted(sum(each.outcome == "placed" for each in run.placements), "pod")
        state = f"after {placed} found a node"
        rest = explain(case.after, others, self.looking, state=state, others=case.others) if others else None

        def result(of_run: Fidelity, of_rest: Fidelity | None = None) -> ExplainResult:
            after = () if rest is None else rest.result(of_rest).pods
            return ExplainResult(
                nodes=len(case.session.cluster),
                pods=(*reports, *after),
                fidelity=_both(of_run, of_rest),
                warnings=case.session.setup.configuration.warnings,
            )

        about = {item.pod.key for item in tried}
        bases = [dataclasses.replace(basis, about=about) for basis in run.bases]
        return Answer([*bases, *(rest.bases if rest else ())], result)

    def _chosen(self, case: Case, of_run: Mapping[str, Placement]) -> tuple[list[Asked], list[Asked]]:
        """The pods that are meant: those that were tried, and others."""
        owners = Owners(case.snapshot)
        # A pod that had to leave again is asked why it finds no other node.
        there = [
            Asked(each.info.pod, of_run[key].origin, of_run[key].defaults)
            for key, each in self._watch.tries.items()
            if key in of_run and of_run[key].outcome != "preempted"
        ]
        known = {item.pod.key for item in there}
        there += [item for item in case.asked if item.pod.key not in known]
        own, offered = self._later
        waiting = [Asked(pod, case.snapshot.source) for pod in case.snapshot.objects.of(Pod)]
        meant = [*own.asked]
        for word in self._meant:
            meant += found(word, (there, offered.asked, waiting), owners)
        once = {item.pod.key: item for item in meant}
        tried = [item for key, item in once.items() if key in known]
        return tried, [item for key, item in once.items() if key not in known]


@dataclass
class _Later:
    """Files whose pods come after the run."""

    files: Files
    manifests: Sequence[Manifest] = ()
    asked: list[Asked] = field(default_factory=list)


def _both(fidelity: Fidelity, other: Fidelity | None) -> Fidelity:
    """The gaps of both, those about the same thing in one."""
    gaps: dict[tuple[str, str], Gap] = {}
    for gap in (*fidelity.gaps, *(other.gaps if other else ())):
        known = gaps.get((gap.what, gap.effect), gap)
        gaps[gap.what, gap.effect] = replace(known, pods=tuple(dict.fromkeys((*known.pods, *gap.pods))))
    return replace(fidelity, gaps=tuple(gaps.values()))
