"""What drivers, controllers and administrators write: nodes, endpoints, networks, storage, devices, flows."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.response import RequestRefusal, StoredObject
from tests.admission.objects import in_cluster, make, server, template

Json = dict[str, Any]


def node(**spec: Any) -> Json:
    return in_cluster("Node", "n1", spec=spec)


def endpoints(*addresses: Json, ports: list[Json] | None = None) -> Json:
    return make("Endpoints", "web", subsets=[{"addresses": list(addresses), "ports": ports or [{"port": 80}]}])


def endpoint_slice(*addresses: str, kind: str = "IPv4", **fields: Any) -> Json:
    endpoint = {"addresses": list(addresses), **fields.pop("endpoint", {})}
    return make("EndpointSlice", "web-1", "discovery.k8s.io/v1", addressType=kind, endpoints=[endpoint], **fields)


def lease(**spec: Any) -> Json:
    return make("Lease", "leader", "coordination.k8s.io/v1", spec=spec)


def storage(kind: str, name: str = "csi.example.com", **fields: Any) -> Json:
    return in_cluster(kind, name, "storage.k8s.io/v1", **fields)


def attachment(**source: Any) -> Json:
    return storage("VolumeAttachment", spec={"attacher": "csi.example.com", "nodeName": "n1", "source": source})


def network(*cidrs: str) -> Json:
    return in_cluster("ServiceCIDR", "more", "networking.k8s.io/v1", spec={"cidrs": list(cidrs)})


def address(called: str, **parent: Any) -> Json:
    return in_cluster(
        "IPAddress", called, "networking.k8s.io/v1", spec={"parentRef": {"resource": "services", **parent}}
    )


def signing(**spec: Any) -> Json:
    text = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQgotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
    whole = {"request": text, "signerName": "example.com/serving", "usages": ["server auth"], **spec}
    return in_cluster("CertificateSigningRequest", "me", "certificates.k8s.io/v1", spec=whole)


def api_service(name: str = "v1.metrics.example.com", **spec: Any) -> Json:
    service = {"name": "metrics", "namespace": "monitoring"}
    whole = {"group": "metrics.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    return in_cluster("APIService", name, "apiregistration.k8s.io/v1", spec={**whole, "service": service, **spec})


FLOW = "flowcontrol.apiserver.k8s.io/v1"


def flow(rule: Json | None = None, **spec: Any) -> Json:
    usual = {
        "subjects": [{"kind": "User", "user": {"name": "me"}}],
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}],
    }
    whole = {"priorityLevelConfiguration": {"name": "mine"}, "rules": [{**usual, **(rule or {})}], **spec}
    return in_cluster("FlowSchema", "mine", FLOW, spec=whole)


def level(**limited: Any) -> Json:
    usual = {"limitResponse": {"type": "Queue", "queuing": {}}, **limited}
    return in_cluster("PriorityLevelConfiguration", "mine", FLOW, spec={"type": "Limited", "limited": usual})


def devices(*listed: Json, **spec: Any) -> Json:
    pool = {"name": "n1", "resourceSliceCount": 1}
    whole = {"driver": "gpu.example.com", "pool": pool, "nodeName": "n1", "devices": list(listed), **spec}
    return in_cluster("ResourceSlice", "n1-gpu", "resource.k8s.io/v1", spec=whole)


def device(**fields: Any) -> Json:
    return {"name": "gpu-0", **fields}


TAINT = {"key": "a", "effect": "NoSchedule"}
SHARED = {"allowMultipleAllocations": True}

TAKEN: list[tuple[str, Json]] = [
    ("a node with two effects of one taint", node(taints=[TAINT, {**TAINT, "effect": "NoExecute"}])),
    ("a node with a network of each family", node(podCIDRs=["10.0.0.0/24", "fd00::/64"])),
    ("endpoints of a service", endpoints({"ip": "10.0.0.1"})),
    ("a slice of names", endpoint_slice("db.example.com", kind="FQDN")),
    ("a slice of both ports", endpoint_slice("10.0.0.1", ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "b"}])),
    ("a lease", lease(holderIdentity="me", leaseDurationSeconds=15)),
    ("a driver that leaves all open", storage("CSIDriver", spec={})),
    ("a node's drivers", storage("CSINode", "n1", spec={"drivers": [{"name": "csi.example.com", "nodeID": "i-1"}]})),
    ("an attached volume", attachment(persistentVolumeName="pv-1")),
    ("a network of each family", network("10.96.0.0/16", "fd00::/108")),
    ("an address of a service", address("10.96.0.7", name="web", namespace="shop")),
    ("a request for a certificate", signing()),
    ("another server of the API", api_service()),
    ("a flow", flow()),
    ("a level with the usual queues", level()),
    ("a level that refuses", level(limitResponse={"type": "Reject"})),
    (
        "a device with attributes",
        devices(device(attributes={"model": {"string": "a"}, "v": {"version": "1.2.3-rc.1"}})),
    ),
    ("a template for pods", make("PodTemplate", "t", template=template())),
    ("a state of a workload", make("ControllerRevision", "web-1", "apps/v1", revision=1, data={"spec": {}})),
]

REFUSED: list[tuple[str, Json, str, str]] = [
    (
        "a taint twice",
        node(taints=[TAINT, TAINT]),
        "metadata.taints[1]",
        "taints must be unique by key and effect pair",
    ),
    ("a taint without an effect", node(taints=[{"key": "a"}]), "metadata.taints[0].effect", "Required value"),
    (
        "a taint of an effect there is not",
        node(taints=[{**TAINT, "effect": "Never"}]),
        "metadata.taints[0].effect",
        "values",
    ),
    ("two networks of a family", node(podCIDRs=["10.0.0.0/24", "10.0.1.0/24"]), "spec.podCIDRs", "for each IP family"),
    ("less than no room", {**node(), "status": {"capacity": {"cpu": "-1"}}}, "status.capacity.cpu", "or equal to 0"),
    ("endpoints at home", endpoints({"ip": "127.0.0.1"}), "subsets[0].addresses[0].ip", "loopback range"),
    ("endpoints that are no address", endpoints({"ip": "web"}), "subsets[0].addresses[0].ip", "must be a valid IP"),
    ("endpoints for nobody", endpoints(), "subsets[0]", "must specify `addresses` or `notReadyAddresses`"),
    (
        "two ports without names",
        endpoints({"ip": "10.0.0.1"}, ports=[{"port": 80}, {"port": 81, "name": "b"}]),
        "subsets[0].ports[0].name",
        "Required value",
    ),
    ("a slice of another family", endpoint_slice("fd00::1"), "endpoints[0].addresses", "must be an IPv4 address"),
    ("a slice of short names", endpoint_slice("db", kind="FQDN"), "endpoints[0].addresses[0]", "two segments"),
    ("a slice of nothing", endpoint_slice(), "endpoints[0].addresses", "must contain at least 1 address"),
    (
        "an address that could be shorter",
        endpoint_slice("fd00:0::1", kind="IPv6"),
        "endpoints[0].addresses[0]",
        'must be in canonical form ("fd00::1")',
    ),
    (
        "a zone twice",
        endpoint_slice("10.0.0.1", endpoint={"hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}),
        "endpoints[0].hints.forZones[1].name",
        "Duplicate value",
    ),
    ("a port name twice", endpoint_slice("10.0.0.1", ports=[{"port": 1}, {"port": 2}]), "ports[1].name", "Duplicate"),
    ("a lease for no time", lease(leaseDurationSeconds=0), "spec.leaseDurationSeconds", "must be greater than 0"),
    (
        "a token for too short a time",
        storage("CSIDriver", spec={"tokenRequests": [{"audience": "a", "expirationSeconds": 5}]}),
        "spec.tokenRequests[0].expirationSeconds",
        "less than 10 minutes",
    ),
    (
        "a mode there is not",
        storage("CSIDriver", spec={"volumeLifecycleModes": ["Once"]}),
        "spec.volumeLifecycleModes",
        "E",
    ),
    (
        "a driver twice on a node",
        storage("CSINode", "n1", spec={"drivers": [{"name": "a.example.com", "nodeID": "i"}] * 2}),
        "spec.drivers[1].name",
        "Duplicate value",
    ),
    (
        "a driver that does not know its node",
        storage("CSINode", spec={"drivers": [{"name": "a"}]}),
        "spec.drivers[0].nodeID",
        "R",
    ),
    ("room of no class", storage("CSIStorageCapacity", storageClassName=""), "storageClassName", "RFC 1123 subdomain"),
    ("nothing to attach", attachment(), "spec.source", "exactly one of inlineVolumeSpec and persistentVolumeName"),
    (
        "an inline volume that is no driver's",
        attachment(inlineVolumeSpec={"accessModes": ["ReadWriteOnce"], "nfs": {"server": "a", "path": "/"}}),
        "spec.source.inlineVolumeSpec.csi",
        "has to be specified in the context of inline volumes",
    ),
    (
        "attributes without a parameter",
        storage("VolumeAttributesClass", "fast", driverName="csi.example.com"),
        "parameters",
        "at least one key/value pair",
    ),
    ("no network", network(), "spec.cidrs", "at least one CIDR required"),
    ("networks of one family", network("10.0.0.0/16", "10.1.0.0/16"), "spec.cidrs", "for each IP family"),
    ("an address as a name that is none", address("web", name="web"), "metadata.name", "must be a valid IP address"),
    ("an address of nobody", address("10.96.0.7"), "spec.parentRef.name", "Required value"),
    ("no request for a certificate", signing(request="aGVsbG8="), "spec.request", "PEM block type"),
    ("a usage there is not", signing(usages=["all"]), "spec.usages[0]", "supported values"),
    ("a signer without a domain", signing(signerName="me"), "spec.signerName", "of the form 'example.com/signer-name'"),
    ("a server by another name", api_service("metrics"), "metadata.name", 'must be `spec.version+"."+spec.group`'),
    (
        "a server that comes first of all",
        api_service(groupPriorityMinimum=0),
        "spec.groupPriorityMinimum",
        "be positive",
    ),
    ("a flow for nobody", flow({"subjects": []}), "spec.rules[0].subjects", "at least one value"),
    (
        "a user of the wrong kind",
        flow({"subjects": [{"kind": "Group"}]}),
        "spec.rules[0].subjects[0].group",
        "is required",
    ),
    (
        "a flow before all others",
        flow(matchingPrecedence=1),
        "spec.matchingPrecedence",
        "only the schema named 'exempt'",
    ),
    (
        "a hand that is too large",
        level(limitResponse={"type": "Queue", "queuing": {"handSize": 11, "queues": 64}}),
        "spec.limited.limitResponse.queuing.handSize",
        "required entropy bits",
    ),
    ("devices that are nowhere", devices(device(), nodeName=None), "spec", "exactly one of `nodeName`"),
    ("devices everywhere and on a node", devices(allNodes=True), "spec", "but multiple fields are set"),
    ("a device twice", devices(device(), device()), "spec.devices[1]", "Duplicate value"),
    (
        "an attribute of no value",
        devices(device(attributes={"a": {}})),
        "spec.devices[0].attributes[a]",
        "exactly one value",
    ),
    (
        "a version that is none",
        devices(device(attributes={"a": {"version": "1.2"}})),
        "spec.devices[0].attributes[a].version",
        "semver.org",
    ),
    (
        "a device with a node of its own",
        devices(device(nodeName="n2")),
        "spec.devices[0]",
        "can only be set if `perDeviceNodeSelection`",
    ),
    (
        "shares of a device that is one's own",
        devices(device(capacity={"memory": {"value": "8Gi", "requestPolicy": {}}})),
        "spec.devices[0].capacity[memory].requestPolicy",
        "allowMultipleAllocations must be true",
    ),
    (
        "a share that is no step",
        devices(
            device(
                **SHARED,
                capacity={
                    "memory": {
                        "value": "8",
                        "requestPolicy": {"default": "3", "validRange": {"min": "2", "step": "2"}},
                    }
                },
            )
        ),
        "spec.devices[0].capacity[memory].requestPolicy.validRange.step",
        "not a multiple of a given step",
    ),
    (
        "a condition that nothing ends",
        devices(device(bindingConditions=["ready"])),
        "spec.devices[0].bindingFailureConditions",
        "are required to use bindingConditions",
    ),
    (
        "counters that count nothing",
        devices(device(consumesCounters=[{"counterSet": "a"}])),
        "spec.devices[0].consumesCounters[0].counters",
        "Required value",
    ),
    (
        "a template without containers",
        make("PodTemplate", "t", template=template(containers=[])),
        "template.spec.containers",
        "R",
    ),
    ("a state of nothing", make("ControllerRevision", "web-1", "apps/v1", revision=1), "data", "data is mandatory"),
]


@pytest.mark.parametrize(("name", "obj"), TAKEN, ids=[name for name, _ in TAKEN])
def test_it_is_taken(name: str, obj: Json) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, StoredObject), answer.message


@pytest.mark.parametrize(("name", "obj", "field", "words"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_it_is_refused(name: str, obj: Json, field: str, words: str) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, RequestRefusal)
    assert answer.code == 422
    assert any(cause.field == field and words in cause.message for cause in answer.causes), answer.message


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        (
            "a node's network",
            node(podCIDRs=["10.0.0.0/24"]),
            node(podCIDRs=["10.0.1.0/24"]),
            'not change podCIDR except from ""',
        ),
        ("a node's machine", node(providerID="aws:///a/i-1"), node(providerID="aws:///a/i-2"), "not change providerID"),
        ("a service network", network("10.96.0.0/16"), network("10.97.0.0/16"), "spec.cidrs[0]"),
        (
            "a network that is taken away",
            network("10.96.0.0/16", "fd00::/108"),
            network("10.96.0.0/16"),
            "field is immutable",
        ),
        ("where an address belongs", address("10.96.0.7", name="a"), address("10.96.0.7", name="b"), "spec.parentRef"),
        ("the addresses' family", endpoint_slice("10.0.0.1"), endpoint_slice("fd00::1", kind="IPv6"), "addressType"),
    ],
)
def test_what_must_not_change(name: str, before: Json, after: Json, words: str) -> None:
    api = server()
    assert isinstance(api.send("create", before), StoredObject)
    answer = api.send("replace", after)
    assert isinstance(answer, RequestRefusal)
    assert words in answer.message


def test_a_network_of_the_other_family_may_be_added() -> None:
    api = server()
    assert isinstance(api.send("create", network("10.96.0.0/16")), StoredObject)
    assert isinstance(api.send("replace", network("10.96.0.0/16", "fd00::/108")), StoredObject)


def test_a_request_for_a_certificate_stays_as_it_was() -> None:
    api = server()
    api.send("create", signing())
    answer = api.send("replace", signing(usages=["client auth"]))
    assert isinstance(answer, StoredObject)
    assert answer.object["spec"]["usages"] == ["server auth"]
    assert any("is not read" in doubt.what for doubt in api.doubts)


def test_endpoints_are_deprecated_since_1_33() -> None:
    told = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert server().send("create", endpoints({"ip": "10.0.0.1"})).warnings == (told,)
