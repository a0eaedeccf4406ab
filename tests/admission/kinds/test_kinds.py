"""Services, schedules, policies and classes that the API server refuses, by the field and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.response import RequestRefusal, StoredObject
from tests.admission.objects import in_cluster, job, limit_range, make, quota, server

Json = dict[str, Any]

NET = "networking.k8s.io/v1"


def service(**spec: Any) -> Json:
    return make("Service", "web", spec={"ports": [{"port": 80}], **spec})


def nightly(schedule: str, **spec: Any) -> Json:
    template = {"spec": job()["spec"]}
    return make("CronJob", "nightly", "batch/v1", spec={"schedule": schedule, "jobTemplate": template, **spec})


def policy(**peer: Any) -> Json:
    return make("NetworkPolicy", "np", NET, spec={"podSelector": {}, "ingress": [{"from": [peer]}]})


def success(**rule: Any) -> Json:
    return job(completionMode="Indexed", completions=5, successPolicy={"rules": [rule]})


PARSED = "failed to parse int from"

REFUSED: list[tuple[str, Json, str, str]] = [
    (
        "two addresses of one family",
        service(clusterIP="10.0.0.5", clusterIPs=["10.0.0.5", "10.0.0.6"], ipFamilyPolicy="PreferDualStack"),
        "spec.clusterIPs",
        "may specify no more than one IP for each IP family",
    ),
    (
        "an address of the other family",
        service(clusterIP="10.0.0.5", ipFamilies=["IPv6"]),
        "spec.clusterIPs[0]",
        "expected an IPv6 value as indicated by `ipFamilies[0]`",
    ),
    (
        "two families that are not asked for",
        service(ipFamilies=["IPv4", "IPv6"]),
        "spec.ipFamilyPolicy",
        "when multiple IP families are specified",
    ),
    (
        "an external address of the loopback",
        service(externalIPs=["127.0.0.1"]),
        "spec.externalIPs[0]",
        "may not be in the loopback range",
    ),
    (
        "source ranges of what is no load balancer",
        service(loadBalancerSourceRanges=["10.0.0.0/8"]),
        "spec.LoadBalancerSourceRanges",
        "may only be used when `type` is 'LoadBalancer'",
    ),
    (
        "a source range with bits beyond its prefix",
        service(type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.1/8"]),
        "spec.LoadBalancerSourceRanges[0]",
        "must not have bits set beyond the prefix length",
    ),
    (
        "one node port for two ports",
        service(
            type="NodePort",
            ports=[{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30001}],
        ),
        "spec.ports[1].nodePort",
        "provided port is already allocated",
    ),
    (
        "an affinity that lasts too long",
        service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 90000}}),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "must be greater than 0 and less than 86400",
    ),
    (
        "an exception outside its network",
        policy(ipBlock={"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}),
        "spec.ingress[0].from[0].ipBlock.except[0]",
        "must be a strict subset of `cidr`",
    ),
    ("a policy for nobody", policy(), "spec.ingress[0].from[0]", "must specify a peer"),
    ("a schedule of four fields", nightly("0 3 * *"), "spec.schedule", "expected exactly 5 fields, found 4: [0 3 * *]"),
    ("a schedule with a word", nightly("x 3 * * *"), "spec.schedule", f'{PARSED} x: strconv.Atoi: parsing "x"'),
    ("a month that there is not", nightly("0 3 * 13 *"), "spec.schedule", "end of range (13) above maximum (12): 13"),
    ("a range backwards", nightly("0 5-3 * * *"), "spec.schedule", "beginning of range (5) beyond end of range (3)"),
    ("a step of nothing", nightly("*/0 * * * *"), "spec.schedule", "step of range should be a positive number: */0"),
    ("a name for no schedule", nightly("@nightly"), "spec.schedule", "unrecognized descriptor: @nightly"),
    (
        "a zone that there is not",
        nightly("@daily", timeZone="Mars/Base"),
        "spec.timeZone",
        "unknown time zone Mars/Base",
    ),
    (
        "indexes backwards",
        success(succeededIndexes="3,1"),
        "spec.successPolicy.rules[0].succeededIndexes",
        "previous: 3",
    ),
    (
        "more than there are",
        success(succeededCount=9),
        "spec.successPolicy.rules[0].succeededCount",
        "than or equal to 5",
    ),
    (
        "a ratio above that of the bounds",
        limit_range(
            {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}
        ),
        "spec.limits[0].maxLimitRequestRatio[cpu]",
        "ratio 3 is greater than max/min = 2.000000",
    ),
    ("a quota of nothing known", quota({"gpu": "1"}), "spec.hard[gpu]", "must be a standard resource for quota"),
    (
        "a scope that says nothing of storage",
        quota({"requests.storage": "1Gi"}, scopes=["BestEffort"]),
        "spec.scopes",
        "unsupported scope applied to resource",
    ),
    (
        "a class of the system's own",
        in_cluster("PriorityClass", "system-mine", "scheduling.k8s.io/v1", value=1),
        "metadata.name",
        "system-mine is not a known system priority class",
    ),
    (
        "a cluster role's rule for addresses and resources",
        in_cluster(
            "ClusterRole",
            "r",
            "rbac.authorization.k8s.io/v1",
            rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}],
        ),
        "rules[0].nonResourceURLs",
        "rules cannot apply to both regular resources and non-resource URLs",
    ),
]


@pytest.mark.parametrize(("obj", "field", "why"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_wrong_is_told_by_its_field(obj: Json, field: str, why: str) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, RequestRefusal)
    (told,) = {cause.message for cause in answer.causes if cause.field == field and why in cause.message}
    assert told


TAKEN: list[tuple[str, Json]] = [
    (
        "one node port for two protocols of a port",
        service(
            type="NodePort",
            ports=[
                {"name": "t", "port": 53, "nodePort": 30053},
                {"name": "u", "port": 53, "nodePort": 30053, "protocol": "UDP"},
            ],
        ),
    ),
    ("a headless service without ports", make("Service", "web", spec={"clusterIP": "None"})),
    ("a name for elsewhere", make("Service", "web", spec={"type": "ExternalName", "externalName": "a.example.com."})),
    ("names of days and months", nightly("*/5 1-3,7 ? JAN-mar mon-FRI/2")),
    ("every so often", nightly("@every 1h30m", timeZone="Etc/UTC")),
    ("indexes in order", success(succeededIndexes="0,2-4", succeededCount=3)),
    ("an exception within its network", policy(ipBlock={"cidr": "2001:db8::/32", "except": ["2001:db8:1::/48"]})),
    ("a count of objects", quota({"count/deployments.apps": "3", "requests.example.com/gpu": "2"})),
]


@pytest.mark.parametrize("obj", [case[1] for case in TAKEN], ids=[case[0] for case in TAKEN])
def test_what_is_right_is_taken(obj: Json) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, StoredObject), answer.message


def test_a_node_port_beyond_the_usual_ones_is_taken_where_a_service_has_one() -> None:
    there = service(type="NodePort", ports=[{"port": 80, "nodePort": 8080, "protocol": "TCP"}])
    there["metadata"]["name"] = "other"
    answer = server(there).send("create", service(type="NodePort", ports=[{"port": 80, "nodePort": 9090}]))
    assert isinstance(answer, StoredObject), answer.message


WARNED: list[tuple[str, Json, str]] = [
    (
        "a network that is ambiguous",
        policy(ipBlock={"cidr": "2001:DB8::/32"}),
        "should be in RFC 5952 canonical format",
    ),
    (
        "more requests than limits",
        quota({"requests.cpu": "4", "limits.cpu": "2"}),
        "ResourceQuota requests.cpu (4) should be less than limits.cpu (2)",
    ),
    (
        "a certificate that is none",
        make("Secret", "s", type="kubernetes.io/tls", data={"tls.crt": "YQ==", "tls.key": "YQ=="}),
        "tls: failed to find any PEM data in certificate input",
    ),
    (
        "tokens where they may be logged",
        in_cluster("CSIDriver", "a.example.com", "storage.k8s.io/v1", spec={"tokenRequests": [{"audience": "a"}]}),
        "spec.serviceAccountTokenInSecrets is unset",
    ),
]


@pytest.mark.parametrize(("name", "obj", "words"), WARNED, ids=[name for name, *_ in WARNED])
def test_what_is_taken_with_a_warning(name: str, obj: Json, words: str) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, StoredObject), answer.message
    (told,) = answer.warnings
    assert words in told
