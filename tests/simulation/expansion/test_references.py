"""What admission is told to look up in another namespace: services of webhooks, parameters of policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif

Json = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
DEPLOYMENTS = {"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}


def an(api: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


NODE = an("v1", "Node", "n1", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}})
SPACES = [an("v1", "Namespace", "shop"), an("v1", "Namespace", "guards")]
POLICY = [
    an(
        f"{GROUP}/v1",
        "ValidatingAdmissionPolicy",
        "few",
        spec={
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [DEPLOYMENTS]},
            "validations": [{"expression": "object.spec.replicas <= int(params.data.most)", "message": "too many"}],
        },
    ),
    an(
        f"{GROUP}/v1",
        "ValidatingAdmissionPolicyBinding",
        "few",
        spec={
            "policyName": "few",
            "validationActions": ["Deny"],
            "paramRef": {"name": "limits", "namespace": "guards", "parameterNotFoundAction": "Deny"},
        },
    ),
]
LIMITS = an("v1", "ConfigMap", "limits", "guards", data={"most": "2"})
CONFIG_MAPS_OF_GUARDS = an("v1", "ConfigMap", "kube-root-ca.crt", "guards")
HOOK = an(
    f"{GROUP}/v1",
    "ValidatingWebhookConfiguration",
    "guard",
    webhooks=[
        {
            "name": "h.example.com",
            "clientConfig": {"service": {"name": "hook", "namespace": "guards"}},
            "rules": [DEPLOYMENTS],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
    ],
)
SERVICE = an("v1", "Service", "hook", "guards", spec={"clusterIP": "10.0.0.7", "ports": [{"port": 443}]})
OTHER_SERVICE = an("v1", "Service", "kubernetes", "default", spec={"clusterIP": "10.0.0.1", "ports": [{"port": 443}]})


def deployment(replicas: int) -> Json:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return an("apps/v1", "Deployment", "web", "shop", spec=spec)


@pytest.mark.parametrize(
    ("there", "replicas", "refused", "unknown"),
    [
        ([*POLICY, LIMITS], 2, "", ""),
        ([*POLICY, LIMITS], 3, "denied request: too many", ""),
        ([*POLICY, CONFIG_MAPS_OF_GUARDS], 2, "no params found for policy binding", ""),
        (POLICY, 2, "", "its parameters are not known (ConfigMap)"),
        ([HOOK, SERVICE], 2, "", "webhook h.example.com of guard would be asked"),
        ([HOOK, OTHER_SERVICE], 2, 'service "hook" not found', ""),
        ([HOOK], 2, "", "webhook h.example.com of guard would be asked"),
    ],
    ids=[
        "the parameters allow it",
        "the parameters do not",
        "the namespace has others",
        "no list of their kind",
        "the service is there",
        "there are other services",
        "no list of services",
    ],
)
def test_what_is_named_in_another_namespace_counts(
    there: list[Json], replicas: int, refused: str, unknown: str, tmp_path: Path
) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [NODE, *SPACES, *there]}
    (tmp_path / "cluster.json").write_text(json.dumps(listed))
    found = kwhatif.expand(deployment(replicas), snapshot=tmp_path / "cluster.json")
    assert [refused in each.message for each in found.refusals] == ([True] if refused else [])
    about = [gap.what for gap in found.gaps if "ValidatingAdmissionPolicy few" in gap.what or "webhook" in gap.what]
    assert [unknown in what for what in about] == ([True] if unknown else [])
