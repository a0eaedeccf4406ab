"""A cluster in which every kind that a snapshot holds matters to somebody, and a change that meets all of them."""

from __future__ import annotations

from typing import Any

from kwhatif.api.kinds import READ_KINDS, kind_named

Json = dict[str, Any]

HOME, GROUP = "shop", "admissionregistration.k8s.io"


def an(kind: str, name: str, home: str = "", *, labels: Json | None = None, owner: str = "", **fields: Any) -> Json:
    """An object; its ``owner`` is ``Kind/name``."""
    metadata: Json = {"name": name, "uid": f"{kind}-{name}", "labels": labels or {}}
    if home or kind_named(kind).namespaced:
        metadata["namespace"] = home or HOME
    if owner:
        above, _, its_name = owner.partition("/")
        version = kind_named(above).api_version()
        reference = {"apiVersion": version, "kind": above, "name": its_name, "uid": f"{above}-{its_name}"}
        metadata["ownerReferences"] = [reference | {"controller": True}]
    return {"apiVersion": kind_named(kind).api_version(), "kind": kind, "metadata": metadata, **fields}


def spec_of(image: str = "app:1", **more: Any) -> Json:
    requests = more.pop("requests", {"cpu": "100m", "memory": "64Mi"})
    return {"containers": [{"name": "main", "image": image, "resources": {"requests": requests}}], **more}


def running(name: str, node: str, owner: str = "", labels: Json | None = None, **spec: Any) -> Json:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return an("Pod", name, owner=owner, labels=labels, spec={**spec_of(**spec), "nodeName": node}, status=status)


def template(app: str, image: str = "app:1", **spec: Any) -> Json:
    return {"metadata": {"labels": {"app": app}}, "spec": spec_of(image, **spec)}


def workload(kind: str, app: str, image: str = "app:1", **more: Any) -> Json:
    spec: Json = {"template": template(app, image), "selector": {"matchLabels": {"app": app}}, **more}
    if kind == "ReplicationController":
        spec["selector"] = {"app": app}
    if kind not in ("DaemonSet", "Job", "CronJob"):
        spec.setdefault("replicas", 1)
    return an(kind, app, spec=spec)


def job(app: str) -> Json:
    return an("Job", app, spec={"template": template(app, restartPolicy="Never")})


def cron_job(app: str) -> Json:
    made = {"spec": {"template": template(app, restartPolicy="Never")}}
    return an("CronJob", app, spec={"schedule": "@daily", "jobTemplate": made})


def node(name: str) -> Json:
    room = {"cpu": "4", "memory": "8Gi", "pods": "30"}
    return an("Node", name, labels={"kubernetes.io/hostname": name, "disk": name}, status={"allocatable": room})


_PODS = [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"]}]


def _policy(verb: str, **spec: Any) -> list[Json]:
    return [an(f"{verb}AdmissionPolicy", "rule", spec={"matchConstraints": {"resourceRules": _PODS}, **spec})]


def _binding(verb: str) -> list[Json]:
    actions = {"validationActions": ["Deny"]} if verb == "Validating" else {}
    return [an(f"{verb}AdmissionPolicyBinding", "rule", spec={"policyName": "rule", **actions})]


_MUTATION = {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels/set', value: 'yes'}]"}
_SELECTED = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["n1"]}]}]}
_MODES = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_DEVICE = {"exactly": {"deviceClassName": "gpu"}, "name": "gpu"}

