"""Objects and servers for tests of admission, in few words."""

from __future__ import annotations

from typing import Any

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

Json = dict[str, Any]


def make(kind: str, name: str = "x", api_version: str = "v1", **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def in_cluster(kind: str, name: str, api_version: str = "v1", **fields: Any) -> Json:
    """An object that lives in no namespace."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def container(name: str = "c", **fields: Any) -> Json:
    return {"name": name, "image": "x", **fields}


def asking(requests: Json | None = None, limits: Json | None = None, name: str = "c") -> Json:
    """A container that asks for resources."""
    given = {"requests": requests, "limits": limits}
    return container(name, resources={key: value for key, value in given.items() if value is not None})


def pod(name: str = "p", *, labels: Json | None = None, **spec: Any) -> Json:
    made = make("Pod", name, spec={"containers": [container()], **spec})
    if labels is not None:
        made["metadata"]["labels"] = labels
    return made


def template(labels: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"labels": labels or {"app": "a"}}, "spec": {"containers": [container()], **spec}}


def workload(kind: str, name: str = "w", **spec: Any) -> Json:
    """Of the apps group, with a selector and a template that go together."""
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec}
    return make(kind, name, "apps/v1", spec={key: value for key, value in whole.items() if value is not None})


def job(**spec: Any) -> Json:
    return make("Job", "j", "batch/v1", spec={"template": template(restartPolicy="Never"), **spec})


def claim(name: str = "c", storage: str | None = "1Gi", **spec: Any) -> Json:
    given: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return make("PersistentVolumeClaim", name, spec=given)


def limit_range(*limits: Json) -> Json:
    return make("LimitRange", "lr", spec={"limits": list(limits)})


def quota(hard: Json, name: str = "q", **spec: Any) -> Json:
    return make("ResourceQuota", name, spec={"hard": hard, **spec})


def server(*objects: Json, plugins: tuple[str, ...] | None = None) -> ApiServer:
    world = ObjectStore(objects)
    return ApiServer(world) if plugins is None else ApiServer(world, plugins)


def created(api: ApiServer, obj: Json) -> Json:
    answer = api.create(obj)
    assert isinstance(answer, StoredObject), answer.message
    return answer.object


def refused(api: ApiServer, obj: Json) -> str:
    answer = api.create(obj)
    assert isinstance(answer, RequestRefusal), answer.object
    return answer.message


def trail(api: ApiServer, obj: Json) -> list[str]:
    """What was said about the changes."""
    answer = api.create(obj)
    assert isinstance(answer, StoredObject), answer.message
    return [f"{change.step}: {change.path}: {change.text}" for change in answer.changes]
