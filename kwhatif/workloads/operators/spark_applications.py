"""SparkApplication: a driver, and executors that the driver makes.

Upstream: kubeflow/spark-operator, internal/controller/sparkapplication/submission.go; apache/spark,
resource-managers/kubernetes/core (BasicDriverFeatureStep, BasicExecutorFeatureStep).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.decode import describe_value
from kwhatif.api.objects import part_of, section
from kwhatif.errors import InputError
from kwhatif.golang.parsing import finite, parse_int
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import deep_copy_json, integer, name_of
from kwhatif.workloads.operators.operator_kind import is_true, size_of, some_fields
from kwhatif.workloads.workload_kind import Companions, child_pod

_JAVA_SIZE = re.compile(r"(\d+)([kmgtp]?)b?", re.IGNORECASE)
_MEBIBYTES = {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_LEAST_OVERHEAD = 384
_SCHEDULING = ("affinity", "tolerations", "nodeSelector", "schedulerName", "hostNetwork", "priorityClassName",
               "initContainers", "terminationGracePeriodSeconds", "serviceAccount")  # fmt: skip


def spark_children(app: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a SparkApplication: the driver, and as many executors as it starts with (with dynamic allocation, the
    most that there may be).
    """
    spec = section(app, "spec")
    if spec.get("suspend"):
        return
    driver = _pod(app, "driver", str(section(spec, "driver").get("podName") or f"{name_of(app)}-driver"))
    yield driver
    size_of(app, _executors(spec), 0, "$.spec.executor.instances")
    prefix = f"{name_of(app)}-{template_hash({'spec': spec})}"
    for number in range(1, _executors(spec) + 1):
        pod = _pod(app, "executor", f"{prefix}-exec-{number}")
        part_of(pod, "metadata")["labels"] |= {"spark-exec-id": str(number)}
        part_of(pod, "metadata")["ownerReferences"] = part_of(child_pod(driver, {}, "x"), "metadata", "ownerReferences")
        yield pod


def _executors(spec: Object) -> int:
    size = integer(section(spec, "executor").get("instances", _conf(spec, "executor.instances")), 1)
    dynamic = _dynamic_allocation(spec)
    if not dynamic:
        return size
    counts = [integer(dynamic.get(key), 0) for key in ("initialExecutors", "minExecutors", "maxExecutors")]
    return max(size, *counts)


def _dynamic_allocation(spec: Object) -> Object:
    """The settings of dynamic allocation, empty where it is off; fields of the object win over ``sparkConf``."""
    prefix = "dynamicAllocation."
    conf = section(spec, "sparkConf")
    allocation = {
        key.removeprefix(f"spark.{prefix}"): value for key, value in conf.items() if key.startswith(f"spark.{prefix}")
    }
    allocation |= section(spec, "dynamicAllocation")
    return allocation if is_true(allocation.get("enabled")) else {}


def _conf(spec: Object, key: str) -> Any:
    """A setting of ``sparkConf``, which counts where the object has no field for it."""
    return section(spec, "sparkConf").get(f"spark.{key}")


def spark_doubts(app: Object, companions: Companions) -> Iterator[Doubt]:
    dynamic = _dynamic_allocation(section(app, "spec"))
    if dynamic:
        least, most = dynamic.get("minExecutors", 0), _executors(section(app, "spec"))
        what = f"SparkApplication {name_of(app)} may have between {least} and {most} executors"
        yield Doubt(what, f"it is taken to have {most}, an upper bound")


