"""The webhook judges what an API server sends as the gate judges it; whatever happens, nobody is kept waiting."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("starlette")

from kwhatif.commands.parameters import parameters_of
from kwhatif.commands.serve.question import Serve
from kwhatif.serve.access import Access, Tokens
from kwhatif.serve.admission import PATH, AdmissionSettings
from kwhatif.serve.replies import problem_reply
from tests.cli.running import run
from tests.serve.doors import SAMPLES, Answering, request, service_of

WARN, REFUSE = AdmissionSettings(), AdmissionSettings(refuses=True)

BIG: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "big", "namespace": "shop", "uid": "a", "resourceVersion": "7", "generation": 1},
    "spec": {
        "replicas": 5,
        "selector": {"matchLabels": {"app": "big"}},
        "template": {
            "metadata": {"labels": {"app": "big"}},
            "spec": {
                "containers": [{"name": "big", "image": "big", "resources": {"requests": {"cpu": "2"}}}],
            },
        },
    },
    "status": {},
}


def review(object_: Any, **more: Any) -> dict[str, Any]:
    """What kube-apiserver sends, as far as it counts."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "operation": "CREATE",
            "namespace": "shop",
            "userInfo": {"username": "admin"},
            "object": object_,
            "oldObject": None,
            "dryRun": False,
            **more,
        },
    }


