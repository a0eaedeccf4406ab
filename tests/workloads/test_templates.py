"""When two templates mean the same, and how replica sets share a change of size."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kwhatif.workloads.deployment_rollout import proportional
from kwhatif.workloads.object_creation import pod_prefix, truncate_name
from kwhatif.workloads.objects import get_scaled_value, matches_template, same_template
from tests.workloads.builders import Json, template


def with_resources(**requests: str) -> Json:
    made = template()
    made["spec"]["containers"][0]["resources"] = {"requests": requests}
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(with_resources(cpu="1000m"), with_resources(cpu="1"), id="quantities of one value"),
        pytest.param(
            template(labels={"a": "b", "pod-template-hash": "x"}), template(labels={"a": "b"}), id="hash label"
        ),
        pytest.param(template(tolerations=[], nodeSelector={}), template(), id="empty fields"),
        pytest.param(template(hostNetwork=False), template(), id="a false that is left out when stored"),
        pytest.param(
            template(serviceAccount="a", serviceAccountName="a"), template(serviceAccountName="a"), id="alias"
        ),
    ],
)
def test_templates_that_mean_the_same(one: Json, other: Json) -> None:
    assert same_template(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(with_resources(cpu="1"), with_resources(cpu="2"), id="other quantities"),
        pytest.param(with_resources(cpu="1"), template(), id="no quantities"),
        pytest.param(template(labels={"a": "b"}), template(labels={"a": "c"}), id="other labels"),
        pytest.param(template(restartPolicy="Never"), template(), id="a value that is not the default"),
        pytest.param(template(shareProcessNamespace=False), template(), id="a false that is told from nothing"),
        pytest.param(template(volumes=[{"emptyDir": {}}]), template(volumes=[{}]), id="an empty object"),
        pytest.param(template(nodeSelector={"a": ""}), template(nodeSelector={"b": ""}), id="another node selector"),
    ],
)
def test_templates_that_do_not(one: Json, other: Json) -> None:
    assert not same_template(one, other)


def test_a_pod_fits_its_template_whatever_was_added() -> None:
    own = template(tolerations=[{"key": "a"}])
    pod = template(tolerations=[{"key": "b"}, {"key": "a"}], priority=5, labels={"app": "web", "x": "y"})
    assert matches_template(pod, own)
    assert not matches_template(own, pod)
    assert not matches_template(pod, template("two"))
    assert not matches_template(pod, template(labels={"app": "other"}))


@dataclass
class Share:
    replicas: int
    maximum: int | None


@pytest.mark.parametrize(
    ("sizes", "maximum", "replicas", "surge", "expected"),
    [
        pytest.param([5, 5], 10, 12, 0, [6, 6], id="equals grow alike"),
        pytest.param([5, 5], 10, 11, 0, [5, 6], id="of equals the newest takes the one that is over"),
        pytest.param([5, 5], 10, 9, 0, [4, 5], id="of equals the oldest gives the one that is too many"),
        pytest.param([8, 5], 13, 20, 3, [14, 9], id="shares are kept"),
        pytest.param([8, 5], 13, 0, 3, [0, 0], id="nothing is left of nothing"),
        pytest.param([8, 5], 13, 10, 3, [8, 5], id="without a change all stay"),
        pytest.param([10, 1], 11, 5, 1, [5, 1], id="a small one is not scaled away by rounding"),
    ],
)
def test_how_replica_sets_share_a_change(
    sizes: list[int], maximum: int, replicas: int, surge: int, expected: list[int]
) -> None:
    assert proportional([Share(size, maximum) for size in sizes], replicas, surge, sum(sizes)) == expected


def test_a_replica_set_that_knows_no_maximum_is_measured_by_the_pods() -> None:
    assert proportional([Share(6, None), Share(4, None)], 20, 0, 10) == [12, 8]


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [(3, True, 3), ("25%", True, 3), ("25%", False, 2), ("0%", True, 0), ("100%", False, 10), (None, True, 0)],
)
def test_a_share_of_ten(value: int | str | None, up: bool, expected: int) -> None:
    assert get_scaled_value(value, 10, up=up) == expected


def test_a_name_that_is_too_long_is_cut_before_its_suffix() -> None:
    assert truncate_name("a" * 300, "-x") == "a" * 251 + "-x"
    assert pod_prefix("a" * 253) == "a" * 253
    assert pod_prefix("web") == "web-"
