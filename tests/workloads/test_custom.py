"""Pods of custom resources, found by the path to their template."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.controllers import TemplatePath, makes_pods
from kwhatif.workloads.objects import controller_of
from tests.workloads.builders import Json, make, names, template


def custom(**spec: Any) -> Json:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Farm",
        "metadata": {"name": "farm", "namespace": "default"},
        "spec": spec,
    }


def test_a_custom_resource_has_pods_by_the_path_to_its_template() -> None:
    path = TemplatePath.parse("example.com/Farm=$.spec.workers[1].template")
    farm = custom(workers=[{}, {"template": template()}], replicas=2)
    made = make(farm, templates=[path])
    assert names(made.pods) == ["farm-1", "farm-2"]
    assert controller_of(made.pods[0])["kind"] == "Farm"
    assert makes_pods(farm, [path])
    assert not makes_pods(farm)


def test_a_custom_resource_without_a_number_has_one_pod() -> None:
    assert (
        len(make(custom(template=template()), templates=[TemplatePath.parse("example.com/Farm=$.spec.template")]).pods)
        == 1
    )


def test_a_path_that_leads_nowhere_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"\$\.spec\.pod: Farm farm has no pod template here"):
        make(custom(template=template()), templates=[TemplatePath.parse("example.com/Farm=$.spec.pod")])


@pytest.mark.parametrize("text", ["", "Farm", "example.com/Farm", "example.com/Farm=spec.x", "a/b/c=$.x", "a/B=$"])
def test_a_path_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a pod template path"):
        TemplatePath.parse(text)


@pytest.mark.parametrize("text", ["example.com/Farm=$.spec.template", "Thing=$.a[0].b"])
def test_a_path_prints_as_it_was_written(text: str) -> None:
    assert str(TemplatePath.parse(text)) == text.partition("=")[2]
