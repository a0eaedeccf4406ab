"""Tekton's TaskRuns, and PipelineRuns at their peak: a pod a task, as many as may run at once, an upper bound.

Upstream: tektoncd/pipeline, pkg/pod/pod.go, pkg/reconciler/pipelinerun, pkg/reconciler/pipeline/dag.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import deep_copy_json, name_of, namespace_of
from kwhatif.workloads.operators.operator_kind import items_of, known_part, some_fields
from kwhatif.workloads.operators.task_graphs import most_at_once
from kwhatif.workloads.operators.tekton_names import (
    VARIABLE,
    child_name,
    combinations_of,
    has_variables,
    replace_variables,
    run_name,
    short_name,
    values_of,
)
from kwhatif.workloads.operators.tekton_workspaces import (
    assistants_of,
    claimed_workspaces,
    follow_assistant,
    mount_workspaces,
    workspace_claims,
)
from kwhatif.workloads.workload_kind import Companions, child_pod

_GROUP = "tekton.dev"
_RESULT = re.compile(r"\$\((?:tasks|finally)\.([\w-]+)\.")
_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulerName", "priorityClassName", "runtimeClassName",
               "hostNetwork", "topologySpreadConstraints", "imagePullSecrets", "volumes")  # fmt: skip
_CONTAINER = ("image", "command", "args", "env", "workingDir", "volumeMounts", "securityContext", "imagePullPolicy")


class _Task(msgspec.Struct, frozen=True):
    """One run of a task: its name in the pipeline, which of several, its steps, and the run's workspaces it uses."""

    name: str
    spec: Object
    workspaces: tuple[str, ...] = ()
    number: int | None = None
    times: int = 1
    values: Mapping[str, str] = {}


class _Reading(msgspec.Struct):
    run: Object
    companions: Companions
    unknown: list[str] = []
    values: Mapping[str, str] = {}

    def task_spec(self, obj: Object) -> Object | None:
        """The steps of a task: embedded, or those of a Task of the manifests."""
        return self._find_spec(obj, "taskSpec", "taskRef", "Task")

    def pipeline_spec(self) -> Object | None:
        return self._find_spec(section(self.run, "spec"), "pipelineSpec", "pipelineRef", "Pipeline")

    def _find_spec(self, obj: Object, own: str, reference: str, kind: str) -> Object | None:
        if section(obj, own):
            return section(obj, own)
        reference_of = section(obj, reference)
        name, kind = reference_of.get("name"), str(reference_of.get("kind") or kind)
        namespace = "" if kind == "ClusterTask" else namespace_of(self.run)
        task = name and self.companions.find(_GROUP, kind, namespace, str(name))
        if task:
            return section(task, "spec")
        where = str(name or reference_of.get("resolver") or reference_of.get("bundle") or "of no name")
        self.unknown.append(f"{kind} {where} is not among the manifests")
        return None

    def peak(self) -> list[_Task]:
        """The tasks that run at once at most: those of the graph, or those that come in the end."""
        pipeline = self.pipeline_spec()
        if pipeline is None:
            return []
        tasks = items_of(pipeline, "tasks")
        self.values = values_of(section(self.run, "spec"), pipeline, {})
        runs = {str(task.get("name")): self._runs(task) for task in tasks}
        graph = most_at_once(runs, {str(task.get("name")): _waits_for(task) for task in tasks})
        last = [run for task in items_of(pipeline, "finally") for run in self._runs(task)]
        return max(graph, last, key=len)

    def _runs(self, task: Object) -> list[_Task]:
        spec, name = self.task_spec(task), str(task.get("name"))
        if spec is None:
            return []
        used = tuple(str(item.get("workspace") or item.get("name")) for item in items_of(task, "workspaces"))
        matrix, values = section(task, "matrix"), values_of(task, spec, self.values)
        if not matrix:
            return [_Task(name, spec, used, values=values)]
        lengths = [len(item["value"]) for item in items_of(matrix, "params") if isinstance(item.get("value"), list)]
        times = max(math.prod(lengths) if lengths else 0, len(items_of(matrix, "include")), 1)
        various = list(combinations_of(task, self.values)) or [{}]
        return [
            _Task(name, spec, used, number, times, {**values, **various[number % len(various)]})
            for number in range(times)
        ]


def _waits_for(task: Object) -> set[str]:
    """The tasks before a task: its ``runAfter``, and the tasks whose results it uses."""
    return {str(name) for name in task.get("runAfter") or ()} | set(_RESULT.findall(str(task)))


