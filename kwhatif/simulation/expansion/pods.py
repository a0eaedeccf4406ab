"""From a question's manifests to pods, errors for manifests without any, and the result of ``expand``."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kwhatif.admission.manifest import VERBS
from kwhatif.admission.object_store import name_of
from kwhatif.admission.pipeline import DEFAULT_PLUGINS, NOT_MODELLED
from kwhatif.admission.server import type_gates
from kwhatif.api import kueue
from kwhatif.api.kinds import describe_kind, kind_of
from kwhatif.api.objects import section
from kwhatif.errors import InputError, UsageError
from kwhatif.results.amounts import format_counts
from kwhatif.results.expand import ExpandedPod, ExpandResult
from kwhatif.results.place import RolloutPlan, RolloutStep
from kwhatif.simulation.api_resources import types_served
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests, Rollout
from kwhatif.simulation.expansion.unfinished_workloads import waiting_workloads
from kwhatif.simulation.inputs import Files, ManifestOptions
from kwhatif.simulation.scheduler_setup import minors_of_kubelets
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.files import display_path
from kwhatif.snapshot.read.other_documents import advice_on_machines
from kwhatif.versions import DEFAULT_MINOR, minor_of
from kwhatif.workloads.controllers import TemplatePath, makes_pods, merge_paths
from kwhatif.workloads.operators.kinds_document import read_kinds
from kwhatif.workloads.operators.table import KINDS
from kwhatif.workloads.pod_autoscalers import is_autoscaler, parse_scale
from kwhatif.workloads.rollout import Plan
from kwhatif.workloads.workload_kind import WorkloadKind


def expand_manifests(
    snapshot: Snapshot,
    manifests: Sequence[Manifest],
    reading: ManifestOptions,
    version: str | None,
    *,
    as_new: bool = False,
    gates: Mapping[str, bool] = MappingProxyType({}),
    resumes: bool = False,
) -> ExpandedManifests:
    """The pods and objects of manifests in a cluster, by the API server of a ``version``, else of the cluster's, with
    the scheduler's feature ``gates``.

    ``as_new`` treats workloads that exist in the cluster as new ones; otherwise they are updated. It ``resumes`` those
    whose controllers wait until a pod of theirs has a node.
    """
    waiting = waiting_workloads(snapshot) if resumes else ()
    if not manifests and not waiting:
        return ExpandedManifests()
    verb = reading.verb or ""
    if verb not in VERBS:
        raise UsageError(f"unknown verb {verb}; there are {', '.join(filter(None, VERBS))}")
    plugins = (*DEFAULT_PLUGINS, *(name for names in reading.admission_plugins or () for name in names.split(",")))
    minor = _minor(snapshot, version)
    return expand(
        manifests,
        snapshot,
        plugins=plugins,
        templates=template_paths(reading),
        as_new=as_new,
        verb=verb,
        minor=minor,
        types=types_served(minor, snapshot, reading.api_resources, type_gates(minor, gates)),
        gates=gates,
        position=parse_scale(reading.at) if reading.at else None,
        waiting=waiting,
    )


def _minor(snapshot: Snapshot, version: str | None) -> str:
    """The Kubernetes whose API server reads the manifests: what was asked for, else the cluster's, else the newest."""
    for known_version in (version, snapshot.kubernetes_version, *minors_of_kubelets(snapshot)):
        with contextlib.suppress(UsageError):
            if known_version:
                return minor_of(known_version)
    return DEFAULT_MINOR


def template_paths(reading: ManifestOptions) -> list[WorkloadKind]:
    """How kinds that are not Kubernetes' own make pods: those given by paths or files, then those known here.

    Raises UsageError for a path that cannot be understood, and InputError for a file.
    """
    paths_and_files = reading.pod_template_paths or ()
    files = [text for text in paths_and_files if "=" not in text]
    paths = [TemplatePath.parse(text) for text in paths_and_files if "=" in text]
    return [*merge_paths(paths), *(kind for file in files for kind in read_kinds(file)), *KINDS]


