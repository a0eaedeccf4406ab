"""Names and parameters as Tekton has them, and references between objects that name no namespace."""

from __future__ import annotations

from hashlib import md5
from typing import Any

import pytest

import kwhatif
from kwhatif.workloads.operators.tekton_names import child_name, run_name, short_name
from kwhatif.workloads.workload_kind import Companions
from tests.workloads.operators.examples import Json
from tests.workloads.operators.test_operator_cases import doubts, names
from tests.workloads.operators.test_operators import made_of

LONG = "f" * 63


@pytest.mark.parametrize(
    ("parent", "suffix", "name"),
    [
        ("asdf", "-deployment", "asdf-deployment"),
        (LONG, "-deployment", "ffffffffffffffffffff105d7597f637e83cc711605ac3ea4957-deployment"),
        (LONG, "-deploy", "ffffffffffffffffffffffff105d7597f637e83cc711605ac3ea4957-deploy"),
        ("f" * 52, "-deployment", "f" * 52 + "-deployment"),
        ("a", "-" + "b" * 70, f"a{md5(b'a-' + b'b' * 70).hexdigest()}-{'b' * 29}"),
    ],
)
def test_a_name_that_is_too_long_has_a_digest(parent: str, suffix: str, name: str) -> None:
    assert child_name(parent, suffix) == name
    assert len(name) <= 63


def test_runs_of_a_matrix_keep_their_numbers_however_long_the_names() -> None:
    found = [run_name(LONG, "t" * 40, number, 12) for number in range(12)]
    assert len(set(found)) == 12
    assert all(len(name) <= 63 and name.endswith(f"-{number}") for number, name in enumerate(found))
    assert run_name("run", "build", 3, 12) == "run-build-3"


def test_a_name_of_a_container_ends_with_a_letter_or_a_digit() -> None:
    assert short_name("sidecar-") == "sidecar"
    assert short_name("step-" + "a" * 57 + "-b") == "step-" + "a" * 57


def run(pipeline: Json, **spec: Any) -> Json:
    whole = {"pipelineSpec": pipeline, **spec}
    return {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "run"}, "spec": whole}


STEPS = {"steps": [{"image": "a"}], "sidecars": [{"image": "b"}]}


def test_parameters_stand_in_node_selectors_of_pods() -> None:
    task = {
        "name": "build",
        "params": [{"name": "arch", "value": "$(params.machine)"}],
        "taskSpec": {**STEPS, "params": [{"name": "pool", "default": "build"}]},
    }
    template = {
        "nodeSelector": {"kubernetes.io/arch": "$(params.arch)", "pool": '$(params["pool"])'},
        "tolerations": [{"key": "pool", "value": "$(params['pool'])"}],
    }
    obj = run(
        {"params": [{"name": "machine", "default": "amd64"}], "tasks": [task]},
        params=[{"name": "machine", "value": "arm64"}],
        taskRunTemplate={"podTemplate": template},
    )
    (pod,) = made_of(obj).pods
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/arch": "arm64", "pool": "build"}
    assert pod["spec"]["tolerations"][0]["value"] == "build"
    assert [each["name"] for each in pod["spec"]["containers"]] == ["step-unnamed-0", "sidecar"]


def test_each_run_of_a_matrix_has_its_own_parameters() -> None:
    matrix = {"params": [{"name": "arch", "value": ["amd64", "arm64"]}, {"name": "os", "value": ["linux"]}]}
    task = {"name": "build", "matrix": matrix, "taskSpec": STEPS}
    template = {"podTemplate": {"nodeSelector": {"kubernetes.io/arch": "$(params.arch)"}}}
    pods = list(made_of(run({"tasks": [task]}, taskRunTemplate=template)).pods)
    assert names(pods) == ["run-build-0-pod", "run-build-1-pod"]
    assert [pod["spec"]["nodeSelector"]["kubernetes.io/arch"] for pod in pods] == ["amd64", "arm64"]


def test_what_only_the_run_knows_is_left_out_and_said() -> None:
    template = {"nodeSelector": {"zone": "$(tasks.a.results.zone)", "pool": "x"}, "schedulerName": "$(params.none)"}
    obj = run({"tasks": [{"name": "build", "taskSpec": STEPS}]}, taskRunTemplate={"podTemplate": template})
    (pod,) = made_of(obj).pods
    assert pod["spec"]["nodeSelector"] == {"pool": "x"}
    assert pod["spec"].get("schedulerName") in (None, "default-scheduler")
    assert doubts(obj)[1:] == [
        "PipelineRun run: nodeSelector of build has a variable that only the run knows",
        "PipelineRun run: schedulerName of build has a variable that only the run knows",
    ]


TASK = {"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "t"}, "spec": STEPS}
PIPELINE = {
    "apiVersion": "tekton.dev/v1",
    "kind": "Pipeline",
    "metadata": {"name": "p"},
    "spec": {"tasks": [{"name": "build", "taskRef": {"name": "t"}}]},
}
RUN = {
    "apiVersion": "tekton.dev/v1",
    "kind": "PipelineRun",
    "metadata": {"name": "run"},
    "spec": {"pipelineRef": {"name": "p"}},
}


def at_home(obj: Json, namespace: str) -> Json:
    metadata = {**obj["metadata"], **({"namespace": namespace} if namespace else {})}
    return {**obj, "metadata": metadata}


@pytest.mark.parametrize("option", ["default", "team"])
@pytest.mark.parametrize("homes", [("", "", ""), ("", "{}", ""), ("{}", "", "{}"), ("{}", "{}", "{}")])
def test_references_see_objects_in_the_namespace_where_they_will_be(option: str, homes: tuple[str, str, str]) -> None:
    objects = [at_home(obj, home.format(option)) for obj, home in zip((TASK, PIPELINE, RUN), homes, strict=True)]
    result = kwhatif.expand(objects, namespace=option)
    assert [each.pod for each in result.pods] == [f"{option}/run-build-pod"]
    assert not [gap.what for gap in result.gaps if "among the manifests" in gap.what or "may make pods" in gap.effect]


def test_a_kind_of_the_users_own_is_in_the_namespace_that_is_asked_for() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "a"}]}}
    gizmo = {
        "apiVersion": "example.com/v1",
        "kind": "Gizmo",
        "metadata": {"name": "g"},
        "spec": {"template": template},
    }
    paths = ["example.com/Gizmo=$.spec.template"]
    result = kwhatif.expand([gizmo], namespace="team", pod_template_paths=paths)
    assert [each.pod.partition("/")[0] for each in result.pods] == ["team"]


def test_another_namespace_is_another_object() -> None:
    companions = Companions([at_home(PIPELINE, "other")])
    assert companions.find("tekton.dev", "Pipeline", "default", "p") is None


def test_two_runs_of_one_text_are_two_with_names_of_their_own() -> None:
    pipeline = {"tasks": [{"name": "a", "taskSpec": {"steps": [{"name": "a", "image": "a"}]}}]}
    again = {**run(pipeline), "metadata": {"generateName": "run-"}}
    made = kwhatif.expand([again, again])
    assert len({each.pod for each in made.pods}) == len(made.pods) == 2
