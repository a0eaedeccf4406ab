from __future__ import annotations

import numpy as np
import pytest

from kwhatif.api.core import Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.scheduling.budget_status import recount_disruptions
from kwhatif.scheduling.preemption_candidates import Budgets
from tests.builders import budget, cluster_of, pod, select

WEB = {"app": "web"}


def broken(budgets: list[PodDisruptionBudget], *kinds: dict[str, object]) -> str:
    """Evict pods of these kinds one after the other: ``x`` where a budget breaks; the same on two nodes at once."""
    cluster = cluster_of([], objects=budgets)
    infos = [cluster.shapes.info(pod(f"p{i}", **kind)) for i, kind in enumerate(kinds)]  # type: ignore[arg-type]
    found = Budgets(cluster).broken_by(infos)
    shapes = np.array([[0, *(info.shape.index for info in infos)]] * 2, np.intp)
    victims = np.array([[False, *(True for _ in infos)]] * 2)
    on_nodes = Budgets(cluster).find_broken(shapes, victims, lambda place: [infos[0], *infos])
    assert on_nodes.tolist() == [[False, *found]] * 2
    return "".join("x" if breaks else "." for breaks in found)


ONE: dict[str, object] = {"labels": WEB}


@pytest.mark.parametrize(
    ("budgets", "kinds", "expected"),
    [
        pytest.param([], [ONE, ONE], "..", id="no budget, no violation"),
        pytest.param([budget("b", select(app="web"), allowed=0)], [ONE], "x", id="none is allowed"),
        pytest.param([budget("b", select(app="web"), allowed=2)], [ONE, ONE, ONE], "..x", id="two are allowed"),
        pytest.param([budget("b", select(app="db"))], [ONE], ".", id="of other pods"),
        pytest.param([budget("b", select(app="web"), namespace="other")], [ONE], ".", id="in another namespace"),
        pytest.param([budget("b", select("app Exists"))], [{}, ONE], ".x", id="a pod without labels is in no budget"),
        pytest.param([budget("b", select("app DoesNotExist"))], [{}], ".", id="whatever the selector"),
        pytest.param([budget("b", select())], [ONE], ".", id="an empty selector is about nobody"),
        pytest.param([budget("b", None)], [ONE], ".", id="nor is none"),
        pytest.param([budget("b", select("app Near web"))], [ONE], ".", id="nor one without sense"),
        pytest.param(
            [budget("b", select(app="web"), disrupted=["p0"])],
            [ONE, ONE],
            ".x",
            id="a pod that is accounted for costs nothing",
        ),
        pytest.param(
            [budget("a", select(app="web"), allowed=1), budget("b", select("app Exists"), allowed=3)],
            [ONE, ONE, {"labels": {"app": "db"}}],
            ".x.",
            id="of two budgets one is enough to break",
        ),
        pytest.param(
            [budget("a", select(app="web"), allowed=0), budget("b", select("app Exists"), allowed=1)],
            [ONE, {"labels": {"app": "db"}}],
            "xx",
            id="an eviction that breaks one budget is still taken off the other",
        ),
    ],
)
def test_which_evictions_break_a_budget(
    budgets: list[PodDisruptionBudget], kinds: list[dict[str, object]], expected: str
) -> None:
    assert broken(budgets, *kinds) == expected


def test_counting_starts_anew_every_time() -> None:
    cluster = cluster_of([], objects=[budget("b", select(app="web"), allowed=1)])
    budgets = Budgets(cluster)
    infos = [cluster.shapes.info(pod(f"p{i}", labels=WEB)) for i in range(2)]
    assert budgets.broken_by(infos) == budgets.broken_by(infos) == [False, True]


def test_budgets_that_are_about_nobody_are_as_good_as_none() -> None:
    assert not Budgets(cluster_of([], objects=[budget("b", select()), budget("c", select("app Near web"))]))
    assert Budgets(cluster_of([], objects=[budget("b", None)]))


def test_budgets_that_an_eviction_touches() -> None:
    objects = [budget("a", select(app="web")), budget("b", select("app Exists"), disrupted=["web"])]
    cluster = cluster_of([], objects=objects)
    budgets = Budgets(cluster)
    assert [b.name for b in budgets.budgets_of(cluster.shapes.info(pod("web", labels=WEB)))] == ["a"]
    assert [b.name for b in budgets.budgets_of(cluster.shapes.info(pod("other", labels=WEB)))] == ["a", "b"]


THREE = [pod(f"web-{at}", on="a", labels=WEB) for at in range(3)]
UNREADY = pod("web-0", on="a", labels=WEB, status={"conditions": [{"type": "Ready", "status": "False"}]})


@pytest.mark.parametrize(
    ("after", "allowed"),
    [
        pytest.param(THREE, 0, id="what is recorded stays where nothing changed"),
        pytest.param([*THREE, pod("db", on="a", labels={"app": "db"})], 0, id="or only pods of others did"),
        pytest.param([*THREE, pod("web-3", on="b", labels=WEB)], 2, id="one more pod runs"),
        pytest.param([*THREE, pod("web-3", labels=WEB)], 1, id="one more waits for a node"),
        pytest.param([*THREE[:2], pod("web-2", on="b", labels=WEB)], 1, id="a pod moved"),
        pytest.param(THREE[1:], 0, id="a pod is gone"),
        pytest.param([UNREADY, *THREE[1:]], 0, id="a pod is not ready any more"),
    ],
)
def test_a_budget_is_counted_anew_where_its_pods_changed(after: list[Pod], allowed: int) -> None:
    objects = Objects()
    objects.put(Pod, after)
    objects.put(PodDisruptionBudget, [budget("web", select(app="web"), least=2)])
    recount_disruptions(objects, THREE)
    (found,) = objects.list_all(PodDisruptionBudget)
    assert found.status.disruptions_allowed == allowed