def admit(body: Any, settings: AdmissionSettings = WARN, workers: Answering | None = None, query: str = "") -> Any:
    """The response to a review."""
    found = request(service_of(workers, admission=settings), "POST", "/admit", body, query=query)
    assert (found.status, found.json["kind"], found.json["apiVersion"]) == (
        200,
        "AdmissionReview",
        "admission.k8s.io/v1",
    )
    response = found.json["response"]
    assert response["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002"
    return response


def changed(**spec: Any) -> dict[str, Any]:
    other = deepcopy(BIG)
    other["spec"] |= spec
    return other


def test_pods_that_would_find_no_node_are_a_warning() -> None:
    response = admit(review(BIG))
    assert response["allowed"]
    assert response["warnings"][0].startswith("kwhatif: 4 of 5 new pods find no node: shop/big-")
    assert "0/6 nodes are available" in response["warnings"][0]
    assert all(len(warning) <= 250 for warning in response["warnings"])


def test_pods_that_find_nodes_are_let_pass_without_a_word() -> None:
    small = changed(replicas=1)
    small["spec"]["template"]["spec"]["containers"][0].pop("resources")
    assert admit(review(small), REFUSE) == {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": True}


def test_what_a_rule_of_level_error_finds_is_refused_where_that_is_asked_for() -> None:
    response = admit(review(BIG), REFUSE)
    assert not response["allowed"]
    assert (response["status"]["code"], response["status"]["reason"]) == (403, "Forbidden")
    assert "4 of 5 new pods find no node" in response["status"]["message"]


def test_the_rules_of_the_server_decide() -> None:
    rules = "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nrules: {unschedulable: warn}\n"
    response = admit(review(BIG), AdmissionSettings(refuses=True, rules=rules))
    assert response["allowed"]
    assert "4 of 5 new pods find no node" in response["warnings"][0]


def test_a_change_is_judged_by_what_it_changes() -> None:
    """The old object's version, ids and fields that are gone count as little as a snapshot that lacks it."""
    workers = Answering()
    old = changed(replicas=1)
    old["spec"]["template"]["spec"]["nodeSelector"] = {"no": "where"}
    admit(review(BIG, operation="UPDATE", oldObject=old), workers=workers)
    ((route, question),) = workers.asked
    assert (route, question["base"][0]["spec"], question["manifests"][0]["spec"]) == ("gate", old["spec"], BIG["spec"])
    assert question["manifests"][0]["metadata"] == {"name": "big", "namespace": "shop"}


NOT_JUDGED: dict[str, dict[str, Any]] = {
    "deleted": review(None, operation="DELETE", oldObject=BIG),
    "scaled by its subresource": review({"kind": "Scale", "apiVersion": "autoscaling/v1"}, subResource="scale"),
    "unchanged but for its status": review({**BIG, "status": {"replicas": 5}}, operation="UPDATE", oldObject=BIG),
    "made by a controller": review({**BIG, "metadata": {**BIG["metadata"], "ownerReferences": [{"controller": True}]}}),
    "about to go": review({**BIG, "metadata": {**BIG["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
}


@pytest.mark.parametrize("body", NOT_JUDGED.values(), ids=NOT_JUDGED)
def test_what_changes_nothing_is_let_pass_without_a_question(body: dict[str, Any]) -> None:
    workers = Answering()
    assert admit(body, REFUSE, workers)["allowed"]
    assert workers.asked == []


@pytest.mark.parametrize(
    ("workers", "says"),
    [
        (Answering(seconds=60), "not judged: it takes too long"),
        (Answering(problem_reply(503, "busy", "too many questions are waiting")), "not judged: too many questions"),
        (Answering(problem_reply(500, "worker", "the process was ended")), "not judged: the process was ended"),
    ],
    ids=["slow", "busy", "killed"],
)
def test_whatever_keeps_it_from_an_answer_lets_pass(workers: Answering, says: str) -> None:
    response = admit(review(BIG), REFUSE, workers, query="timeout=50ms")
    assert response["allowed"]
    assert says in response["warnings"][0]


@pytest.mark.parametrize("spec", [None, [], "x", {"template": []}, {"replicas": "many"}, {"replicas": 10**30}])
def test_an_object_that_is_none_is_let_pass(spec: Any) -> None:
    response = admit(review({**BIG, "spec": spec}))
    assert response["allowed"]
    assert response["warnings"]


def test_what_others_wrote_is_on_one_line() -> None:
    evil = deepcopy(BIG)
    evil["metadata"]["name"] = "a\r\nWarning: \x1b[31mpaid\u202e"
    for response in (admit(review(evil)), admit(review(evil), REFUSE)):
        assert all(text.isprintable() for text in [*response.get("warnings", ()), json.dumps(response)])


NO_REVIEWS = [b"", b"{", b"[]", b"[" * 100_000, b'{"request": {"uid": "a"}}', b" " * (8 * 1024**2 + 1)]


@pytest.mark.parametrize("body", NO_REVIEWS, ids=range(len(NO_REVIEWS)))
def test_what_is_no_review_is_a_problem(body: bytes) -> None:
    assert request(service_of(admission=WARN), "POST", "/admit", body).status == 422


def test_the_door_is_shut_unless_it_is_opened(tmp_path: Any) -> None:
    """It alone takes no token."""
    (tmp_path / "tokens").write_text("0123456789abcdef\n")
    tokens = Tokens(str(tmp_path / "tokens"))
    shut = Access("127.0.0.1", 1, tokens=tokens)
    opened = Access("127.0.0.1", 1, tokens=tokens, open_paths=frozenset({"/admit"}))
    assert request(service_of(), "POST", "/admit", review(BIG)).status == 404
    assert request(service_of(access=shut), "POST", "/admit", review(BIG)).status == 401
    assert request(service_of(access=opened, admission=WARN), "POST", "/admit", review(BIG)).status == 200
    assert request(service_of(access=opened, admission=WARN), "POST", "/v1/place", {}).status == 401
    assert request(service_of(admission=WARN), "POST", "/admit", review(BIG), host="attacker").status == 421


DEPLOYED = SAMPLES / "serve"


def test_the_deployment_of_the_samples_passes_the_gate() -> None:
    """But for the kinds of cert-manager, which no snapshot here knows."""
    ran = run("gate", "serve", "--snapshot", "cluster", "--ignore-unknown", "-o", "json", folder=SAMPLES)
    answer = json.loads(ran.out)
    assert ran.code == 0, ran.err
    assert {(each["rule"], each["level"]) for each in answer["findings"]} <= {("fidelity", "warn")}
    assert [each["outcome"] for each in answer["placements"]] == ["placed", "placed"]


def test_the_deployment_has_the_rights_that_the_command_prints() -> None:
    words = ("snapshot", "rbac", "--name", "kwhatif", "--service-account", "kwhatif/kwhatif", "--watch")
    assert (DEPLOYED / "rbac.yaml").read_text("utf-8") == run(*words).out


def test_the_deployment_calls_the_server_by_a_name_that_it_has() -> None:
    """Service, certificate, --host, path and port belong together."""
    (hook,) = yaml.safe_load((DEPLOYED / "webhook.yaml").read_text("utf-8"))["webhooks"]
    objects = {each["kind"]: each for each in yaml.safe_load_all((DEPLOYED / "deployment.yaml").read_text("utf-8"))}
    service, (container,) = (
        hook["clientConfig"]["service"],
        objects["Deployment"]["spec"]["template"]["spec"]["containers"],
    )
    name = f"{service['name']}.{service['namespace']}.svc"
    assert objects["Certificate"]["spec"]["dnsNames"] == [name]
    assert f"--host={name}" in container["args"]
    assert service["port"] == objects["Service"]["spec"]["ports"][0]["port"]
    assert objects["Service"]["spec"]["ports"][0]["targetPort"] in {each["name"] for each in container["ports"]}
    assert (service["path"], hook["failurePolicy"]) == (PATH, "Ignore")


def test_the_words_of_the_sample_are_options_of_the_command() -> None:
    text = (DEPLOYED / "deployment.yaml").read_text("utf-8")
    options = {f"--{each.flag.name.removeprefix('--')}" for each in parameters_of(Serve) if each.flag.name} | {"--live"}
    assert set(re.findall(r"^        - (--[a-z-]+)", text, re.MULTILINE)) <= options


def test_rules_that_are_wrong_keep_the_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nrules: {nothing: error}\n")
    words = ("serve", "--snapshot", "cluster", "--admission-rules", str(tmp_path / "rules.yaml"))
    assert "--admission-rules is about --admission" in run(*words, folder=SAMPLES).err
    ran = run(*words, "--admission", "refuse", folder=SAMPLES)
    assert (ran.code, ran.out) == (2, "")
    assert "nothing" in ran.err
