from __future__ import annotations

import pytest

from kwhatif.framework.resource_allocation import drift_requests, request_sums
from kwhatif.versions import Features
from tests.builders import FEATURES, features_with, plugin_of

NO_EXTENDED = features_with(dra_extended_resource=False)


@pytest.mark.parametrize(
    ("names", "scoring", "features", "sums"),
    [
        pytest.param([], [], FEATURES, 0, id="nobody adds up"),
        pytest.param(["NodeResourcesFit", "NodePorts"], [], FEATURES, 1, id="NodeResourcesFit does once"),
        pytest.param(
            ["DynamicResources"], [], FEATURES, 1, id="so does DynamicResources, to look for extended resources"
        ),
        pytest.param(["DynamicResources"], [], NO_EXTENDED, 0, id="but only where devices may serve them"),
        pytest.param(
            ["NodeResourcesBalancedAllocation"], [], FEATURES, 0, id="a scorer adds up nothing where nodes are filtered"
        ),
        pytest.param(
            ["NodeResourcesFit"], ["NodeResourcesBalancedAllocation"], FEATURES, 3, id="once for each of its resources"
        ),
    ],
)
def test_how_often_a_cycle_adds_up_requests(
    names: list[str], scoring: list[str], features: Features, sums: int
) -> None:
    def plugins(some: list[str]) -> list[object]:
        return [plugin_of(name, features=features) for name in some]

    assert request_sums(plugins(names), plugins(scoring)) == sums  # type: ignore[arg-type]


def test_every_resource_of_a_scorer_finds_requests_that_have_grown_once_more() -> None:
    asked, drift = {"cpu": 100, "memory": 1000, "example.com/gpu": 1}, {"memory": 7}
    assert drift_requests(asked, drift, ["cpu", "memory"], FEATURES) == {**asked, "memory": 1021}
    assert drift_requests(asked, drift, ["memory", "cpu"], NO_EXTENDED) == {**asked, "memory": 1007}
    assert drift_requests(asked, {}, ["cpu", "memory"], FEATURES) == asked
