"""A question's scenario with a change of its manifests or nodes, prepared anew: so that the change can be tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from kwhatif.simulation.edits.document import apply_edits, read_edit
from kwhatif.simulation.explanation.workload_changes import WorkloadChange
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.pipeline import PipelineState, expand, merge, queue, session
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, load_manifests


def prepare_changed(
    question: Question[Any],
    scenario: LoadedScenario,
    before: Snapshot,
    change: WorkloadChange,
    beside: Sequence[Manifest] = (),
) -> PreparedScenario:
    """The scenario of ``question`` on the cluster ``before`` anything came, with the objects of a change in place of
    its own, or beside them. Manifests ``beside`` it belong to what is asked, too.

    Raises KwhatifError where the changed objects cannot be understood.
    """
    namespace = next((manifest.obj.namespace for manifest in beside), scenario.inputs.namespace)
    new = {manifest.key: manifest for manifest in (*beside, *load_manifests(list(change.objects), namespace))}
    # An object keeps its place; those with a generateName have no key of their own, and stay.
    manifests = [
        structs.replace(new.pop(manifest.key), origin=manifest.origin) if manifest.key in new else manifest
        for manifest in scenario.manifests
    ]
    manifests += new.values()
    edited = structs.replace(scenario.edited, snapshot=before.copy())
    if change.add_nodes:
        grown = apply_edits(edited.snapshot, [read_edit({"addNodes": change.add_nodes}, "")], manifests)
        edited = structs.replace(edited, snapshot=grown.snapshot)
    loaded = LoadedScenario(
        dataclasses.replace(scenario.inputs, with_map=False),
        scenario.scheduler_options,
        read=structs.replace(scenario.read, manifests=manifests),
        edited=edited,
        scheduler=scenario.scheduler,
    )
    state = PipelineState(question, [loaded], Notes(), loaded=[loaded])
    for stage in (expand, queue, merge, session):
        state = stage(state)
    return state.prepared[0]
