"""The question of ``explain``, also about pods in the very state in which another question's run tried them.

The run is another question, which is answered as usual while it is observed. A pod that it did not try is explained in
the state in which it leaves the cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.commands.common_options import EXPLANATION
from kwhatif.commands.explain.options import ExplainAfterOptions
from kwhatif.commands.explain.workload_fixes import WorkloadFixes
from kwhatif.commands.place.question import Place
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.explain import ExplainResult
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.scheduling.schedule_one import Observer
from kwhatif.simulation.command import Output
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.expansion.pods import expand_manifests, require_pods
from kwhatif.simulation.explanation.explain import explain_pods
from kwhatif.simulation.explanation.fixes import TrialCluster
from kwhatif.simulation.explanation.groups import explain_running_groups, group_reports, split_groups
from kwhatif.simulation.explanation.observer import AttemptRecorder, reports_of
from kwhatif.simulation.explanation.options import DEFAULT_OPTIONS, ExplainOptions
from kwhatif.simulation.explanation.workloads import explain_workloads
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.pod_selection import PodQuestion, PodReference, find_pods, split_words
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.repository_policy import ReadPolicy
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, ReadManifests, Scenario
from kwhatif.simulation.session import PodToSchedule, Session, is_waiting, pending_pods
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.workloads.objects import name_of, namespace_of

MOST_PENDING = 5
"""How many pods that wait are explained where none are named."""


@dataclass(frozen=True, kw_only=True)
class ExplainPods(PodQuestion[ExplainResult]):
    """Why does a pod go to its node, or to none?

    Pods of manifests, and those of a workload that wait, are explained as they would be placed together; one that is
    named, or has a node, by itself.
    """

    explain_options: ExplainOptions = DEFAULT_OPTIONS

    prints: ClassVar[Output] = EXPLANATION

    def build_scenarios(self, options: Any) -> Sequence[Scenario]:
        return [dataclasses.replace(options, namespace=self.namespace or "default").build_scenario(())]

    @property
    def nothing(self) -> UsageError:
        where = f"in namespace {self.namespace}" if self.namespace else "in the snapshot"
        return UsageError(f"no pod waits {where}: name the pods to explain, manifests or pods of the snapshot")

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        return {"detailed": True}

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> PreparedScenario:
        before = scenario.snapshot.copy() if self.explain_options.fixes else None
        return dataclasses.replace(super().expand(scenario, scenarios), before_change=before)

    def select(
        self, scenario: PreparedScenario, names: Sequence[str], choice: Sequence[PodToSchedule]
    ) -> PreparedScenario:
        if not self.pods and not self.files and not scenario.edited.waiting_pods:
            return dataclasses.replace(scenario, named_pods=self._pending(scenario)[:MOST_PENDING])
        workloads = [name for name in names if PodReference(name).several]
        of_workloads = self.find_named(scenario, workloads, choice)
        single = self.find_named(scenario, [name for name in names if name not in workloads], choice)
        # Autoscalers are asked about all pods that wait; of others changes of their workloads are tried, too.
        with_workload = [item for item in single if scenario.inputs.autoscale or _has_workload(scenario, item.pod)]
        together = [*of_workloads, *with_workload]
        waiting = list({item.pod.key: item for item in together if is_waiting(item.pod)}.values())
        given = {item.pod.key for item in waiting}
        others = [item for item in of_workloads if item.pod.key not in given]
        named = [item for item in (*single, *others) if item.pod.key not in given]
        moved = scenario.edited.waiting_pods if scenario.manifests or not names else ()
        asked = [*moved, *scenario.expanded.pods, *waiting]
        return dataclasses.replace(scenario, named_pods=named, pods_to_schedule=asked)

    def _pending(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        """The pods of the snapshot that wait, where none are named."""
        return [
            pending_pod
            for pending_pod in pending_pods(scenario.snapshot)
            if self.namespace in (None, pending_pod.pod.namespace)
        ]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[ExplainResult]:
        (scenario,) = scenarios
        if not self.pods and not self.files and (more := len(self._pending(scenario)) - MOST_PENDING) > 0:
            notes.note(f"{format_count(more, 'more pod waits', 'more pods wait')}: name those to explain")
        parts = []
        if scenario.manifests or scenario.pods_to_schedule:
            moved = {item.pod.key for item in scenario.edited.waiting_pods} if scenario.manifests else set()
            workloads = explain_workloads(
                scenario.session,
                scenario.pods_to_schedule,
                self.explain_options,
                rollouts=scenario.expanded.rollouts,
                unknown_kinds=scenario.unknown_kinds,
                is_meant=lambda item: item.pod.key not in moved,
                scaler=scenario.scaler,
            )
            workloads = structs.replace(workloads, run=structs.replace(workloads.run, **scenario.refusal_fields))
            if self.explain_options.fixes and scenario.before_change is not None:
                fixes = WorkloadFixes(scenario, scenario.before_change, workloads.run)
                workloads = structs.replace(
                    workloads, workloads=tuple(fixes.of_all(workloads.workloads, workloads.pods))
                )
            parts.append(workloads.answer())
        parts += _explain_named(
            scenario, scenario.session, scenario.named_pods, self.explain_options, but=scenario.pods_to_schedule
        )
        return _in_one(
            parts or [explain_pods(scenario.session, (), self.explain_options, unknown_kinds=scenario.unknown_kinds)]
        )


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

    asked_by: ClassVar[str] = "--explain"
    prints: ClassVar[Output] = EXPLANATION

    def build_scenarios(self, options: Any) -> Sequence[Scenario]:
        return self.run.build_scenarios(options)

    def read_rules(self) -> ReadPolicy:
        return self.run.read_rules()

    def __post_init__(self) -> None:
        self.needs_cluster, self.reads_rules_file = self.run.needs_cluster, self.run.reads_rules_file
        self.tells_merged, self.as_new, self.with_pending = (
            self.run.tells_merged,
            self.run.as_new,
            self.run.with_pending,
        )
        files, names = split_words(self.words)
        self._meant = [PodReference(name, self.namespace or "") for name in names]
        self._later = [_LaterManifests(files), _LaterManifests(self.offered)]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return self.run.needs_pods(scenario)

    def check(self, scenario: Scenario) -> None:
        self.run.check(scenario)

    def check_edited(self, scenario: LoadedScenario) -> None:
        self.run.check_edited(scenario)

    def load(self, scenario: Scenario, notes: Notes) -> ReadManifests:
        for later in self._later:
            later.manifests = load_manifests(later.files, self.namespace or "default")
        return self.run.load(scenario, notes)

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> PreparedScenario:
        prepared = self.run.expand(scenario, scenarios)
        for later in self._later:
            require_pods(later.files, later.manifests, scenario.inputs.manifest_options, scenario.snapshot)
            more = expand_manifests(
                prepared.snapshot,
                later.manifests,
                scenario.inputs.manifest_options,
                scenario.scheduler_options.kubernetes_version,
                gates=scenario.gates,
            )
            later.expanded = more
            for name in ("objects", "claims", "refusals", "failed", "doubts"):
                getattr(prepared.expanded, name).extend(getattr(more, name))
        return prepared

    def select_pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        return self.run.select_pods(scenario)

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        options = self.run.options(scenario)
        owners = Owners(scenario.snapshot)
        self._watch = AttemptRecorder(
            lambda pod: any(word.means(pod, owners) for word in self._meant), options.get("observer", Observer())
        )
        return {**options, "detailed": True, "observer": self._watch}

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[ExplainResult]:
        (scenario,) = scenarios
        self._watch.session = scenario.session
        self.explain_options.check(scenario.session)
        run = self.run.try_out(scenario)
        end = run.end
        placements = {replacement.pod: replacement for replacement in (*run.replacements, *run.placements)}
        own, offered = self._later
        tried, others = self._select_pods(scenario, placements, list(offered.expanded.all_pods()))
        origins = PodOrigins(scenario.session.snapshot)
        owners = {origins.owner_of(item.pod) for item in run.pods_to_schedule}
        pending = [pod for pod in run.pods_to_schedule if pod.pod.key in placements]
        pending = [pod for pod in pending if not placements[pod.pod.key].good]
        tried_in = TrialCluster(end.sandbox(), origins, owners, pending)
        named, _ = split_groups(end, [item for item in tried if item.owner])
        outcomes = [group for group in run.groups if _key_of(group) in named]
        groups = group_reports(end, outcomes, run.pods_to_schedule, with_fixes=self.explain_options.fixes)
        explained = {item.pod.key for outcome in outcomes for item in named[_key_of(outcome)]}
        single = [item for item in tried if item.pod.key not in explained]
        reports = reports_of(single, placements, self._watch.try_of, self.explain_options, tried_in)
        result = ExplainResult(
            nodes=len(scenario.session.cluster),
            groups=groups or msgspec.UNSET,
            pods=tuple(reports),
            fidelity=assess(structs.replace(run, about={item.pod.key for item in tried})),
            warnings=scenario.session.setup.configuration.warnings,
            scale_up=run.scale_up or msgspec.UNSET,
        )
        parts = [Answer(result, [run])]
        if own.files:
            after = explain_workloads(
                end,
                own.expanded.pods,
                self.explain_options,
                rollouts=own.expanded.rollouts,
                unknown_kinds=scenario.unknown_kinds,
            )
            run_after = structs.replace(after.run, refusals=own.expanded.refusals, failed=own.expanded.failed)
            parts.append(structs.replace(after, run=run_after).answer())
        if others:
            placed = format_count(
                sum(placement.outcome in ("placed", "autoscaled") for placement in run.placements), "pod"
            )
            state = f"after {placed} found a node"
            parts += _explain_named(scenario, end, others, self.explain_options, state=state)
        return _in_one(parts)

    def _select_pods(
        self, scenario: PreparedScenario, of_run: Mapping[str, Placement], offered: Sequence[PodToSchedule]
    ) -> tuple[list[PodToSchedule], list[PodToSchedule]]:
        """The pods that are meant: those that were tried, and others."""
        owners = Owners(scenario.snapshot)
        # A pod that had to leave again is explained by why it finds no other node.
        there = [
            PodToSchedule(attempt.info.pod, of_run[key].origin, of_run[key].defaults)
            for key, attempt in self._watch.tries.items()
            if key in of_run and of_run[key].outcome != "preempted"
        ]
        known = {item.pod.key for item in there}
        there += [item for item in scenario.pods_to_schedule if item.pod.key not in known]
        waiting = [PodToSchedule(pod, scenario.snapshot.source) for pod in scenario.snapshot.objects.list_all(Pod)]
        meant: list[PodToSchedule] = []
        for word in self._meant:
            meant += find_pods(word, (there, offered, waiting), owners)
        once = {item.pod.key: item for item in meant}
        tried = [item for key, item in once.items() if key in known]
        return tried, [item for key, item in once.items() if key not in known]


def _has_workload(scenario: PreparedScenario, pod: Pod) -> bool:
    """Whether the snapshot has the object that a pod is made of."""
    workload = (PodOrigins(scenario.snapshot).workload_of(pod) or "").split("/")
    objects = scenario.snapshot.whole.get(workload[0], ())
    return any(workload[1:] == [namespace_of(body), name_of(body)] for body in objects)


def _key_of(group: GroupOutcome) -> GroupKey:
    namespace, _, name = group.group.partition("/")
    return namespace, name


def _explain_named(
    scenario: PreparedScenario,
    session: Session,
    named: Sequence[PodToSchedule],
    looking: ExplainOptions,
    *,
    state: str = "",
    but: Sequence[PodToSchedule] = (),
) -> Iterator[Answer[ExplainResult]]:
    """Pods that are named, each by itself; members of a group that is named as a whole, together.

    Groups of which others are placed, whom to do without (``but``), are explained there.
    """
    groups, _ = split_groups(session, [item for item in named if item.owner])
    placed_elsewhere, _ = split_groups(session, but)
    members = {item.pod.key for items in groups.values() for item in items}
    running = {key: items for key, items in groups.items() if key not in placed_elsewhere}
    if running:
        yield explain_running_groups(session, running, with_fixes=looking.fixes, unknown_kinds=scenario.unknown_kinds)
    alone = [item for item in named if item.pod.key not in members]
    if alone:
        yield explain_pods(session, alone, looking, state=state, unknown_kinds=scenario.unknown_kinds)


class _LaterManifests(msgspec.Struct):
    """Files whose pods come after the run."""

    files: Files
    manifests: Sequence[Manifest] = ()
    expanded: ExpandedManifests = msgspec.field(default_factory=ExpandedManifests)


def _in_one(parts: Sequence[Answer[ExplainResult]]) -> Answer[ExplainResult]:
    """The answer that all parts make; one of them at most has an outcome."""
    if len(parts) == 1:
        return parts[0]
    results = [part.result for part in parts]
    result = replace(
        next((explain_result for explain_result in results if isinstance(explain_result.outcome, Outcome)), results[0]),
        groups=tuple(report for explain_result in results for report in explain_result.group_reports) or msgspec.UNSET,
        pods=tuple(report for explain_result in results for report in explain_result.pods),
        fidelity=reduce(_both, (explain_result.fidelity for explain_result in results)),
    )
    return Answer(result, parts[0].ends)


def _both(fidelity: Fidelity, other: Fidelity) -> Fidelity:
    """The gaps of both, those about the same thing in one."""
    gaps: dict[tuple[str, str], Gap] = {}
    for gap in (*fidelity.gaps, *other.gaps):
        known = gaps.get((gap.what, gap.effect), gap)
        gaps[gap.what, gap.effect] = replace(known, pods=tuple(dict.fromkeys((*known.pods, *gap.pods))))
    return replace(fidelity, gaps=tuple(gaps.values()))


def question_about(
    words: Files, offered: Files, namespace: str | None, options: ExplainAfterOptions
) -> Question[ExplainResult]:
    """What is asked about pods: alone, or as a run tried them that places the manifests ``after`` which they come."""
    if not options.after:
        return ExplainPods(pods=words, files=offered, namespace=namespace, explain_options=options)
    return ExplainRun(Place(manifests=options.after), words, namespace, offered, options)