def require_pods(files: Files, manifests: Sequence[Manifest], reading: ManifestOptions, snapshot: Snapshot) -> None:
    """Raise InputError if no manifest could have pods, or scales what has some: which files, and what they hold."""
    where = template_paths(reading)
    if manifests and not any(
        makes_pods(manifest.raw, where) or is_autoscaler(manifest.raw) or _is_of_kueue(manifest)
        for manifest in manifests
    ):
        held = format_counts(Counter(describe_kind(m.obj.api_version or "", m.obj.kind or "") for m in manifests))
        names = [display_path(file) for file in files if isinstance(file, str)]
        kinds = {manifest.obj.kind or "" for manifest in manifests}
        hint = "; --pod-template-path says where a kind has its pod template" if _may_make_pods(manifests) else ""
        hint = advice_on_machines(kinds) or hint
        undefined = _undefined_kinds(manifests, snapshot)
        if undefined and len(undefined) == len(kinds):
            names_of = " and ".join(undefined)
            problem = f"neither Kubernetes nor a definition at hand has {names_of}: no pods of it are known"
        else:
            problem = f"no pods in here, only {held}"
        raise InputError(f"{problem}{hint}", source=", ".join(names))


def _undefined_kinds(manifests: Sequence[Manifest], snapshot: Snapshot) -> list[str]:
    """``kind "Gizmo" in version "example.com/v1"`` of kinds that no CustomResourceDefinition at hand defines."""
    whole = [*snapshot.whole.get("CustomResourceDefinition", ()), *(manifest.raw for manifest in manifests)]
    specs = [section(body, "spec") for body in whole if body.get("kind") in (None, "CustomResourceDefinition")]
    defined = {(spec.get("group"), section(spec, "names").get("kind")) for spec in specs}
    kinds: dict[str, None] = {}
    for manifest in manifests:
        kind, version = manifest.obj.kind or "", manifest.obj.api_version or ""
        if _may_make_pods([manifest]) and (version.rpartition("/")[0], kind) not in defined:
            kinds[f'kind "{kind}" in version "{version}"'] = None
    return list(kinds)


def _is_of_kueue(manifest: Manifest) -> bool:
    """Whether it is an object that has Kueue let other pods start."""
    return (manifest.obj.api_version or "").startswith(f"{kueue.GROUP}/")


def _may_make_pods(manifests: Sequence[Manifest]) -> bool:
    """Whether any of the manifests is of a kind that is unknown, so that it may have pods."""
    versions = ((str(manifest.raw.get("apiVersion") or ""), manifest.obj.kind or "") for manifest in manifests)
    groups = (version.rpartition("/")[0] for version, kind in versions if kind_of(version, kind) is None)
    return any("." in group and not group.endswith(".k8s.io") for group in groups)


def summarize_expansion(expanded: ExpandedManifests) -> ExpandResult:
    """The pods, claims and refusals as a result; updates as if every new pod found its node."""
    plans = []
    for rollout in expanded.rollouts:
        plan_ = rollout.begin(lambda pod: True, {})
        for step in plan_:
            rollout.claims(step)
            rollout.delete_claims(step)
            expanded.pods += map(rollout.pods_to_schedule, step.creates)
        plans.append(build_rollout_plan(rollout, plan_))
    return ExpandResult(
        pods=tuple(_record(expanded, item) for item in expanded.pods),
        claims=tuple(expanded.claims),
        refusals=tuple(expanded.refusals),
        warnings=tuple(expanded.warnings),
        failed=tuple(expanded.failed),
        rollouts=tuple(plans),
        unknown=dict(sorted(expanded.unknown.items())),
        not_modelled=NOT_MODELLED,
    )


def _record(expanded: ExpandedManifests, item: PodToSchedule) -> ExpandedPod:
    changes = expanded.trails[item.pod.key]
    return ExpandedPod(
        pod=item.pod.key,
        owner=item.owner,
        origin=item.origin,
        changes=tuple(changes),
        object=expanded.whole[item.pod.key],
    )


def build_rollout_plan(rollout: Rollout, plan_: Plan) -> RolloutPlan:
    """The outcome of a rollout, in names and numbers."""
    live = plan_.steps[-1].live if plan_.steps else None
    rollout.count_missing(len(plan_.kept_pods) if live is None else live.old + live.new)
    return RolloutPlan(
        object=rollout.name,
        origin=rollout.origin,
        creates=len(plan_.created_pods),
        keeps=len(plan_.kept_pods),
        removes=len(plan_.removed_pods),
        unfinished=plan_.remaining_work,
        available_before=plan_.available_before,
        least_available=plan_.least_available,
        steps=tuple(
            RolloutStep(
                live_old=step.live.old,
                live_new=step.live.new,
                terminating_old=step.terminating.old,
                terminating_new=step.terminating.new,
                creates=tuple(map(name_of, step.creates)),
                removes=step.removes,
            )
            for step in plan_.steps
        ),
    )
