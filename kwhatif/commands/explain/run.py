"""``explain`` as a question.

Pods explained in the very state in which a run tried them: after their siblings, in a rollout, in a gate's change.

The run is another question, which is answered as ever while somebody looks on. A pod that it did not try is explained
in the state in which it leaves the cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.commands.api_options import ClusterSource, Manifests, ScenarioKeywords, ask, build_scenario, files_of
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.explain import ExplainResult
from kwhatif.results.place import Placement
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.scheduling.schedule_one import Observer
from kwhatif.simulation.expansion.pods import expand_manifests, require_pods
from kwhatif.simulation.explanation.explain import DEFAULT_OPTIONS, ExplainOptions, explain_pods
from kwhatif.simulation.explanation.observer import AttemptRecorder, reports_of
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.conclusion import NeverMade
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.pod_selection import PodQuestion, PodReference, distinct_pods, find_pods, split_words
from kwhatif.simulation.question import PendingResult, Question, Scenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.load import Manifest, load_manifests


@dataclass(frozen=True)
class Explain(PodQuestion[ExplainResult]):
    """Why does a pod go where it goes, or nowhere?"""

    explain_options: ExplainOptions = DEFAULT_OPTIONS

    def check(self, case: Scenario) -> None:
        if not self.words and not self.offered and case.inputs.edits is None:
            raise self.nothing

    @property
    def nothing(self) -> UsageError:
        return UsageError("name the pods to explain: manifests, or pods of the snapshot")

    def options(self, case: Scenario) -> DriverOptions:
        return {"detailed": True}

    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[ExplainResult]:
        (case,) = cases
        found = explain_pods(case.session, case.pods_to_schedule, self.explain_options, others=case.unknown_kinds)
        change = case.change
        if change is None or case.session.setup.extenders is not None:
            # Who is asked over the network is not asked twice.
            return found
        run = place_pods(case.session.fork(), change.pods, rollouts=change.rollouts, others=case.unknown_kinds)
        never_made = NeverMade(change.refusals, change.failed)

        def result(fidelity: Fidelity) -> ExplainResult:
            return replace(found.result(fidelity), outcome=run.outcome(fidelity, never_made))

        return dataclasses.replace(found, result=result)


@dataclass(eq=False)
class ExplainRun(Question[ExplainResult]):
    """Why did a run put a pod where it did, or nowhere?

    ``words`` and ``namespace`` say which pods, as for ``Explain``; those of files among the words come after the run,
    and so do those of the files ``offered`` that a word names.
    """

    run: Question[Any]
    words: Files = ()
    namespace: str | None = None
    offered: Files = ()
    explain_options: ExplainOptions = DEFAULT_OPTIONS

    def __post_init__(self) -> None:
        self.tells_merged, self.anew, self.with_pending = self.run.tells_merged, self.run.anew, self.run.with_pending
        files, names = split_words(self.words)
        self._meant = [PodReference(name, self.namespace or "") for name in names]
        self._later = [_LaterManifests(files), _LaterManifests(self.offered)]

    def needs_pods(self, case: Scenario) -> bool:
        return self.run.needs_pods(case)

    def check(self, case: Scenario) -> None:
        self.run.check(case)

    def check_edited(self, case: Scenario) -> None:
        self.run.check_edited(case)

    def load(self, case: Scenario) -> None:
        self.run.load(case)
        for later in self._later:
            later.manifests = load_manifests(later.files, self.namespace or "default")

    def expand(self, case: Scenario) -> None:
        self.run.expand(case)
        for later in self._later:
            require_pods(later.files, later.manifests, case.inputs.manifest_options)
            more = expand_manifests(
                case.snapshot,
                later.manifests,
                case.inputs.manifest_options,
                case.scheduler_options.kubernetes_version,
                gates=case.gates,
            )
            later.asked = distinct_pods(list(more.all_pods()))
            for name in ("objects", "claims", "refusals", "failed", "doubts"):
                getattr(case.expanded, name).extend(getattr(more, name))

    def pods(self, case: Scenario) -> list[PodToSchedule]:
        return self.run.pods(case)

    def options(self, case: Scenario) -> DriverOptions:
        options = self.run.options(case)
        owners = Owners(case.snapshot)
        self._watch = AttemptRecorder(
            lambda pod: any(word.means(pod, owners) for word in self._meant), options.get("observer", Observer())
        )
        return {**options, "detailed": True, "observer": self._watch}

    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[ExplainResult]:
        (case,) = cases
        self._watch.session = case.session
        self.explain_options.check(case.session)
        run = self.run.answer(cases, notes)
        assert case.session_after is not None
        placements = {each.pod: each for each in run.placements}
        tried, others = self._select_pods(case, placements)
        reports = reports_of(tried, placements, self._watch.try_of, self.explain_options)
        placed = format_count(sum(each.outcome == "placed" for each in run.placements), "pod")
        state = f"after {placed} found a node"
        rest = (
            explain_pods(case.session_after, others, self.explain_options, state=state, others=case.unknown_kinds)
            if others
            else None
        )

        def result(of_run: Fidelity, of_rest: Fidelity | None = None) -> ExplainResult:
            after = () if rest is None else rest.result(of_rest).pods
            return ExplainResult(
                nodes=len(case.session.cluster),
                pods=(*reports, *after),
                fidelity=_both(of_run, of_rest),
                warnings=case.session.setup.configuration.warnings,
            )

        about = {item.pod.key for item in tried}
        bases = [dataclasses.replace(basis, about=about) for basis in run.runs]
        return PendingResult([*bases, *(rest.runs if rest else ())], result)

    def _select_pods(
        self, case: Scenario, of_run: Mapping[str, Placement]
    ) -> tuple[list[PodToSchedule], list[PodToSchedule]]:
        """The pods that are meant: those that were tried, and others."""
        owners = Owners(case.snapshot)
        # A pod that had to leave again is asked why it finds no other node.
        there = [
            PodToSchedule(each.info.pod, of_run[key].origin, of_run[key].defaults)
            for key, each in self._watch.tries.items()
            if key in of_run and of_run[key].outcome != "preempted"
        ]
        known = {item.pod.key for item in there}
        there += [item for item in case.pods_to_schedule if item.pod.key not in known]
        own, offered = self._later
        waiting = [PodToSchedule(pod, case.snapshot.source) for pod in case.snapshot.objects.list_all(Pod)]
        meant = [*own.asked]
        for word in self._meant:
            meant += find_pods(word, (there, offered.asked, waiting), owners)
        once = {item.pod.key: item for item in meant}
        tried = [item for key, item in once.items() if key in known]
        return tried, [item for key, item in once.items() if key not in known]


@dataclass
class _LaterManifests:
    """Files whose pods come after the run."""

    files: Files
    manifests: Sequence[Manifest] = ()
    asked: list[PodToSchedule] = field(default_factory=list)


def _both(fidelity: Fidelity, other: Fidelity | None) -> Fidelity:
    """The gaps of both, those about the same thing in one."""
    gaps: dict[tuple[str, str], Gap] = {}
    for gap in (*fidelity.gaps, *(other.gaps if other else ())):
        known = gaps.get((gap.what, gap.effect), gap)
        gaps[gap.what, gap.effect] = replace(known, pods=tuple(dict.fromkeys((*known.pods, *gap.pods))))
    return replace(fidelity, gaps=tuple(gaps.values()))


def explain(
    pods: Manifests = (),
    *,
    snapshot: ClusterSource,
    files: Manifests = (),
    after: Manifests = (),
    node: str = "",
    versus: str = "",
    fixes: bool = True,
    **options: Unpack[ScenarioKeywords],
) -> ExplainResult:
    """Why does a pod go where it goes, or nowhere?

    ``pods`` are manifests, or names of pods in ``files`` or in the snapshot: ``NAME``, ``NAMESPACE/NAME`` or
    ``KIND/NAME``. Manifests ``after`` which they come are placed before; a pod of theirs is explained as it was tried.
    ``node`` asks about one node alone, ``versus`` about another beside it; ``fixes`` looks for changes that would help.
    """
    from kwhatif.commands.place.run import Place
    from kwhatif.simulation.explanation.explain import ExplainOptions

    looking, words, offered = ExplainOptions(node, versus, fixes), files_of(pods), files_of(files)
    namespace = options.get("namespace")
    question: Question[ExplainResult] = Explain(words, offered, namespace, explain_options=looking)
    if after:
        question = ExplainRun(Place(), words, namespace, offered, looking)
    return ask(question, build_scenario(after, snapshot, options))
