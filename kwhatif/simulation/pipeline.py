"""The pipeline of every question, from files to a judged answer: a tuple of stages, each a function of the last one's
value.

The command line and the Python API both go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import structs

from kwhatif.bounds import pods_to_make, work_to_do
from kwhatif.errors import InputError
from kwhatif.garbage import collect_rarely
from kwhatif.progress import report_start
from kwhatif.results.base import Result
from kwhatif.results.place import failures_left
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, ReadManifests, Scenario
from kwhatif.snapshot.read.files import display_path

if TYPE_CHECKING:
    from kwhatif.cluster.cluster import Cluster
    from kwhatif.results.base import ClusterMap, ResultStruct
    from kwhatif.simulation.cluster_map import ClusterObservation
    from kwhatif.simulation.edits.edited import EditedSnapshot
    from kwhatif.simulation.explanation.observer import PendingRecorder
    from kwhatif.simulation.inputs import Inputs
    from kwhatif.snapshot.format.model import Snapshot

R = TypeVar("R", bound=Result)


class PipelineState(msgspec.Struct, frozen=True):
    """The state of a question between stages: one scenario, or the two that are compared, the notes, and in the end the
    result.

    Options given once serve both scenarios. For a page, ``pending_recorder`` observes the run for pods that find no
    node.
    """

    question: Question[Any]
    scenarios: Sequence[Scenario]
    notes: Notes
    loaded: Sequence[LoadedScenario] = ()
    prepared: Sequence[PreparedScenario] = ()
    answer: Answer[Any] | None = None
    result: Result | None = None
    pending_recorder: PendingRecorder | None = None
    beginning: ClusterObservation | None = None


def ask(question: Question[R], *scenarios: Scenario) -> R:
    """The answer to a question, with its exit code and notes. Raises KwhatifError."""
    state = PipelineState(question, scenarios, Notes())
    for scenario in scenarios:
        question.check(scenario)
    with pods_to_make(scenarios[0].inputs.manifest_options.max_pods), work_to_do(), collect_rarely():
        try:
            for stage in STAGES:
                state = stage(state)
        except InputError as error:
            if error.place.startswith("$"):
                raise error.with_source(", ".join(map(display_path, _files_of(scenarios)))) from None
            raise
    assert state.result is not None
    return cast("R", state.result.with_context(notes=tuple(state.notes)))


def _files_of(scenarios: Sequence[Scenario]) -> Iterator[str]:
    """The files of a cluster and of manifests, for an error about something that is made of several."""
    sources = (source for scenario in scenarios for source in (scenario.inputs.snapshot, scenario.inputs.manifests))
    named = (name for source in sources if isinstance(source, Sequence) for name in source)
    yield from dict.fromkeys(name for name in named if isinstance(name, str))


def load(state: PipelineState) -> PipelineState:
    """Files become objects: the manifests, and the cluster, which may be large."""
    from kwhatif.simulation.cluster_files import load_cluster

    first = state.scenarios[0]
    manifests: list[ReadManifests] = []
    for scenario in state.scenarios:
        if scenario is not first and scenario.inputs.manifests is first.inputs.manifests:
            manifests.append(manifests[0])
        else:
            manifests.append(state.question.load(scenario, state.notes))
    clusters: list[EditedSnapshot] = []
    for scenario in state.scenarios:
        shared = scenario is not first and scenario.inputs.snapshot is first.inputs.snapshot
        clusters.append(clusters[0] if shared else load_cluster(scenario.inputs, state.notes))
    loaded = [
        LoadedScenario(scenario.inputs, scenario.scheduler_options, read=read, edited=edited)
        for scenario, read, edited in zip(state.scenarios, manifests, clusters, strict=True)
    ]
    return structs.replace(state, loaded=loaded)


def edit(state: PipelineState) -> PipelineState:
    """Apply what-if edits, and the controllers' reactions."""
    from kwhatif.simulation.cluster_files import with_edits

    first = state.loaded[0]
    manifests = [manifest for scenario in state.loaded for manifest in scenario.manifests]
    loaded: list[LoadedScenario] = []
    for scenario in state.loaded:
        shared = scenario is not first and scenario.inputs.snapshot is first.inputs.snapshot
        edited = (
            loaded[0].edited if shared else with_edits(scenario.snapshot, scenario.inputs.edits, state.notes, manifests)
        )
        read = scenario.read
        if edited.replicas:
            from kwhatif.simulation.edits.scaling import resize_manifests

            read = structs.replace(read, manifests=resize_manifests(scenario.manifests, edited.replicas))
        loaded.append(replace(scenario, edited=edited, read=read))
        state.question.check_edited(loaded[-1])
    return structs.replace(state, loaded=loaded)


