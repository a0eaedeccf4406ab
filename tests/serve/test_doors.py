"""A law: the same question has the same outcome, whichever door it comes through."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("starlette")

import kwhatif
from kwhatif.render.formats import as_json
from kwhatif.serve.admission import AdmissionSettings
from kwhatif.serve.service import Service
from tests.serve.doors import cluster, request, service_of
from tests.serve.test_admission import BIG, review


def deployment(replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": "web", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "big"}}, "spec": {"containers": [container]}}
    return {
        **BIG,
        "metadata": {"name": "big", "namespace": "shop"},
        "spec": {**BIG["spec"], "replicas": replicas, "template": template},
    }


WORLDS = {
    "fits": deployment(1, "10m"),
    "some find no node": deployment(5, "2"),
    "none finds a node": deployment(3, "64"),
    "evicts others": deployment(2, "1"),
    "asks for nothing": deployment(0, "1"),
}


def agent_answer(service: Service, tool: str, arguments: dict[str, Any]) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    text = request(service, "POST", "/mcp", call).json["result"]["content"][0]["text"]
    return json.loads(text.partition("\n")[2])


@pytest.mark.parametrize("manifest", WORLDS.values(), ids=WORLDS)
def test_python_http_an_agent_and_the_webhook_hear_the_same(manifest: dict[str, Any]) -> None:
    service = service_of(admission=AdmissionSettings(refuses=True))
    result = kwhatif.gate([manifest], snapshot=cluster().snapshot)
    outcome = json.loads(as_json(result))["outcome"]
    over_http = request(service, "POST", "/v1/gate", {"manifests": [manifest]})
    agent = agent_answer(service, "gate", {"manifests": [manifest]})
    hook = request(service, "POST", "/admit", review(manifest)).json["response"]
    assert over_http.json["outcome"] == outcome
    assert over_http.headers["kwhatif-exit-code"] == str(result.exit_code)
    assert {key: agent["outcome"][key] for key in ("good", "evicted", "verdict")} == {
        key: outcome[key] for key in ("good", "evicted", "verdict")
    }
    assert hook["allowed"] == (result.exit_code == 0) == outcome["good"]
    titles = [finding.title for finding in result.findings]
    said = [*hook.get("warnings", ()), hook.get("status", {}).get("message", "")]
    assert all(any(title in text for text in said) for title in titles)