def _pod(app: Object, role: str, name: str) -> Object:
    spec = section(app, "spec")
    own = section(spec, role)
    template = deep_copy_json(section(own, "template"))
    labels = {
        **section(own, "labels"),
        "spark-role": role,
        "spark-app-name": name_of(app),
        "sparkoperator.k8s.io/app-name": name_of(app),
        "sparkoperator.k8s.io/launched-by-spark-operator": "true",
    }
    notes = {key: str(value) for key, value in section(own, "annotations").items()}
    pod = child_pod(app, template, name, labels, notes)
    body = part_of(pod, "spec")
    containers = body.setdefault("containers", [])
    if not containers:
        containers.append({})
    main = containers[0]
    main.setdefault("name", "spark-kubernetes-driver" if role == "driver" else "spark-kubernetes-executor")
    main.setdefault("image", str(own.get("image") or spec.get("image") or "spark"))
    main["resources"] = _resources(app, own, role)
    containers.extend(deep_copy_json(own.get("sidecars") or []))
    body |= some_fields(own, *_SCHEDULING)
    if "serviceAccount" in body:
        body["serviceAccountName"] = body.pop("serviceAccount")
    conf = section(spec, "sparkConf")
    selectors = {
        key.removeprefix(prefix): str(value)
        for prefix in ("spark.kubernetes.node.selector.", f"spark.kubernetes.{role}.node.selector.")
        for key, value in conf.items()
        if key.startswith(prefix)
    }
    node_selector = {**selectors, **section(spec, "nodeSelector"), **section(body, "nodeSelector")}
    if node_selector:
        body["nodeSelector"] = node_selector
    batch = section(spec, "batchSchedulerOptions")
    if batch.get("priorityClassName"):
        body.setdefault("priorityClassName", batch["priorityClassName"])
    if spec.get("batchScheduler"):
        body.setdefault("schedulerName", spec["batchScheduler"])
    volumes = deep_copy_json(spec.get("volumes") or [])
    if volumes:
        body["volumes"] = [*(body.get("volumes") or ()), *volumes]
    body.setdefault("restartPolicy", "Never")
    return pod


def _resources(app: Object, own: Object, role: str) -> Object:
    memory = f"{_memory(app, own, role)}Mi"
    spec = section(app, "spec")
    request = own.get("coreRequest") or _conf(spec, f"kubernetes.{role}.request.cores")
    cores = str(request or own.get("cores") or _conf(spec, f"{role}.cores") or 1)
    requests: Object = {"cpu": cores, "memory": memory}
    limits: Object = {"memory": memory}
    if limit := own.get("coreLimit") or _conf(spec, f"kubernetes.{role}.limit.cores"):
        limits["cpu"] = str(limit)
    gpu = section(own, "gpu")
    if gpu.get("name"):
        requests[gpu["name"]] = limits[gpu["name"]] = str(gpu.get("quantity", 1))
    return {"requests": requests, "limits": limits}


def _memory(app: Object, own: Object, role: str) -> int:
    """Mebibytes: what the process gets, and what Spark adds for all that is outside its heap."""
    spec = section(app, "spec")
    heap = _mebibytes(str(own.get("memory") or _conf(spec, f"{role}.memory") or "1g"), f"$.spec.{role}.memory")
    if overhead := own.get("memoryOverhead") or _conf(spec, f"{role}.memoryOverhead"):
        return heap + _mebibytes(str(overhead), f"$.spec.{role}.memoryOverhead")
    default = "0.1" if spec.get("type") in (None, "Java", "Scala") else "0.4"
    overhead_factor = spec.get("memoryOverheadFactor") or _conf(spec, "kubernetes.memoryOverheadFactor") or default
    factor = finite(overhead_factor)
    if factor is None:
        raise InputError(
            f"expected a number, found {describe_value(overhead_factor)}", place="$.spec.memoryOverheadFactor"
        )
    return heap + max(math.floor(heap * factor), _LEAST_OVERHEAD)


def _mebibytes(text: str, place: str) -> int:
    match = _JAVA_SIZE.fullmatch(text.strip())
    size = parse_int(match[1]) if match else None
    if match is None or size is None:
        raise InputError(f"expected a size such as 512m or 2g, found {describe_value(text)}", place=place)
    return math.floor(size * _MEBIBYTES[match[2].lower()])
