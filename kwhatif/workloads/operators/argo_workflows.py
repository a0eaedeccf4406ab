"""Argo Workflows at their peak: as many pods as may run at once, an upper bound.

Upstream: argoproj/argo-workflows, workflow/controller/{operator,steps,dag,workflowpod}.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.bounds import make_room
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.objects import deep_copy_json, integer, name_of, namespace_of
from kwhatif.workloads.operators.operator_kind import (
    claim_of,
    items_of,
    known_part,
    replace_variables,
    some_fields,
)
from kwhatif.workloads.operators.task_graphs import most_at_once
from kwhatif.workloads.workload_kind import Companions, child_pod

_GROUP = "argoproj.io"
_NAME = re.compile(r"[A-Za-z][\w-]*")
_RESULTS = frozenset({"Succeeded", "Failed", "Errored", "Skipped", "Omitted", "Daemoned", "AnySucceeded", "AllFailed"})
_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulerName", "priorityClassName", "hostNetwork",
               "serviceAccountName", "imagePullSecrets", "resourceClaims")  # fmt: skip
_VARIABLE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_POD_TYPES = ("container", "script", "containerSet", "resource", "data")
_DEEPEST = 30


class _Reading(msgspec.Struct):
    """A workflow as it is evaluated, and what was unknown about it."""

    companions: Companions
    namespace: str
    workflow: str
    spec: Object
    unknown: list[str] = []

    def peak(self, template: Object, library: Object, depth: int = 0) -> list[tuple[Object, Object]]:
        """The templates of the pods that run at once at most, each with the spec that it is from."""
        if depth > _DEEPEST:
            self.unknown.append(f"template {template.get('name')} comes back to itself")
            return []
        if any(kind in template for kind in _POD_TYPES):
            return [(template, library)]
        pods_at_peak: list[tuple[Object, Object]] = []
        if "steps" in template:
            daemons: list[tuple[Object, Object]] = []
            for group in template["steps"] or ():
                pods = [pod for step in (group if isinstance(group, list) else [group]) if isinstance(step, dict)
                        for pod in self._task(step, library, depth)]  # fmt: skip
                pods_at_peak = max(pods_at_peak, [*daemons, *pods], key=len)
                daemons += filter(_stays, pods)
        elif "dag" in template:
            tasks = items_of(template, "dag", "tasks")
            runs = {str(task.get("name")): self._task(task, library, depth) for task in tasks}
            daemons = [pod for pods in runs.values() for pod in pods if _stays(pod)]
            rest = {name: [pod for pod in pods if not _stays(pod)] for name, pods in runs.items()}
            pods_at_peak = [*daemons, *most_at_once(rest, {str(task.get("name")): _waits_for(task) for task in tasks})]
        most = template.get("parallelism")
        return pods_at_peak if most is None else pods_at_peak[: integer(most, 0)]

    def _task(self, task: Object, library: Object, depth: int) -> list[tuple[Object, Object]]:
        entry = self._template_of(task, library)
        if entry is None:
            return []
        template, home = entry
        pods = self.peak(self.with_values(template, task), home, depth + 1)
        times = self._times(task)
        make_room(len(pods) * times, f"Workflow {self.workflow}")
        return pods * times

    def with_values(self, template: Object, task: Object) -> Object:
        """A template with the values of its parameters: what a task gives, else their defaults."""
        given = [*items_of(template, "inputs", "parameters"), *items_of(task, "arguments", "parameters")]
        return dict(replace_variables(template, _VARIABLE, _values_of("inputs", given)))

    def _template_of(self, task: Object, library: Object) -> tuple[Object, Object] | None:
        if section(task, "inline"):
            return section(task, "inline"), library
        reference = section(task, "templateRef")
        if reference:
            spec = self.library(str(reference.get("name")), cluster_wide=bool(reference.get("clusterScope")))
            return None if spec is None else self.template_named(str(reference.get("template")), spec)
        return self.template_named(str(task.get("template")), library)

    def library(self, name: str, *, cluster_wide: bool) -> Object | None:
        """The spec of a WorkflowTemplate."""
        kind = "ClusterWorkflowTemplate" if cluster_wide else "WorkflowTemplate"
        for namespace in ("", self.namespace) if cluster_wide else (self.namespace,):
            library = self.companions.find(_GROUP, kind, namespace, name)
            if library is not None:
                return section(library, "spec")
        self.unknown.append(f"{kind} {name} is not among the manifests")
        return None

    def template_named(self, name: str, library: Object) -> tuple[Object, Object] | None:
        for template in items_of(library, "templates"):
            if template.get("name") == name:
                return template, library
        self.unknown.append(f"there is no template {name}")
        return None

    def _times(self, task: Object) -> int:
        """How often a task is run at once: once for each item."""
        if isinstance(task.get("withItems"), list):
            return len(task["withItems"])
        sequence = section(task, "withSequence")
        number, start, end = (
            parse_int(str(sequence.get(key, "")).removeprefix("+")) for key in ("count", "start", "end")
        )
        if number is not None and number >= 0:
            return number
        if end is not None and end >= 0:
            return max(0, end - max(0, start or 0) + 1)
        if sequence or task.get("withParam") is not None:
            self.unknown.append(f"task {task.get('name')} is run for items that nobody knows before, taken as one")
        return 1


def _values_of(home: str, parameters: Iterable[Object]) -> dict[str, str]:
    """The values of parameters by the names that stand between braces; the later of two counts."""
    values = {
        f"{home}.parameters.{parameter.get('name')}": parameter.get("value", parameter.get("default"))
        for parameter in parameters
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def _stays(pod: tuple[Object, Object]) -> bool:
    """Whether a pod is a daemon, which keeps running during later steps."""
    return pod[0].get("daemon") is True


def _waits_for(task: Object) -> set[str]:
    seen = {str(name) for name in task.get("dependencies") or ()}
    return seen | (set(_NAME.findall(str(task.get("depends") or ""))) - _RESULTS)


def _read_workflow(obj: Object, companions: Companions) -> tuple[_Reading, list[tuple[Object, Object]]]:
    spec = section(obj, "spec")
    if obj.get("kind") == "CronWorkflow":
        spec = {"suspend": spec.get("suspend"), **section(spec, "workflowSpec")}
    reading = _Reading(companions, namespace_of(obj), name_of(obj), spec)
    reference = section(spec, "workflowTemplateRef")
    if reference:
        library = reading.library(str(reference.get("name")), cluster_wide=bool(reference.get("clusterScope")))
        spec = {**(library or {}), **spec}
    values = _values_of("workflow", items_of(spec, "arguments", "parameters"))
    values |= {"workflow.name": name_of(obj), "workflow.namespace": namespace_of(obj)}
    reading.spec = spec = dict(replace_variables(spec, _VARIABLE, values))
    if spec.get("suspend") or (reference and "templates" not in spec):
        return reading, []
    templates = [
        reading.template_named(str(spec[field]), spec)
        for field in ("entrypoint", "onExit")
        if spec.get(field) is not None
    ]
    if spec.get("entrypoint") is None:
        reading.unknown.append("it has no entrypoint")
    entries = [(reading.with_values(template, spec), home) for template, home in filter(None, templates)]
    pods = max((reading.peak(*entry) for entry in entries), key=len, default=[])
    most = spec.get("parallelism")
    return reading, pods if most is None else pods[: integer(most, 0)]


def workflow_children(obj: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a Workflow, or of a run of a CronWorkflow, at the peak, and the claims of the run."""
    reading, pods = _read_workflow(obj, companions)
    if pods:
        for template in items_of(reading.spec, "volumeClaimTemplates"):
            yield claim_of(obj, _claim_name(obj, template), section(template, "spec"))
    for template, _ in pods:
        yield _pod(obj, reading.spec, template)


