"""Objects that are kept as plain values have the types that the table of fields says, or there is one error."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.field_types import check, checked_type
from kwhatif.api.kinds import KEPT_WHOLE, READ_KINDS
from kwhatif.errors import InputError


def put(path: str, value: Any) -> dict[str, Any]:
    """An object with a value at a place and nothing else but a name."""
    first, *steps = path.split(".")
    for step in reversed(steps):
        value = [value] if step == "0" else {step: value}
    return {"metadata": {"name": "a"}} | {first: value}


@pytest.mark.parametrize(
    ("kind", "path", "value", "text"),
    [
        ("Deployment", "spec", 1.5, "$.spec: expected an object, found the number 1.5"),
        ("Deployment", "spec.replicas", "3", '$.spec.replicas: expected an integer, found "3"'),
        ("Deployment", "spec.replicas", 2**31, "$.spec.replicas: expected an integer from -2147483648 to 2147483647"),
        ("Deployment", "spec.template.spec.containers.0.livenessProbe.periodSeconds", [], "periodSeconds: expected"),
        ("ReplicaSet", "metadata", {"name": "a", "ownerReferences": [1]}, "$.metadata.ownerReferences[0]: expected"),
        ("ReplicaSet", "metadata", {"name": "a", "generation": "x"}, "$.metadata.generation: expected an integer"),
        ("StatefulSet", "spec.volumeClaimTemplates", {}, "$.spec.volumeClaimTemplates: expected a list"),
        ("DaemonSet", "spec.updateStrategy.rollingUpdate.maxSurge", [], "maxSurge: expected"),
        ("CronJob", "spec.jobTemplate.spec.parallelism", True, "parallelism: expected an integer, found true"),
        ("LimitRange", "spec.limits.0.max.cpu", "much", '$.spec.limits[0].max.cpu: expected a quantity such as "500m"'),
        ("ResourceQuota", "spec.hard", ["pods"], "$.spec.hard: expected an object, found a list"),
        ("ResourceQuota", "spec.scopeSelector.matchExpressions.0", "x", "matchExpressions[0]: expected an object"),
        ("RuntimeClass", "scheduling.tolerations", "all", "$.scheduling.tolerations: expected a list"),
        ("RuntimeClass", "overhead.podFixed", 1, "$.overhead.podFixed: expected an object"),
    ],
)
def test_a_field_of_another_type_is_named_with_its_place(kind: str, path: str, value: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        check(put(path, value), KEPT_WHOLE[kind], kind)
    assert text in str(caught.value)


def test_null_in_a_list_or_a_map_becomes_an_empty_item_of_its_type() -> None:
    spec = {"template": {"spec": {"containers": [None, {"args": [None]}], "nodeSelector": {"a": None}}}}
    check({"spec": spec}, "apps", "Deployment")
    assert spec["template"]["spec"] == {"containers": [{}, {"args": [""]}], "nodeSelector": {"a": ""}}


def test_fields_that_nobody_knows_are_left_alone() -> None:
    obj = {"spec": {"replicas": 1, "later": [None]}}
    check(obj, "apps", "Deployment")
    assert obj == {"spec": {"replicas": 1, "later": [None]}}


def test_a_type_within_itself_is_checked_down_to_where_it_begins_again() -> None:
    with pytest.raises(InputError):
        check(put("spec.versions.0.schema.openAPIV3Schema.type", 1), "apiextensions.k8s.io", "CustomResourceDefinition")


def test_every_kind_that_is_kept_whole_has_its_fields_unless_no_minor_serves_it_by_default() -> None:
    bare = {
        kind.name
        for kind in READ_KINDS
        if kind.whole and len(checked_type(kind.group, kind.name).__struct_fields__) == 3
    }
    assert bare == {"PodGroup", "PodMetrics", "ScaledObject", "VerticalPodAutoscaler", "Workload"}
