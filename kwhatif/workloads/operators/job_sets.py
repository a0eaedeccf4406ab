"""JobSet and LeaderWorkerSet: groups of pods that run together.

Upstream: kubernetes-sigs/jobset, pkg/controllers/jobset_controller.go (constructJob, labelAndAnnotateObject),
depends_on.go and volume_claim_policy.go beside it, pkg/webhooks/{jobset_webhook,pod_mutating_webhook}.go;
kubernetes-sigs/lws, pkg/controllers/{leaderworkerset,pod}_controller.go, pkg/webhooks/pod_webhook.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha1

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import (
    annotations_of,
    deep_copy_json,
    integer,
    name_of,
    namespace_of,
    stated_pods,
    uid_of,
)
from kwhatif.workloads.operators.operator_kind import add_exclusive_affinity, items_of, size_of
from kwhatif.workloads.operators.task_graphs import names_at_peak
from kwhatif.workloads.pod_sets import with_metadata
from kwhatif.workloads.stateful_set import claims_of, revision_of, stateful_pod
from kwhatif.workloads.workload_kind import Companions, child

_JOBSET = "jobset.sigs.k8s.io"
_JOBSET_EXCLUSIVE = f"alpha.{_JOBSET}/exclusive-topology"
_JOBSET_BY_SELECTOR = f"alpha.{_JOBSET}/node-selector"
_LWS = "leaderworkerset.sigs.k8s.io"


_CONTROLLER = f"{_JOBSET}/jobset-controller"


def job_set_children(job_set: Object, companions: Companions) -> Iterator[Object]:
    """The claims and Jobs of a JobSet at its peak; none while it is suspended or if another controller manages it."""
    spec = section(job_set, "spec")
    if spec.get("suspend") or (spec.get("managedBy") or _CONTROLLER) != _CONTROLLER:
        return
    replicated = items_of(spec, "replicatedJobs")
    at_peak = _names_at_peak(replicated)
    claims = {
        name_of(template): f"{name_of(template)}-{name_of(job_set)}"
        for policy in items_of(spec, "volumeClaimPolicies")
        for template in items_of(policy, "templates")
    }
    for policy in items_of(spec, "volumeClaimPolicies"):
        for item in items_of(policy, "templates"):
            labels = {**section(item, "metadata", "labels"), f"{_JOBSET}/jobset-name": name_of(job_set)}
            claim = deep_copy_json(section(item, "spec"))
            yield child(job_set, "v1", "PersistentVolumeClaim", claims[name_of(item)], claim, {"labels": labels})
    sizes = [
        size_of(
            job_set,
            job.get("replicas"),
            1,
            "$.spec.replicatedJobs[*].replicas",
            max(1, stated_pods({**section(job, "template"), "kind": "Job"})),
        )
        for job in replicated
    ]
    before = 0
    of_group: Counter[str] = Counter()
    for job, size in zip(replicated, sizes, strict=True):
        of_group[_group_of(job)] += size
    earlier: Counter[str] = Counter()
    for place, (job, size) in enumerate(zip(replicated, sizes, strict=True)):
        check_part(job.get("template"), "batch.v1.JobTemplateSpec", f"$.spec.replicatedJobs[{place}].template")
        group = _group_of(job)
        for index in range(size if str(job.get("name")) in at_peak else 0):
            labels = {
                f"{_JOBSET}/replicatedjob-replicas": str(size),
                f"{_JOBSET}/global-replicas": str(sum(sizes)),
                f"{_JOBSET}/job-global-index": str(before + index),
                f"{_JOBSET}/group-name": group,
                f"{_JOBSET}/group-replicas": str(of_group[group]),
                f"{_JOBSET}/job-group-index": str(earlier[group] + index),
            }
            job_object = _job_of(job_set, job, index, labels)
            _add_volumes(section(job_object, "spec", "template", "spec"), claims)
            yield job_object
        before += size
        earlier[group] += size


def _group_of(job: Object) -> str:
    return str(job.get("groupName") or "default")


def _names_at_peak(replicated: Sequence[Object]) -> list[str]:
    """The replicated jobs that run at the same time with the most pods, by ``dependsOn``."""
    pods = {}
    for job in replicated:
        spec = section(job, "template", "spec")
        completions = spec.get("completions")
        parallel = integer(spec.get("parallelism"), 1)
        at_once = parallel if completions is None else min(parallel, integer(completions, 1))
        pods[str(job.get("name"))] = max(at_once, 1) * max(integer(job.get("replicas"), 1), 0)
    complete: dict[str, set[str]] = {}
    for job in replicated:
        # A dependency that is ready has started, so its own dependencies are complete as well.
        jobs = complete[str(job.get("name"))] = set()
        for other in items_of(job, "dependsOn"):
            jobs |= complete.get(str(other.get("name")), set())
            jobs |= {str(other.get("name"))} if other.get("status") == "Complete" else set()
    return names_at_peak(pods, complete)


def job_set_doubts(job_set: Object, companions: Companions) -> Iterator[Doubt]:
    """That some replicated jobs are not part of the peak."""
    replicated = items_of(job_set, "spec", "replicatedJobs")
    at_peak = _names_at_peak(replicated)
    others = [str(job.get("name")) for job in replicated if job.get("name") not in at_peak]
    if others:
        what = f"{job_set.get('kind')} {name_of(job_set)} is taken at its peak, with {', '.join(at_peak)}"
        yield Doubt(what, f"{', '.join(others)} of it run before or after that")


def _add_volumes(spec: Object, claims: Mapping[str, str]) -> None:
    """Add volumes for the claims that a container mounts."""
    containers = (*items_of(spec, "containers"), *items_of(spec, "initContainers"))
    mounted = {str(mount.get("name")) for container in containers for mount in items_of(container, "volumeMounts")}
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in claims.items()
        if name in mounted
    ]
    if volumes:
        spec["volumes"] = [*(spec.get("volumes") or ()), *volumes]


def _job_of(job_set: Object, replicated: Object, index: int, labels: dict[str, str]) -> Object:
    role = str(replicated.get("name") or "")
    name = f"{name_of(job_set)}-{role}-{index}"
    key = sha1(f"{namespace_of(job_set)}/{name}".encode(), usedforsecurity=False).hexdigest()
    labels = {
        **labels,
        f"{_JOBSET}/jobset-name": name_of(job_set),
        f"{_JOBSET}/jobset-uid": uid_of(job_set),
        f"{_JOBSET}/replicatedjob-name": role,
        f"{_JOBSET}/restart-attempt": "0",
        f"{_JOBSET}/job-index": str(index),
        f"{_JOBSET}/job-key": key,
    }
    template = section(replicated, "template")
    spec = deep_copy_json(section(template, "spec"))
    own = {**annotations_of(job_set), **annotations_of(template)}
    exclusive = own.get(_JOBSET_EXCLUSIVE)
    notes = {_JOBSET_EXCLUSIVE: exclusive} if exclusive else {}
    spec.setdefault("completionMode", "Indexed")
    pod = with_metadata(section(spec, "template"), labels, {**labels, **notes})
    pod_spec = pod["spec"] = deep_copy_json(section(pod, "spec"))
    pod_spec.setdefault("restartPolicy", "OnFailure")
    network = section(job_set, "spec", "network")
    if network.get("enableDNSHostnames", True):
        pod_spec["subdomain"] = network.get("subdomain") or name_of(job_set)
    if exclusive and _JOBSET_BY_SELECTOR in own:
        pod_spec["nodeSelector"] = {
            **section(pod_spec, "nodeSelector"),
            f"alpha.{_JOBSET}/namespaced-job": f"{namespace_of(job_set)}_{name}",
        }
        taint = {"key": f"alpha.{_JOBSET}/no-schedule", "operator": "Exists", "effect": "NoSchedule"}
        pod_spec["tolerations"] = [*(pod_spec.get("tolerations") or ()), taint]
    elif exclusive:
        add_exclusive_affinity(pod_spec, f"{_JOBSET}/job-key", key, exclusive)
    spec["template"] = pod
    metadata = {"labels": {**section(template, "metadata", "labels"), **labels}}
    return child(job_set, "batch/v1", "Job", name, dict(spec), metadata)


def leader_worker_children(lws: Object, companions: Companions) -> Iterator[Object]:
    """The pods of all groups of a LeaderWorkerSet: the leader, of one StatefulSet for all groups, and its workers."""
    spec = section(lws, "spec")
    both = section(spec, "leaderWorkerTemplate")
    worker = section(both, "workerTemplate")
    check_part(worker, "core.v1.PodTemplateSpec", "$.spec.leaderWorkerTemplate.workerTemplate")
    check_part(both.get("leaderTemplate"), "core.v1.PodTemplateSpec", "$.spec.leaderWorkerTemplate.leaderTemplate")
    leader = section(both, "leaderTemplate") or worker
    size = size_of(lws, both.get("size"), 1, "$.spec.leaderWorkerTemplate.size")
    notes = {f"{_LWS}/size": str(size)}
    if exclusive := annotations_of(lws).get(f"{_LWS}/exclusive-topology"):
        notes[f"{_LWS}/exclusive-topology"] = exclusive
    leaders = _stateful_set(lws, name_of(lws), leader, {f"{_LWS}/worker-index": "0"}, notes)
    for group in range(size_of(lws, spec.get("replicas"), 1, "$.spec.replicas", size)):
        name = f"{name_of(lws)}-{group}"
        labels = {f"{_LWS}/group-index": str(group), f"{_LWS}/group-key": _key(namespace_of(lws), name)}
        yield from _stateful(lws, leaders, group, 0, labels)
        fields = {**notes, f"{_LWS}/leader-name": name}
        workers = _stateful_set(lws, name, worker, labels, fields)
        for index in range(1, size):
            yield from _stateful(lws, workers, index, index, {**labels, f"{_LWS}/worker-index": str(index)})


def _stateful_set(lws: Object, name: str, template: Object, labels: Object, annotations: Object) -> Object:
    whole = with_metadata(template, {f"{_LWS}/name": name_of(lws), **labels}, annotations)
    claims = deep_copy_json(section(lws, "spec", "leaderWorkerTemplate").get("volumeClaimTemplates") or [])
    spec = {"serviceName": name_of(lws), "template": whole, "volumeClaimTemplates": claims}
    return child(lws, "apps/v1", "StatefulSet", name, spec)


def _stateful(lws: Object, owner: Object, ordinal: int, worker: int, labels: dict[str, str]) -> Iterator[Object]:
    revision = revision_of(owner)
    yield from claims_of(owner, ordinal)
    pod = stateful_pod(owner, section(owner, "spec", "template"), revision, ordinal)
    part_of(pod, "metadata")["labels"] |= {**labels, f"{_LWS}/template-revision-hash": revision.rpartition("-")[2]}
    part_of(pod, "metadata").pop("generateName", None)
    topology = annotations_of(pod).get(f"{_LWS}/exclusive-topology")
    if topology:
        # Workers are given their leader's domain by a node selector; that they follow it there comes to the same.
        add_exclusive_affinity(part_of(pod, "spec"), f"{_LWS}/group-key", labels[f"{_LWS}/group-key"], topology)
    _put_into_sub_group(lws, pod, labels[f"{_LWS}/group-index"], worker, topology)
    yield pod


def _put_into_sub_group(lws: Object, pod: Object, group: str, worker: int, topology: str | None) -> None:
    """Label a pod with its subgroup, and add the exclusive affinity of subgroups if the object asks for it."""
    both = section(lws, "spec", "leaderWorkerTemplate")
    policy = section(both, "subGroupPolicy")
    size, whole = integer(policy.get("subGroupSize"), 0), integer(both.get("size"), 1)
    if size <= 0 or (worker == 0 and policy.get("subGroupPolicyType") == "LeaderExcluded"):
        return
    # If the subgroups are full without the leader, it is an extra pod of the first one.
    index = 0 if worker == 0 else (worker - 1) // size if (whole - 1) % size == 0 else worker // size
    key = _key(f"{name_of(lws)}-{group}", str(index))
    part_of(pod, "metadata")["labels"] |= {f"{_LWS}/subgroup-index": str(index), f"{_LWS}/subgroup-key": key}
    own = annotations_of(lws).get(f"{_LWS}/subgroup-exclusive-topology")
    if own and own != topology:
        add_exclusive_affinity(part_of(pod, "spec"), f"{_LWS}/subgroup-key", key, own)


def _key(namespace: str, name: str) -> str:
    return sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()