OBJECTS: dict[str, list[Json]] = {
    "Node": [node("n1"), node("n2")],
    "Pod": [
        running("web-old-1", "n1", "ReplicaSet/web-old", {"app": "web"}),
        running("web-old-2", "n2", "ReplicaSet/web-old", {"app": "web"}),
        running("db-0", "n1", "StatefulSet/db", {"app": "db"}),
        running("agent-1", "n1", "DaemonSet/agent", {"app": "agent"}),
        running("agent-2", "n2", "DaemonSet/agent", {"app": "agent"}),
        running("once-1", "n1", "Job/once", {"app": "once"}),
        running("old-1", "n2", "ReplicationController/old", {"app": "old"}),
        an("Pod", "dns", "kube-system", spec={**spec_of(), "nodeName": "n2"}, status={"phase": "Running"}),
    ],
    "ReplicaSet": [
        an(
            *("ReplicaSet", "web-old"),
            owner="Deployment/web",
            labels={"app": "web"},
            spec={"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web")},
        )
    ],
    "Deployment": [workload("Deployment", "web", replicas=2)],
    "StatefulSet": [workload("StatefulSet", "db", serviceName="db")],
    "DaemonSet": [workload("DaemonSet", "agent")],
    "Job": [job("once")],
    "CronJob": [cron_job("nightly")],
    "ReplicationController": [workload("ReplicationController", "old")],
    "Namespace": [an("Namespace", HOME, labels={"team": "red"}), an("Namespace", "kube-system")],
    "Service": [an("Service", "web", spec={"selector": {"app": "web"}})],
    "PodDisruptionBudget": [
        an(
            *("PodDisruptionBudget", "web"),
            spec={"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 2},
            status={"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2},
        )
    ],
    "PriorityClass": [an("PriorityClass", "high", value=1000)],
    "RuntimeClass": [an("RuntimeClass", "boxed", handler="boxed", overhead={"podFixed": {"cpu": "500m"}})],
    "LimitRange": [
        an("LimitRange", "small", spec={"limits": [{"type": "Container", "defaultRequest": {"memory": "128Mi"}}]})
    ],
    "ResourceQuota": [an("ResourceQuota", "few", spec={"hard": {"pods": "40"}}, status={"used": {"pods": "8"}})],
    "ServiceAccount": [
        *(an("ServiceAccount", "default", home) for home in (HOME, "kube-system")),
        an("ServiceAccount", "robot"),
    ],
    "PersistentVolume": [
        an(
            *("PersistentVolume", "pv-1"),
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "csi": {"driver": "disk.example.com", "volumeHandle": "v1"},
                "nodeAffinity": {"required": _SELECTED},
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": HOME, "name": "bound", "uid": "u"},
            },
            status={"phase": "Bound"},
        )
    ],
    "PersistentVolumeClaim": [
        an(
            *("PersistentVolumeClaim", "bound"),
            spec={**_MODES, "storageClassName": "fast", "volumeName": "pv-1"},
            status={"phase": "Bound"},
        ),
        an("PersistentVolumeClaim", "new", spec={**_MODES, "storageClassName": "fast"}, status={"phase": "Pending"}),
    ],
    "StorageClass": [
        an("StorageClass", "fast", provisioner="disk.example.com", volumeBindingMode="WaitForFirstConsumer")
    ],
    "CSINode": [
        an(
            "CSINode",
            name,
            spec={"drivers": [{"name": "disk.example.com", "nodeID": name, "allocatable": {"count": 1}}]},
        )
        for name in ("n1", "n2")
    ],
    "CSIDriver": [an("CSIDriver", "disk.example.com", spec={"storageCapacity": True})],
    "CSIStorageCapacity": [
        an("CSIStorageCapacity", "all", storageClassName="fast", capacity="100Gi", nodeTopology={"matchLabels": {}})
    ],
    "VolumeAttachment": [
        an(
            *("VolumeAttachment", "other"),
            spec={
                "attacher": "disk.example.com",
                "nodeName": "n2",
                "source": {"persistentVolumeName": "pv-2"},
            },
        )
    ],
    "ResourceClaim": [an("ResourceClaim", "mine", spec={"devices": {"requests": [_DEVICE]}})],
    "ResourceClaimTemplate": [an("ResourceClaimTemplate", "each", spec={"spec": {"devices": {"requests": [_DEVICE]}}})],
    "DeviceClass": [an("DeviceClass", "gpu", spec={"selectors": []})],
    "ResourceSlice": [
        an(
            *("ResourceSlice", "n1-gpus"),
            spec={
                "driver": "gpu.example.com",
                "nodeName": "n1",
                "devices": [{"name": "g0"}, {"name": "g1"}],
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            },
        )
    ],
    "MutatingAdmissionPolicy": _policy(
        *("Mutating",), reinvocationPolicy="Never", mutations=[{"patchType": "JSONPatch", "jsonPatch": _MUTATION}]
    ),
    "MutatingAdmissionPolicyBinding": _binding("Mutating"),
    "ValidatingAdmissionPolicy": _policy(
        "Validating", validations=[{"expression": "object.metadata.name != 'denied'", "message": "no"}]
    ),
    "ValidatingAdmissionPolicyBinding": _binding("Validating"),
    **{
        f"{verb}WebhookConfiguration": [
            an(f"{verb}WebhookConfiguration", "guard", webhooks=[{"name": f"{verb}.example.com", "rules": _PODS}])
        ]
        for verb in ("Mutating", "Validating")
    },
}


def a_pod(name: str, **spec: Any) -> Json:
    pod = an("Pod", name, labels={"app": name}, spec=spec_of(**spec))
    return pod | {"metadata": {key: value for key, value in pod["metadata"].items() if key != "uid"}}


def _claims(*names: str) -> Json:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


_NEAR = {
    "labelSelector": {"matchLabels": {"app": "web"}},
    "topologyKey": "kubernetes.io/hostname",
    "namespaceSelector": {"matchLabels": {"team": "red"}},
}

PODS: dict[str, Json] = {
    "bare": a_pod("bare"),
    "denied": a_pod("denied"),
    "classed": a_pod("classed", priorityClassName="high", runtimeClassName="boxed", serviceAccountName="robot"),
    "near": a_pod(*("near",), affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_NEAR]}}),
    "storing": a_pod("storing", **_claims("bound")),
    "growing": a_pod("growing", **_claims("new")),
    "devices": a_pod("devices", resourceClaims=[{"name": "d", "resourceClaimName": "mine"}]),
    "template": a_pod("template", resourceClaims=[{"name": "d", "resourceClaimTemplateName": "each"}]),
}
"""Pods that are new, each of which meets some of the kinds."""

UPDATES: dict[str, Json] = {
    "Deployment": workload("Deployment", "web", "app:2", replicas=2),
    "StatefulSet": workload("StatefulSet", "db", "app:2", serviceName="db"),
    "DaemonSet": workload("DaemonSet", "agent", "app:2"),
    "Job": job("once"),
    "CronJob": cron_job("nightly"),
    "ReplicationController": workload("ReplicationController", "old", replicas=2),
}
"""Workloads that are there, as they are to be."""


def a_snapshot(*without: str) -> Json:
    """All of it but some kinds."""
    kinds: Json = {kind.name: OBJECTS.get(kind.name, []) for kind in READ_KINDS if kind.name not in without}
    metadata = {"source": "whole", "kubernetesVersion": "v1.36.0"}
    return {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "metadata": metadata, "objects": kinds}
