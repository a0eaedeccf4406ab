"""Groups that operators create for schedulers other than kube-scheduler: these are not modelled, and reported as
doubts.

Upstream: kubeflow/training-operator, pkg/controller.v1/common/job.go (minMember); kubeflow/trainer, pkg/runtime
(podGroupPolicy); ray-project/kuberay, ray-operator/controllers/ray/batchscheduler; volcano-sh/volcano, pkg/webhooks
(admission/jobs/mutate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.objects import section
from kwhatif.workloads.objects import integer, name_of
from kwhatif.workloads.operators.operator_kind import items_of
from kwhatif.workloads.workload_kind import Companions

_RAY_GANG = "ray.io/gang-scheduling-enabled"
_ONE_BY_ONE = "its pods are taken by themselves: some may run while others of them wait"

Doubts = Callable[[Object, Companions], Iterator[Doubt]]


def training_job_doubts(field: str) -> Doubts:
    """What the gang scheduler may do that the training operator was started with, for roles in a field of a job."""

    def doubts(job: Object, companions: Companions) -> Iterator[Doubt]:
        policy = section(job, "spec", "runPolicy", "schedulingPolicy")
        if policy:
            roles = section(job, "spec", field).values()
            pods = sum(integer(role.get("replicas"), 1) for role in roles if isinstance(role, dict))
            least = integer(policy.get("minAvailable"), pods)
            asks = f"asks for a group of {least} of {pods} pods"
            yield Doubt(f"{_describe(job)} {asks}, for the gang scheduler of its operator", _ONE_BY_ONE)

    return doubts


def runtime_doubts(job: Object, runtime: Object) -> Iterator[Doubt]:
    """What the scheduler may do that a training runtime makes a PodGroup for."""
    for scheduler in section(runtime, "spec", "podGroupPolicy"):
        named = {"coscheduling": "the plugin Coscheduling", "volcano": "Volcano"}.get(scheduler, scheduler)
        yield Doubt(f"{_describe(job)} is a group of all its pods for {named}", _ONE_BY_ONE)


def ray_doubts(owner: Object, companions: Companions) -> Iterator[Doubt]:
    """What the batch scheduler may do that KubeRay was started with."""
    if _RAY_GANG in section(owner, "metadata", "labels"):
        what = f"{_describe(owner)} asks for a group of its head and its workers, for the batch scheduler of KubeRay"
        yield Doubt(what, _ONE_BY_ONE)


def volcano_doubts(job: Object, companions: Companions) -> Iterator[Doubt]:
    """What Volcano's scheduler does with a job."""
    tasks = items_of(job, "spec", "tasks")
    pods = sum(integer(task.get("replicas"), 1) for task in tasks)
    least = integer(section(job, "spec").get("minAvailable"), 0) or sum(
        integer(task.get("minAvailable"), integer(task.get("replicas"), 1)) for task in tasks
    )
    what = f"Volcano takes the pods of {_describe(job)} up together, {least} of {pods} or none"
    yield Doubt(what, "that is not imitated; pods for a scheduler that is none of the configuration's are unclaimed")


def _describe(obj: Object) -> str:
    return f"{obj.get('kind')} {name_of(obj)}"