def workflow_doubts(obj: Object, companions: Companions) -> Iterator[Doubt]:
    reading, pods = _read_workflow(obj, companions)
    called = f"{obj.get('kind')} {name_of(obj)}"
    if pods:
        what = f"{called} is taken at its peak of {len(pods)} parallel pods"
        yield Doubt(what, "that is an upper bound: it may have fewer at any time")
    for unknown in dict.fromkeys(reading.unknown):
        yield Doubt(f"{called}: {unknown}", "pods of it may be missing")
    for place in dict.fromkeys(_unknown_places(reading.spec, [template for template, _ in pods])):
        yield Doubt(f"{called}: {place}", "its pods are taken without")


def _unknown_places(spec: Object, templates: Sequence[Object]) -> Iterator[str]:
    """What of pods is not known, or not looked at: the fields with variables of the run, and patches."""
    for template in (spec, *templates):
        home = f"template {template.get('name')}" if template is not spec else "its spec"
        for key, value in some_fields(template, *_SCHEDULING).items():
            if known_part(value, _VARIABLE) != value:
                yield f"{key} of {home} has a variable that only the run knows"
        main = section(template, "container") or section(template, "script")
        if any(known_part(part, _VARIABLE) != part for part in section(main, "resources").values()):
            yield f"resources of {home} have a variable that only the run knows"
        if template.get("podSpecPatch"):
            yield f"podSpecPatch of {home}"


