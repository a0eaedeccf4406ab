"""What API servers of several minors make of the same object."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.pipeline import DEFAULT_PLUGINS
from kwhatif.admission.response import RequestRefusal
from kwhatif.admission.server import ApiServer

LABELS = {"app": "a"}
MINORS = ("1.29", "1.35", "1.36")


def service(name: str = "web", **spec: Any) -> Any:
    ports = [{"port": 80, "protocol": "TCP"}]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports, **spec}}


def policy(cidr: str) -> Any:
    rules = [{"from": [{"ipBlock": {"cidr": cidr}}]}]
    head = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a", "namespace": "b"}}
    return head | {"spec": {"podSelector": {}, "ingress": rules}}


def pod(**spec: Any) -> Any:
    containers = [{"name": "main", "image": "x"}]
    metadata = {"name": "a", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def job(status: Any = None, *, memory: str = "1Gi", zone: str = "a") -> Any:
    container = {"name": "main", "image": "x", "resources": {"requests": {"memory": memory}}}
    spec = {"containers": [container], "restartPolicy": "Never", "nodeSelector": {"zone": zone}}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}}
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    asks = {"suspend": True, "manualSelector": True, "selector": {"matchLabels": LABELS}, "template": template}
    return head | {"spec": asks} | ({"status": status} if status else {})


def fields(answer: Any) -> list[str]:
    return [cause.field for cause in answer.causes] if isinstance(answer, RequestRefusal) else []


@pytest.mark.parametrize(
    ("obj", "places"),
    [
        pytest.param(service(clusterIP="10.0.0.010"), ["spec.clusterIPs[0]"], id="a cluster address with a zero"),
        pytest.param(service(externalIPs=["::ffff:1.2.3.4"]), ["spec.externalIPs[0]"], id="an address in disguise"),
        pytest.param(policy("10.0.0.1/8"), ["spec.ingress[0].from[0].ipBlock.cidr"], id="a network with bits to spare"),
        pytest.param(
            pod(hostAliases=[{"ip": "127.0.0.01", "hostnames": ["a.example"]}]),
            ["spec.hostAliases[0].ip"],
            id="an alias with a zero",
        ),
    ],
)
def test_addresses_in_an_unusual_form_are_refused_by_new_servers(obj: Any, places: list[str]) -> None:
    told = {minor: fields(ApiServer(ObjectStore(), DEFAULT_PLUGINS, minor).send("create", obj)) for minor in MINORS}
    assert told == {"1.29": [], "1.35": [], "1.36": places}


def test_the_name_of_a_service_may_begin_with_a_digit_on_new_servers_alone() -> None:
    told = {m: fields(ApiServer(ObjectStore(), DEFAULT_PLUGINS, m).send("create", service("4you"))) for m in MINORS}
    assert told == {"1.29": ["metadata.name"], "1.35": ["metadata.name"], "1.36": []}


NEW: Any = {}
AGAIN = {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]}


@pytest.mark.parametrize(
    ("status", "change", "since"),
    [
        pytest.param(NEW, {"zone": "b"}, "1.29", id="what decides about nodes, before it ran"),
        pytest.param(AGAIN, {"zone": "b"}, "1.36", id="the same once it was suspended again"),
        pytest.param(NEW, {"memory": "2Gi"}, "1.36", id="resources"),
    ],
)
def test_what_may_change_about_a_suspended_job(status: Any, change: Any, since: str) -> None:
    for minor in MINORS:
        server = ApiServer(ObjectStore(), DEFAULT_PLUGINS, minor)
        stored = server.send("create", job())
        assert not isinstance(stored, RequestRefusal)
        server.world.put(stored.object | {"status": status})
        answer = server.send("replace", job(**change))
        wanted = [] if float(minor) >= float(since) else ["spec.template"]
        assert fields(answer) == wanted, minor