def rules(state: PipelineState) -> PipelineState:
    """Set up the scheduler: the rules of a Kubernetes, a configuration, plugins."""
    if not state.question.schedules:
        return state
    from kwhatif.simulation.cluster_files import with_load
    from kwhatif.simulation.scheduler_setup import setup_of

    loaded = []
    for scenario in state.loaded:
        setup, edited = setup_of(scenario.scheduler_options, scenario.snapshot, state.notes), scenario.edited
        if scenario.scheduler_options.load:
            edited = with_load(edited, scenario.scheduler_options.load, setup, state.notes)
        loaded.append(replace(scenario, scheduler=setup, edited=edited))
    return structs.replace(state, loaded=loaded)


def expand(state: PipelineState) -> PipelineState:
    """Manifests become pods, as the API server and the controllers make them."""
    from kwhatif.simulation.cluster_files import require_pod_list

    prepared: list[PreparedScenario] = []
    for loaded in state.loaded:
        scenario = state.question.expand(loaded, state.loaded)
        if state.question.schedules and state.question.needs_pod_list(scenario):
            require_pod_list(scenario)
        scenario.expanded.doubts += scenario.edited.doubts
        if scenario.expanded.unreadable:
            from kwhatif.simulation.manifest_loading import leave_out_unreadable

            scenario = replace(scenario, read=leave_out_unreadable(scenario, state.notes))
        prepared.append(scenario)
        for warning in scenario.expanded.warnings:
            state.notes.warn(f"{warning.object}: {warning.text}")
        for scaled in scenario.expanded.scaled:
            if scaled.note:
                state.notes.note(scaled.note)
    return structs.replace(state, prepared=prepared)


def queue(state: PipelineState) -> PipelineState:
    """Let Kueue decide whose pods may start, with which flavors, where there is a ClusterQueue."""
    if not state.question.starts_jobs:
        return state
    queued = [_has_queues(scenario) for scenario in state.prepared]
    if not any(queued):
        return state
    from kwhatif.simulation.queueing.queued_scenario import queue_pods

    asks, counts = state.question.asks_autoscalers, state.question.counts_copies
    prepared = [
        queue_pods(scenario, asks_autoscalers=asks, counts_copies=counts) if managed else scenario
        for scenario, managed in zip(state.prepared, queued, strict=True)
    ]
    return structs.replace(state, prepared=prepared)


def _has_queues(scenario: PreparedScenario) -> bool:
    """Whether there is a ClusterQueue, without which Kueue decides nothing."""
    from kwhatif.api.kinds import struct_for
    from kwhatif.api.kueue import ClusterQueue

    return bool(scenario.snapshot.objects.list_all(ClusterQueue)) or any(
        struct_for(manifest.obj.api_version or "", manifest.obj.kind or "") is ClusterQueue
        for manifest in scenario.all_manifests
    )


def merge(state: PipelineState) -> PipelineState:
    """Add the other objects of the manifests to the cluster, and fix the pods of the question."""
    if not state.question.schedules:
        return state
    from kwhatif.simulation.cluster_files import merge as put
    from kwhatif.simulation.cluster_files import unknown_kinds

    prepared: list[PreparedScenario] = []
    for scenario in state.prepared:
        # What the second side of a comparison adds is not noted again.
        notes = state.notes if state.question.tells_merged and not prepared else Notes()
        put(scenario.snapshot, scenario.expanded.objects, notes)
        scenario = replace(scenario, unknown_kinds=unknown_kinds(scenario, notes))
        prepared.append(replace(scenario, pods_to_schedule=state.question.select_pods(scenario)))
    return structs.replace(state, prepared=prepared)