def _claim_name(obj: Object, template: Object) -> str:
    return f"{name_of(obj)}-{name_of(template)}"


def _pod(obj: Object, spec: Object, template: Object) -> Object:
    own = {**some_fields(spec, *_SCHEDULING), **some_fields(template, *_SCHEDULING)}
    known = {key: known_part(value, _VARIABLE) for key, value in own.items()}
    body: Object = {"restartPolicy": "Never", **{key: value for key, value in known.items() if value}}
    if "containerSet" in template:
        containers = deep_copy_json(items_of(template, "containerSet", "containers"))
    elif "container" in template or "script" in template:
        main = deep_copy_json(section(template, "container") or section(template, "script"))
        main.pop("source", None)
        containers = [{**main, "name": "main"}]
    else:
        containers = [{"name": "main", "image": "quay.io/argoproj/argoexec"}]
    executor = {"image": "quay.io/argoproj/argoexec"}
    body["initContainers"] = [{"name": "init", **executor}, *deep_copy_json(items_of(template, "initContainers"))]
    body["containers"] = [{"name": "wait", **executor}, *containers, *deep_copy_json(items_of(template, "sidecars"))]
    for container in (*body["initContainers"], *body["containers"]):
        container.pop("mirrorVolumeMounts", None)
        container.pop("dependencies", None)
        if section(container, "resources"):
            container["resources"] = {
                key: known_part(part, _VARIABLE) for key, part in section(container, "resources").items()
            }
    volumes = [*items_of(spec, "volumes"), *items_of(template, "volumes")]
    volumes += [
        {"name": name_of(item), "persistentVolumeClaim": {"claimName": _claim_name(obj, item)}}
        for item in items_of(spec, "volumeClaimTemplates")
    ]
    containers = (*body["initContainers"], *body["containers"])
    mounted = {str(mount.get("name")) for container in containers for mount in items_of(container, "volumeMounts")}
    # Of its workflow's volumes a pod has only those that it mounts.
    volumes = [deep_copy_json(volume) for volume in volumes if str(volume.get("name")) in mounted]
    if volumes:
        body["volumes"] = volumes
    metadata = section(template, "metadata")
    labels = {
        **section(spec, "podMetadata", "labels"),
        **section(metadata, "labels"),
        "workflows.argoproj.io/workflow": name_of(obj),
        "workflows.argoproj.io/completed": "false",
    }
    notes = {**section(spec, "podMetadata", "annotations"), **section(metadata, "annotations")}
    name = f"{name_of(obj) or 'workflow'}-{template.get('name') or 'inline'}-"
    return child_pod(obj, {"spec": body}, name, deep_copy_json(labels), deep_copy_json(notes))
