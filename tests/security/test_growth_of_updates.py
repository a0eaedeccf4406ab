"""However many steps an update takes, twice as many pods take twice the work: no step looks at all of them.

Counted are the lines that run, as in ``tests/test_growth.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwhatif.workloads.daemon_set import target_of
from kwhatif.workloads.objects import name_of
from kwhatif.workloads.rollout import Plan, plan_rollout
from kwhatif.workloads.rollout_pods import PodsRollout, Wanted
from kwhatif.workloads.workload_kind import UpdateOrder, child_pod
from tests.test_growth import counted_lines
from tests.workloads.builders import deployment, node, owned, template, workload

Json = dict[str, Any]
LEAST = 8
ONE: Json = {"rollingUpdate": {"maxUnavailable": 1}}
SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
PARALLEL: Json = {"podManagementPolicy": "Parallel", "updateStrategy": ONE}


def stateful(replicas: int, image: str = "one", **spec: Any) -> Json:
    return workload("StatefulSet", image, replicas=replicas, **spec)


def daemons(image: str, limits: Json) -> Json:
    return workload("DaemonSet", image, updateStrategy=limits)


def find_home(pod: Json) -> bool:
    pod["spec"] = {**pod["spec"], "nodeName": target_of(pod) or "n0"}
    return True


def rolled_out(old: Json, new: Json, nodes: list[Json], gate: bool = False) -> tuple[Plan, int]:
    """An update of a workload all of whose pods are there and ready, and how many lines it took to plan it."""
    nothing = {**old, "spec": {**old["spec"], "replicas": 0}}
    made = plan_rollout(nothing, old, [], nodes, ready=find_home)
    pods = [pod for step in made for pod in step.creates]
    for number, pod in enumerate(pods):
        pod["spec"]["nodeName"] = target_of(pod) or f"n{number % 7}"
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    with counted_lines() as lines:
        plan = plan_rollout(
            old,
            new,
            pods,
            nodes,
            find_home,
            replica_sets=made.replica_sets,
            max_unavailable_stateful_set=gate,
        )
        for _ in plan:
            pass
    return plan, sum(lines.values())


CASES: dict[str, Callable[[int], tuple[Json, Json]]] = {
    "a stateful set grows in order": lambda n: (stateful(0), stateful(n)),
    "a stateful set shrinks in order": lambda n: (stateful(n), stateful(0)),
    "a stateful set in order is updated": lambda n: (stateful(n), stateful(n, "two")),
    "a parallel stateful set is updated": lambda n: (stateful(n, **PARALLEL), stateful(n, "two", **PARALLEL)),
    "a parallel stateful set is updated as far as maxUnavailable allows": lambda n: (
        stateful(n, **PARALLEL),
        stateful(n, "two", **PARALLEL),
    ),
    "a deployment is updated pod by pod": lambda n: (deployment(replicas=n), deployment("two", n, 1, 0)),
    "a deployment shrinks": lambda n: (deployment(replicas=n), deployment(replicas=0)),
    "a daemon set is updated node by node": lambda n: (daemons("one", ONE), daemons("two", ONE)),
    "a daemon set is updated with a surge": lambda n: (daemons("one", SURGE), daemons("two", SURGE)),
}


@pytest.mark.parametrize("case", CASES)
def test_work_grows_as_the_pods_of_an_update_do(case: str) -> None:
    counts = []
    for size in (LEAST, LEAST, 2 * LEAST, 4 * LEAST):  # the first time fills what is kept
        old, new = CASES[case](size)
        plan, lines = rolled_out(old, new, [node(f"n{i}") for i in range(size)], gate="maxUnavailable" in case)
        assert not plan.remaining_work
        assert len(plan.steps) in (1, size, size + 1, 2 * size)
        counts.append(lines)
    _, one, two, four = counts
    assert four - two <= 2.4 * (two - one)


OWNER = {"apiVersion": "example.com/v1", "kind": "Store", "metadata": {"name": "db", "namespace": "default"}}


def stores(number: int, image: str = "two", name: str = "db-{}", labels: bool = False) -> list[Wanted]:
    """Pods that an operator would make, each with a label of its own, if asked for."""
    own = [{"index": str(index)} if labels else {} for index in range(number)]
    bodies = [template(image, labels={"app": "web", **label}) for label in own]
    return [(child_pod(OWNER, body, name.format(index)), ()) for index, body in enumerate(bodies)]


def replaced(order: UpdateOrder, there: int, wanted: list[Wanted], labels: bool = False) -> tuple[Plan, int]:
    """An update by an operator of pods that are all there and ready, and how many lines it took to plan it."""
    pods = [owned("Store", "db", f"db-{index}", at="n0") for index in range(there)]
    for index, pod in enumerate(pods):
        pod["metadata"]["labels"] |= {"index": str(index)} if labels else {}
    with counted_lines() as lines:
        rollout = PodsRollout.of("Store db", pods, wanted, order, lambda pod: pod)
        plan = Plan(rollout, find_home, lambda pod: None)
        for _ in plan:
            pass
    return plan, sum(lines.values())


OPERATORS: dict[str, Callable[[int], tuple[Plan, int]]] = {
    "pods of an operator are replaced one by one": lambda n: replaced(UpdateOrder.one_by_one, n, stores(n)),
    "pods of an operator come one by one": lambda n: replaced(UpdateOrder.one_by_one, 0, stores(n)),
    "pods of an operator go one by one": lambda n: replaced(UpdateOrder.one_by_one, n, []),
    "all pods of an operator are replaced at once": lambda n: replaced(UpdateOrder.recreate, n, stores(n)),
    "pods without names stay": lambda n: replaced(UpdateOrder.recreate, n, stores(n, "one", "web-")),
    "pods without names are replaced": lambda n: replaced(UpdateOrder.new_first, n, stores(n, "two", "web-")),
    "pods without names and with labels of their own stay": lambda n: replaced(
        UpdateOrder.recreate, n, stores(n, "one", "web-", labels=True), labels=True
    ),
}


@pytest.mark.parametrize("case", OPERATORS)
def test_work_grows_as_the_pods_of_an_operator_do(case: str) -> None:
    counts = []
    for size in (LEAST, LEAST, 2 * LEAST, 4 * LEAST):  # the first time fills what is kept
        plan, lines = OPERATORS[case](size)
        assert not plan.remaining_work
        counts.append(lines)
    _, one, two, four = counts
    assert four - two <= 2.4 * (two - one)


def test_equal_pods_stay_in_their_order_and_each_once() -> None:
    plan, _ = replaced(UpdateOrder.recreate, 5, stores(3, "one", "web-"))
    assert [step.removes for step in plan.steps] == [("db-3", "db-4")]
    assert [name_of(pod) for step in plan.steps for pod in step.creates] == []
