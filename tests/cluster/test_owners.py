from __future__ import annotations

import pytest
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from tests.builders import (
    cluster_of,
    pod,
    replica_set,
    replication_controller,
    select,
    service,
    stateful_set,
)

WEB = {"app": "web"}
OF_SET = ("apps/v1", "ReplicaSet", "set")


@pytest.mark.parametrize(
    ("waiting", "objects", "selector"),
    [
        pytest.param(pod(labels=WEB), [], "<all>", id="nobody selects the pod"),
        pytest.param(pod(labels=WEB), [service("s", WEB)], "app=web", id="a service does"),
        pytest.param(pod(labels=WEB), [service("s", {"app": "db"})], "<all>", id="a service selects others"),
        pytest.param(pod(labels=WEB), [service("s", {**WEB, "tier": "x"})], "<all>", id="a service wants more labels"),
        pytest.param(
            pod(labels={**WEB, "tier": "x"}),
            [service("s", WEB), service("t", {"tier": "x"})],
            "app=web,tier=x",
            id="two services add up",
        ),
        pytest.param(pod(labels=WEB), [service("s", None)], "<all>", id="a service without a selector"),
        pytest.param(
            pod(labels=WEB), [service("s", {})], "<all>", id="an empty selector selects the pod and adds nothing"
        ),
        pytest.param(
            pod(labels=WEB), [service("s", WEB, namespace="other")], "<all>", id="a service of another namespace"
        ),
        pytest.param(
            pod(owner=OF_SET),
            [replica_set("set", select("tier In x y", app="web"))],
            "app=web,tier in (x,y)",
            id="the controller's selector counts as it is, whatever the pod's labels",
        ),
        pytest.param(
            pod(owner=OF_SET), [replica_set("other", select(app="web"))], "<all>", id="another one's does not"
        ),
        pytest.param(
            pod(owner=OF_SET),
            [replica_set("set", select(app="web"), namespace="other")],
            "<all>",
            id="nor one of another namespace",
        ),
        pytest.param(
            pod(owner=("apps/v1", "StatefulSet", "set")),
            [stateful_set("set", select(app="web")), replica_set("set", select(app="db"))],
            "app=web",
            id="a StatefulSet is not a ReplicaSet",
        ),
        pytest.param(
            pod(owner=("v1", "ReplicationController", "rc")),
            [replication_controller("rc", WEB)],
            "app=web",
            id="a ReplicationController has plain labels",
        ),
        pytest.param(
            pod(owner=("apps/v1beta1", "ReplicaSet", "set")),
            [replica_set("set", select(app="web"))],
            "<all>",
            id="an old API version is another kind",
        ),
        pytest.param(
            pod(owner=("batch/v1", "Job", "set")),
            [replica_set("set", select(app="web"))],
            "<all>",
            id="jobs have no say",
        ),
        pytest.param(
            pod(labels=WEB, owner=OF_SET),
            [service("s", WEB), replica_set("set", select(tier="x"))],
            "app=web,tier=x",
            id="service and controller together",
        ),
        pytest.param(
            pod(labels=WEB, owner=OF_SET),
            [service("s", WEB), replica_set("set", select("tier Near x"))],
            "app=web",
            id="a selector that makes no sense adds nothing",
        ),
    ],
)
def test_default_selector(waiting: Pod, objects: list[Resource], selector: str) -> None:
    cluster = cluster_of([], objects=objects)
    assert str(cluster.owners.default_selector(cluster.shapes.info(waiting).shape)) == selector


def test_an_owner_that_is_no_controller_has_no_say() -> None:
    owned = pod(owner=OF_SET)
    (owner,) = owned.metadata.owner_references or []
    mere = replace(owned.metadata, owner_references=[replace(owner, controller=None)])
    cluster = cluster_of([], objects=[replica_set("set", select(app="web"))])
    assert cluster.owners.default_selector(cluster.shapes.info(replace(owned, metadata=mere)).shape).empty