def session(state: PipelineState) -> PipelineState:
    """Make columns of the objects, ready to be scheduled on. An answer of several runs does it for each of them.

    Autoscalers are created here as well.
    """
    if not state.question.schedules:
        return state
    prepared: list[PreparedScenario] = []
    for scenario in state.prepared:
        if not state.question.several_runs:
            options = state.question.options(scenario)
            if scenario.inputs.with_map:
                from kwhatif.simulation.explanation.observer import PendingRecorder

                options["observer"] = recorder = PendingRecorder(options.get("observer"))
                recorder.session = opened = scenario.new_session(**options)
                state = structs.replace(state, pending_recorder=recorder)
            else:
                opened = scenario.new_session(**options)
            scenario = replace(scenario, only_session=opened)
        if scenario.inputs.autoscale:
            from kwhatif.simulation.autoscaler_selection import find_autoscalers

            scenario = replace(scenario, autoscalers=find_autoscalers(scenario, state.notes))
        prepared.append(scenario)
    first = prepared[0]
    if first.inputs.with_map and len(prepared) == 1:
        observe_cluster, _ = _mapped_by(first.inputs)

        def observe() -> ClusterObservation:
            return observe_cluster((first.only_session or first.new_session()).cluster, first.snapshot)

        key = observe_cluster, first.setup.features
        state = structs.replace(state, beginning=first.snapshot.objects.share(key, ("Node", "Pod"), observe))
    return structs.replace(state, prepared=prepared)


def answer(state: PipelineState) -> PipelineState:
    """Answer the question with the scheduler, by one or more runs; plugins from outside that none of them used are
    named.
    """
    answered = state.question.answer(state.prepared, state.notes)
    if state.question.schedules:
        opened = [scenario for scenario in state.prepared if scenario.scheduler_options.plugins]
        outside = {name for scenario in opened for name in scenario.setup.outside}
        for name in sorted(outside.difference(*(scenario.setup.used for scenario in state.prepared))):
            state.notes.warn(f"plugin {name} is enabled in no profile that was used: it changed nothing")
    return structs.replace(state, answer=answered)


def result(state: PipelineState) -> PipelineState:
    """The result of the answer, with pods that were never created."""
    assert state.answer is not None
    first, ends = state.prepared[0], state.answer.ends
    fields = first.refusal_fields
    if ends:
        fields["failed"] = failures_left(fields["failed"], ends[0].created or ends[0].end.created_later)
    complete: Result = state.answer.result.with_refusals(**fields)
    if complete.lacks_nodes and not first.inputs.autoscale:
        from kwhatif.simulation.autoscaler_notes import note_autoscalers

        note_autoscalers(first.snapshot, state.notes)
    return structs.replace(state, result=complete)


def _mapped_by(
    inputs: Inputs, sides: int = 1
) -> tuple[
    Callable[[Cluster, Snapshot], ClusterObservation], Callable[[dict[str, ClusterObservation], str], ClusterMap]
]:
    """How the cluster is observed, and what makes a map of that."""
    from kwhatif.simulation.cluster_map import MapBase, build_map, observe_cluster

    base = inputs.with_map
    return (base.observe, base.build) if isinstance(base, MapBase) and sides == 1 else (observe_cluster, build_map)


def mapping(state: PipelineState) -> PipelineState:
    """Attach maps of the cluster before and after, or of either side, for pages, and explanations of pods without a
    node.
    """
    if not (state.question.schedules and state.scenarios[0].inputs.with_map):
        return state
    from kwhatif.simulation.cluster_map import topology_key_of_groups

    assert state.result is not None
    assert state.answer is not None
    report_start("Mapping the cluster")
    observe_cluster, build_map = _mapped_by(state.scenarios[0].inputs, sides=len(state.answer.ends))
    looks = [observe_cluster(run.end.cluster, run.session.snapshot) for run in state.answer.ends]
    if len(looks) > 1:
        states = {"A": looks[0], "B": looks[1]}
    else:
        start, beginning = state.answer.beginning, state.beginning
        if start is not None:
            beginning = observe_cluster(start.cluster, start.snapshot)
        assert beginning is not None
        states = {"before": beginning, "after": looks[0]}
    cluster_map = build_map(states, topology_key_of_groups(state.prepared[0].snapshot))
    reports: Sequence[ResultStruct] = ()
    if state.pending_recorder is not None:
        reports = state.pending_recorder.reports({placement.pod: placement for placement in state.answer.placements})
    return structs.replace(
        state, result=state.result.with_context(cluster_map=cluster_map, explanations=tuple(reports))
    )


STAGES: tuple[Callable[[PipelineState], PipelineState], ...] = (
    load,
    edit,
    rules,
    expand,
    queue,
    merge,
    session,
    answer,
    result,
    mapping,
)
"""In this order, for every question."""
