"""Time ``kwhatif gate`` as a user runs it, start-up and reading included: one JSON line a rules file.

    gate.py [--nodes N] [--pods P] [--manifests M] [--repeat N] [--rules NAME,...]
            [--definitions N] [--policies N] [--webhooks N]

A cluster of ``nodes`` nodes and ``pods`` pods, and a change of ``manifests`` Deployments: half of them are updates of
what runs, of 50 pods each, half of them are new, of three pods each. ``default`` is a run without a rules file, ``all``
asks every rule there is, the last two only fits-without, for every one of three zones and for every single node.

The cluster may hold ``definitions`` of custom resources, and ``policies`` and ``webhooks`` that are about Deployments
and pods; one in four asks about names, so that no two pods are the same to it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from load import REPLICAS, nodes, pods

Spec = dict[str, Any]

RULES: dict[str, Spec | None] = {
    "default": None,
    "all": {
        **{name: {} for name in ("unschedulable", "preempts", "rollout-deadlock", "headroom", "spread", "single-node")},
        **{name: {} for name in ("quota", "limits", "pinned", "new-nodes", "fidelity", "score-margin", "snapshot-age")},
        "fits-without": {"gone": ["biggest-node"]},
    },
    "any-zone": {"fits-without": {"gone": ["any-zone"]}},
    "any-node": {"fits-without": {"gone": ["any-node"]}},
}


def replica_sets(count: int) -> Iterator[Spec]:
    """The controllers of the pods that run."""
    for app in range(-(-count // REPLICAS)):
        name = f"app{app}"
        yield {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-7c9d",
                "namespace": f"team-{app % 40}",
                "labels": {"app": name, "pod-template-hash": "7c9d"},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"{app}", "controller": True}
                ],
            },
            "spec": {"replicas": REPLICAS, **_spec(name, {"pod-template-hash": "7c9d"}, "1.0")},
        }


def _spec(name: str, more: Spec, image: str) -> Spec:
    labels = {"app": name, **more}
    container = {
        "name": "main",
        "image": f"registry.example/{name}:{image}",
        "resources": {"requests": {"cpu": "150m", "memory": "256Mi"}},
    }
    return {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }


def deployment(name: str, namespace: str, replicas: int, image: str) -> Spec:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "uid": name.removeprefix("app")},
        "spec": {"replicas": replicas, **_spec(name, {}, image)},
    }


def definition(number: int) -> Spec:
    """One with a pod template's worth of fields."""
    level: Spec = {"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(40)}}
    for _ in range(8):
        level = {"type": "object", "properties": {**level["properties"], "items": {"type": "array", "items": level}}}
    kind, group = f"Thing{number}", f"group{number % 40}.example.com"
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{kind.lower()}s", "singular": kind.lower()}
    schema = {"type": "object", "properties": {"spec": level, "status": {"type": "object"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def policy(number: int) -> Iterator[Spec]:
    """A policy about Deployments or pods, and its binding."""
    group, resource, path = [("", "pods", "object.spec"), ("apps", "deployments", "object.spec.template.spec")][
        number % 2
    ]
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    asked = [
        "variables.containers.all(c, c.image.startsWith('registry.example/'))",
        "variables.containers.all(c, !has(c.securityContext) || c.securityContext.?privileged.orValue(false) == false)",
        "!has(object.metadata.labels) || !('banned' in object.metadata.labels)",
    ]
    if number % 4 < 2:
        asked[2] = f"object.metadata.name != 'forbidden-{number}'"
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "containers", "expression": f"{path}.containers"}],
        "validations": [{"expression": text} for text in asked],
    }
    version = "admissionregistration.k8s.io/v1"
    kind, name = "ValidatingAdmissionPolicy", f"policy{number}"
    yield {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    yield {"apiVersion": version, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": bound}


def webhook(number: int) -> Spec:
    """A webhook that could be about any Deployment or pod, and is about none."""
    about = ["object.metadata.name == 'none'", "has(object.spec.none)"][number % 4 > 0]
    rule = {"apiGroups": ["", "apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods", "deployments"]}
    hook = {
        "name": f"hook{number}.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "matchConditions": [{"name": "about", "expression": about}],
        "rules": [rule],
        "sideEffects": "None",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"hook{number}"},
        "webhooks": [hook],
    }


def admission(definitions: int, policies: int, webhooks: int) -> list[Spec]:
    """What the API server asks besides the manifests themselves."""
    found = [*map(definition, range(definitions)), *map(webhook, range(webhooks))]
    return [*found, *(obj for number in range(policies) for obj in policy(number))]


def write(folder: Path, node_count: int, pod_count: int, manifests: int, more: Sequence[Spec] = ()) -> None:
    """The cluster and both sides of the change."""
    apps = -(-pod_count // REPLICAS)
    updates = min(manifests // 2, apps)
    running = [deployment(f"app{app}", f"team-{app % 40}", REPLICAS, "1.0") for app in range(apps)]
    items = [*nodes(node_count), *pods(pod_count, node_count), *replica_sets(pod_count), *running, *more]
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for side, image in (("base", "1.0"), ("head", "2.0")):
        directory = folder / side
        directory.mkdir()
        sets = [deployment(f"app{app}", f"team-{app % 40}", REPLICAS, image) for app in range(updates)]
        if side == "head":
            sets += [deployment(f"new{n}", f"team-{n % 40}", 3, image) for n in range(manifests - updates)]
        for each in sets:
            del each["metadata"]["uid"]
            (directory / f"{each['metadata']['name']}.json").write_text(json.dumps(each))


def measure(folder: Path, name: str) -> Spec:
    words = ["gate", str(folder / "head"), "--base", str(folder / "base"), "--snapshot", str(folder / "cluster.json")]
    rules = RULES[name]
    if rules is not None:
        path = folder / f"{name}.json"
        document = {"apiVersion": "kwhatif.dev/v1", "kind": "GatePolicy", "rules": rules}
        path.write_text(json.dumps(document))
        words += ["--config", str(path)]
    before, started = os.times().children_user, time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "kwhatif", *words, "-o", "json"],
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    seconds, user = time.perf_counter() - started, os.times().children_user - before
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    result = json.loads(done.stdout)
    return {
        "name": name,
        "changes": len(result["changes"]),
        "pods": len(result["placements"]),
        "verdict": result["verdict"],
        "findings": len(result["findings"]),
        "checked": sum(rule["checked"] for rule in result["rules"]),
        "seconds": round(seconds, 2),
        "userSeconds": round(user, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--manifests", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--rules", default=",".join(RULES))
    for name in ("definitions", "policies", "webhooks"):
        parser.add_argument(f"--{name}", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        more = admission(arguments.definitions, arguments.policies, arguments.webhooks)
        write(folder, arguments.nodes, arguments.pods, arguments.manifests, more)
        for rules in arguments.rules.split(","):
            runs = [measure(folder, rules) for _ in range(arguments.repeat)]
            print(
                json.dumps({"nodes": arguments.nodes, **min(runs, key=lambda run: float(run["seconds"]))}), flush=True
            )


if __name__ == "__main__":
    main()