def pipeline_run_children(run: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a PipelineRun at the peak, each owned by its TaskRun, after the claims of its workspaces."""
    if section(run, "spec").get("status"):
        return
    spec = section(run, "spec")
    common = section(spec, "taskRunTemplate")
    template = section(common, "podTemplate") or section(spec, "podTemplate")
    account = common.get("serviceAccountName") or spec.get("serviceAccountName")
    own = {str(item.get("pipelineTaskName")): item for item in items_of(spec, "taskRunSpecs")}
    tasks, claims = _Reading(run, companions).peak(), claimed_workspaces(run)
    if tasks:
        yield from workspace_claims(run)
        yield from assistants_of(run, template)
    for task in tasks:
        settings = own.get(task.name, {})
        name = run_name(name_of(run), task.name, task.number, task.times)
        owner = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "TaskRun",
            "metadata": {"name": name, "namespace": namespace_of(run)},
        }
        labels = {
            f"{_GROUP}/pipelineRun": name_of(run),
            f"{_GROUP}/pipelineTask": task.name,
            f"{_GROUP}/memberOf": "tasks",
        }
        pod_template = {**template, **(settings.get("podTemplate") or settings.get("taskPodTemplate") or {})}
        named = settings.get("serviceAccountName") or settings.get("taskServiceAccountName") or account
        pod = _pod(owner, task.spec, pod_template, labels, str(named or ""), settings, task.values)
        mount_workspaces(pod, task.workspaces, claims)
        follow_assistant(pod, run, task.workspaces)
        yield pod


def task_run_children(run: Object, companions: Companions) -> Iterator[Object]:
    """The pod of a TaskRun."""
    spec = section(run, "spec")
    task = None if spec.get("status") else _Reading(run, companions).task_spec(spec)
    if task is not None:
        account = str(spec.get("serviceAccountName") or "")
        pod = _pod(run, task, section(spec, "podTemplate"), {}, account, spec, values_of(spec, task, {}))
        claims = claimed_workspaces(run)
        yield from workspace_claims(run)
        mount_workspaces(pod, claims, claims)
        yield pod


def _pod(
    owner: Object,
    task: Object,
    template: Object,
    labels: dict[str, str],
    account: str,
    settings: Object,
    values: Mapping[str, str],
) -> Object:
    base = section(task, "stepTemplate")
    steps = []
    for place, step in enumerate(items_of(task, "steps")):
        name = short_name(f"step-{step.get('name') or f'unnamed-{place}'}")
        container = {"name": name, **some_fields(base, *_CONTAINER)}
        container |= some_fields(step, *_CONTAINER)
        container.setdefault("image", "unknown")
        resources = next(
            (source[key] for source in (step, base) for key in ("computeResources", "resources") if source.get(key)),
            None,
        )
        if resources:
            container["resources"] = deep_copy_json(resources)
        steps.append(container)
    if whole := settings.get("computeResources"):
        # What the task as a whole asks for is given to its first step: steps have no more than that together.
        for container in steps:
            container.pop("resources", None)
        if steps:
            steps[0]["resources"] = deep_copy_json(whole)
    sidecars = [
        {"name": short_name(f"sidecar-{item.get('name') or ''}"), **some_fields(item, *_CONTAINER),
         "resources": deep_copy_json(item.get("computeResources") or item.get("resources") or {})}
        for item in items_of(task, "sidecars")
    ]  # fmt: skip
    own = {}
    for key, value in some_fields(template, *_SCHEDULING).items():
        if part := known_part(replace_variables(value, values), VARIABLE):
            own[key] = part
    body: Object = {"restartPolicy": "Never", "containers": [*steps, *sidecars], **own}
    body["initContainers"] = [{"name": "prepare", "image": "tekton-entrypoint"}]
    if volumes := [*(body.get("volumes") or ()), *replace_variables(deep_copy_json(items_of(task, "volumes")), values)]:
        body["volumes"] = volumes
    if account:
        body["serviceAccountName"] = account
    whole_labels = {
        "app.kubernetes.io/managed-by": "tekton-pipelines",
        f"{_GROUP}/taskRun": name_of(owner),
        **labels,
    }
    return child_pod(owner, {"spec": body}, child_name(name_of(owner), "-pod"), whole_labels)


def _unknown_parts(run: Object, tasks: Sequence[_Task]) -> Iterator[str]:
    """The fields of pod templates with variables that only the run knows."""
    spec = section(run, "spec")
    common = section(spec, "taskRunTemplate", "podTemplate") or section(spec, "podTemplate")
    own = {str(item.get("pipelineTaskName")): item for item in items_of(spec, "taskRunSpecs")}
    for task in tasks:
        settings = own.get(task.name, {})
        template = {**common, **(settings.get("podTemplate") or settings.get("taskPodTemplate") or {})}
        for key, value in some_fields(template, *_SCHEDULING).items():
            if has_variables(replace_variables(value, task.values)):
                yield f"{key} of {task.name or 'its pod'} has a variable that only the run knows"


def run_doubts(run: Object, companions: Companions) -> Iterator[Doubt]:
    reading = _Reading(run, companions)
    called = f"{run.get('kind')} {name_of(run)}"
    if run.get("kind") == "TaskRun":
        spec = section(run, "spec")
        task = reading.task_spec(spec)
        pods = [] if task is None else [_Task("", task, values=values_of(spec, task, {}))]
    else:
        pods = reading.peak()
        if pods:
            what = f"{called} is taken at its peak of {len(pods)} parallel pods"
            yield Doubt(what, "that is an upper bound: it may have fewer at any time")
    for text in dict.fromkeys(_unknown_parts(run, pods)):
        yield Doubt(f"{called}: {text}", "its pods are taken without")
    for unknown in dict.fromkeys(reading.unknown):
        yield Doubt(f"{called}: {unknown}", "pods of it are missing")
