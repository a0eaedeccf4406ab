"""Fields of pods that no recorded request shows: what the API server refuses, and what it only warns of."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.kinds.pod_warnings import pod_warnings
from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

CONTAINER = {"name": "c", "image": "app:1"}


def answer(spec: dict[str, Any], annotations: dict[str, str] | None = None) -> StoredObject | RequestRefusal:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [CONTAINER], **spec},
    }
    return ApiServer(ObjectStore()).send("create", pod)


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{**CONTAINER, **fields}]}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "two handlers of one probe",
        container(livenessProbe={"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}),
        "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    (
        "a grace period of a readiness probe",
        container(readinessProbe={"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5}),
        "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: "
        "must not be set for readinessProbes",
    ),
    (
        "a header that is none",
        container(startupProbe={"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}}),
        'spec.containers[0].startupProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist '
        "of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ),
    (
        "a divisor that is no unit",
        container(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}]),
        'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": '
        "only divisor's values 1m and 1 are supported with the cpu resource",
    ),
    (
        "a field that a variable cannot show",
        container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.schedulerName"}}}]),
        'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "spec.schedulerName": '
        'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", '
        '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
    ),
    (
        "an environment from nowhere",
        container(envFrom=[{"prefix": "A"}]),
        'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    ),
    (
        "two volumes in one",
        volume(emptyDir={}, secret={"secretName": "s"}),
        "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
    ),
    (
        "a key that leaves its volume",
        volume(configMap={"name": "m", "items": [{"key": "a", "path": "../a"}]}),
        "spec.volumes[0].configMap.items[0].path: Invalid value: \"../a\": must not contain '..'",
    ),
    (
        "a token for too short a time",
        volume(projected={"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}]}),
        "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: "
        "may not specify a duration less than 10 minutes",
    ),
    (
        "a host path of an unknown type",
        volume(hostPath={"path": "/a", "type": "Folder"}),
        'spec.volumes[0].hostPath.type: Unsupported value: "Folder": supported values: "", "BlockDevice", "CharDevice"'
        ', "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ),
    (
        "propagation to the host from a container that may not",
        volume(emptyDir={})
        | container(volumeMounts=[{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]),
        "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available "
        "only to privileged containers",
    ),
    (
        "a device that is a directory",
        volume(emptyDir={}) | container(volumeDevices=[{"name": "v", "devicePath": "/dev/x"}]),
        'spec.containers[0].volumeDevices[0].name: Invalid value: "v": '
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
    ),
    (
        "no server to ask for names",
        {"dnsPolicy": "None"},
        "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
    ),
    (
        "a sysctl of a network that is the host's",
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net/ipv4.x", "value": "1"}]}},
        'spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4.x": '
        "may not be specified when 'hostNetwork' is true",
    ),
    (
        "a profile without its file",
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        "spec.securityContext.seccompProfile.localhostProfile: Required value: "
        "must be set when seccomp type is Localhost",
    ),
    (
        "Windows options on Linux",
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "u"}}},
        "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
    ),
    (
        "one process of the host among containers",
        {
            "hostNetwork": True,
            "containers": [
                {**CONTAINER, "securityContext": {"windowsOptions": {"hostProcess": True}}},
                {**CONTAINER, "name": "d"},
            ],
        },
        'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess '
        "containers",
    ),
    (
        "a restart when a container that is to end is resized",
        {
            "initContainers": [
                {
                    **CONTAINER,
                    "name": "i",
                    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
                }
            ]
        },
        'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": '
        "must not be set to 'RestartContainer' for non-sidecar initContainers",
    ),
]


@pytest.mark.parametrize(("spec", "problem"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_the_server_refuses(spec: dict[str, Any], problem: str) -> None:
    refused = answer(spec)
    assert isinstance(refused, RequestRefusal)
    assert refused.message == f'Pod "p" is invalid: {problem}'


WARNED: list[tuple[str, dict[str, Any], dict[str, str], str]] = [
    (
        "two files in one place",
        volume(configMap={"name": "m", "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}]}),
        {},
        'volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
    ),
    (
        "a port that comes twice",
        container(ports=[{"containerPort": 80}, {"containerPort": 80}]),
        {},
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ),
    (
        "an address with long parts",
        {"hostAliases": [{"ip": "fe80:0::1", "hostnames": ["a"]}]},
        {},
        'spec.hostAliases[0].ip: IPv6 address "fe80:0::1" should be in RFC 5952 canonical format ("fe80::1")',
    ),
    (
        "a part of a byte",
        container(resources={"requests": {"memory": "100m"}}),
        {},
        'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ),
    (
        "a profile in an annotation",
        {},
        {"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"},
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: "
        'deprecated since v1.30; use the "appArmorProfile" field instead',
    ),
]


@pytest.mark.parametrize(
    ("spec", "annotations", "warning"), [case[1:] for case in WARNED], ids=[case[0] for case in WARNED]
)
def test_the_server_warns(spec: dict[str, Any], annotations: dict[str, str], warning: str) -> None:
    created = answer(spec, annotations)
    assert isinstance(created, StoredObject), created
    assert list(created.warnings) == [warning]


def test_an_annotation_becomes_the_field_that_it_stands_for() -> None:
    created = answer({}, {"container.apparmor.security.beta.kubernetes.io/c": "localhost/mine"})
    assert isinstance(created, StoredObject)
    (made,) = created.object["spec"]["containers"]
    assert made["securityContext"]["appArmorProfile"] == {"type": "Localhost", "localhostProfile": "mine"}


def test_a_spec_that_was_sound_is_not_taken_for_another() -> None:
    assert isinstance(answer({}), StoredObject)
    assert isinstance(answer({"hostname": "A"}), RequestRefusal)
    assert isinstance(answer({}), StoredObject)


def test_warnings_come_in_upstreams_order() -> None:
    """Whatever the order of the keys: the same manifest gives the same bytes."""
    old = {"rbd": {"monitors": ["m"], "image": "i"}, "gitRepo": {"repository": "r"}, "flocker": {"datasetName": "d"}}
    labels = {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
    spec = {"nodeSelector": labels, "volumes": [{"name": "v", **old}]}
    begins = [text.partition(":")[0] for text in pod_warnings({"spec": spec})]
    assert begins == [
        "spec.nodeSelector[beta.kubernetes.io/arch]",
        "spec.nodeSelector[beta.kubernetes.io/os]",
        "spec.volumes[0].gitRepo",
        "spec.volumes[0].flocker",
        "spec.volumes[0].rbd",
    ]
