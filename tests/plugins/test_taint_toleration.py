from __future__ import annotations

import pytest

from tests.asking import HOPELESS, details, refusals, refused, scores
from tests.asking import raw_scores as raw
from tests.builders import Json, cluster_of, features_with, node, plugin_of, pod

GPU_TAINT = "dedicated=gpu:NoSchedule"


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        pytest.param([], [], True, id="no taints keep nobody away"),
        pytest.param([GPU_TAINT], [], False, id="a taint keeps those away who do not tolerate it"),
        pytest.param(["dying:NoExecute"], [], False, id="NoExecute keeps away as NoSchedule does"),
        pytest.param(["spot:PreferNoSchedule"], [], True, id="PreferNoSchedule only asks politely"),
        pytest.param([GPU_TAINT], ["dedicated=gpu:NoSchedule"], True, id="key, value and effect agree"),
        pytest.param([GPU_TAINT], ["dedicated=gpu"], True, id="no effect stands for every effect"),
        pytest.param([GPU_TAINT], ["dedicated"], True, id="Exists does not look at the value"),
        pytest.param([GPU_TAINT], ["*"], True, id="Exists without a key tolerates everything"),
        pytest.param([GPU_TAINT], ["dedicated=cpu"], False, id="another value is another taint"),
        pytest.param([GPU_TAINT], ["dedicated=gpu:NoExecute"], False, id="another effect is another taint"),
        pytest.param([GPU_TAINT], ["other"], False, id="another key is another taint"),
        pytest.param(["plain:NoSchedule"], [{"key": "plain"}], True, id="no operator means Equal, to nothing"),
        pytest.param([GPU_TAINT, "dying:NoExecute"], ["dedicated"], False, id="each taint wants to be tolerated"),
        pytest.param([GPU_TAINT, "dying:NoExecute"], ["dedicated", "dying"], True, id="by one toleration or another"),
        pytest.param([GPU_TAINT], [{"key": "dedicated", "operator": "exists"}], False, id="operators have capitals"),
    ],
)
def test_filter(taints: list[str], tolerations: list[str | Json], fits: bool) -> None:
    cluster = cluster_of([node("a", taints=taints)])
    found = refusals(plugin_of("TaintToleration"), pod(tolerations=tolerations), cluster)
    assert found == ({} if fits else {"a": (HOPELESS, ("node(s) had untolerated taint(s)",))})


@pytest.mark.parametrize(
    ("operator", "value", "level", "fits"),
    [
        pytest.param("Gt", "5", "7", True, id="Gt tolerates taints above the value"),
        pytest.param("Gt", "5", "5", False, id="but not the value itself"),
        pytest.param("Lt", "5", "3", True, id="Lt tolerates taints below the value"),
        pytest.param("Lt", "5", "5", False, id="nor here the value itself"),
        pytest.param("Lt", "five", "3", False, id="what is no number is not compared"),
        pytest.param("Lt", "5", "three", False, id="on either side"),
    ],
)
def test_numbers_are_compared_where_the_feature_gate_is_on(operator: str, value: str, level: str, fits: bool) -> None:
    cluster = cluster_of([node("a", taints=[f"level={level}:NoSchedule"])])
    waiting = pod(tolerations=[{"key": "level", "operator": operator, "value": value}])
    gate_on = features_with(taint_toleration_comparison_operators=True)
    gate_off = features_with(taint_toleration_comparison_operators=False)
    assert refused(plugin_of("TaintToleration", features=gate_on), waiting, cluster) == (set() if fits else {"a"})
    assert refused(plugin_of("TaintToleration", features=gate_off), waiting, cluster) == {"a"}


def test_the_detail_spells_every_taint_that_is_in_the_way() -> None:
    cluster = cluster_of([node("a", taints=[GPU_TAINT, "ok:NoSchedule", "dying:NoExecute"])])
    assert details(plugin_of("TaintToleration"), pod(tolerations=["ok"]), cluster, "a") == [
        "taint dedicated=gpu:NoSchedule not tolerated and taint dying:NoExecute not tolerated"
    ]


SOFT = [
    node("none"),
    node("one", taints=["x:PreferNoSchedule"]),
    node("three", taints=["x:PreferNoSchedule", "y=1:PreferNoSchedule", "z:PreferNoSchedule"]),
    node("hard", taints=[GPU_TAINT]),
]


@pytest.mark.parametrize(
    ("tolerations", "counts", "normalised"),
    [
        pytest.param(
            [],
            {"none": 0, "one": 1, "three": 3, "hard": 0},
            {"none": 100, "one": 67, "three": 0, "hard": 100},
            id="untolerated PreferNoSchedule taints are counted, and the most of them is worth nothing",
        ),
        pytest.param(
            ["y", "z:PreferNoSchedule"],
            {"none": 0, "one": 1, "three": 1, "hard": 0},
            {"none": 100, "one": 0, "three": 0, "hard": 100},
            id="tolerated ones do not count",
        ),
        pytest.param(
            ["x:NoSchedule"],
            {"none": 0, "one": 1, "three": 3, "hard": 0},
            {"none": 100, "one": 67, "three": 0, "hard": 100},
            id="a toleration of NoSchedule does not help",
        ),
        pytest.param(
            ["*"],
            {"none": 0, "one": 0, "three": 0, "hard": 0},
            {"none": 100, "one": 100, "three": 100, "hard": 100},
            id="where nothing counts, all nodes are perfect",
        ),
    ],
)
def test_scores(tolerations: list[str], counts: dict[str, int], normalised: dict[str, int]) -> None:
    cluster, plugin = cluster_of(SOFT), plugin_of("TaintToleration")
    waiting = pod(tolerations=tolerations)
    assert raw(plugin, waiting, cluster) == counts
    assert scores(plugin, waiting, cluster) == normalised


def test_scores_are_normalised_among_the_feasible_nodes_alone() -> None:
    found = scores(plugin_of("TaintToleration"), pod(), cluster_of(SOFT), among=["none", "one"])
    assert found == {"none": 100, "one": 0}
