"""Pod, Namespace, and the built-in workloads that make pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kwhatif.admission.defaulting.pod_defaults import FILLERS, copy_app_armor
from kwhatif.admission.kinds.pod_warnings import claim_warnings, name_warnings, pod_warnings
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_label, label_key
from kwhatif.admission.validation.metadata import check_metadata, object_table, standard_finalizer
from kwhatif.admission.validation.workloads import CHECKERS
from kwhatif.api.objects import section

_MANY_COMPLETIONS, _MANY_AT_ONCE = 100_000, 10_000
_PODS = "Pod names and hostnames"


def _of_pod(pod: Object, old: Object | None) -> Iterator[str]:
    """Warnings about updates of pods are left out, and so are those that only a controller would get."""
    owners = each(pod.get("metadata"), "ownerReferences")
    if old is None and not any(owner.get("controller") for owner in owners):
        yield from name_warnings(name_of(pod), "the Pod's hostname")
        yield from pod_warnings(pod)


def _of_workload(obj: Object, old: Object | None, *, named: bool = True) -> Iterator[str]:
    """Its name, unless each of its pods gets one of its own; and the template, if anything changed."""
    spec = section(obj, "spec")
    if old is None and named:
        yield from name_warnings(name_of(obj), _PODS)
    if old is None or spec != old.get("spec"):
        yield from pod_warnings(section(spec, "template"), "spec.template.")


def _of_stateful_set(obj: Object, old: Object | None) -> Iterator[str]:
    yield from _of_workload(obj, old, named=False)
    spec = section(obj, "spec")
    for i, claim in enumerate(each(spec, "volumeClaimTemplates")):
        where = f"spec.volumeClaimTemplates[{i}]"
        yield from claim_warnings(claim.get("spec"), where if old is None else f"{where}.Spec")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {text}"


def _of_job(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from name_warnings(name_of(obj), _PODS)
    if old is None or obj.get("spec") != old.get("spec"):
        yield from _of_job_spec(section(obj, "spec"), "spec")


def _of_cron_job(obj: Object, old: Object | None) -> Iterator[str]:
    spec = section(obj, "spec")
    if old is None:
        yield from name_warnings(name_of(obj), _PODS)
    if old is None or spec != old.get("spec"):
        yield from _of_job_spec(section(spec, "jobTemplate", "spec"), "spec.jobTemplate.spec")
    if old is not None and "TZ" in (spec.get("schedule") or ""):
        page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        yield f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {page} for more details"


def _of_job_spec(spec: Object, path: str) -> Iterator[str]:
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    many = completions > _MANY_COMPLETIONS and parallelism > _MANY_AT_ONCE
    if spec.get("completionMode") == "Indexed" and many:
        which = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4"
        lost = "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        yield f"{path}: {which}, {lost}"
    yield from pod_warnings(section(spec, "template"), f"{path}.template.")


def _of_template(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None or obj.get("template") != old.get("template"):
        yield from pod_warnings(section(obj, "template"), "template.")


_WARNINGS: dict[str, Callable[[Object, Object | None], Iterator[str]]] = {
    "Pod": _of_pod,
    "Deployment": _of_workload,
    "ReplicaSet": _of_workload,
    "ReplicationController": _of_workload,
    "StatefulSet": _of_stateful_set,
    "DaemonSet": partial(_of_workload, named=False),
    "Job": _of_job,
    "CronJob": _of_cron_job,
    "PodTemplate": _of_template,
}
_NAMESPACE = object_table(
    "spec.finalizers each finalizer", finalizer=lambda text: label_key(text) + standard_finalizer(text), names=dns_label
)
_SILENT = Strategy().warnings
_AT_ONCE = Strategy().allocate

STRATEGIES = {
    kind: Strategy(
        defaults=defaults,
        allocate=copy_app_armor if kind == "Pod" else _AT_ONCE,
        check=_NAMESPACE if kind == "Namespace" else CHECKERS.get(kind, check_metadata),
        warnings=_WARNINGS.get(kind, _SILENT),
        has_spec=kind not in ("PodTemplate", "ControllerRevision"),
    )
    for kind, defaults in FILLERS.items()
}
