"""Laws that hold in every cluster, whatever its quotas, cohorts and workloads are."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.api.kueue import KueueWorkload
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.preemption.oracle import PreemptionOracle
from kwhatif.kueue.quota_tree import QuotaNode
from kwhatif.kueue.run import KueueRun
from kwhatif.snapshot.read.objects import decode_objects

pytestmark = pytest.mark.long

NOW = 1_772_000_000 * 10**9
FLAVORS, QUEUES, COHORTS = ("spot", "reserved"), ("a", "b", "c"), ("x", "y", "z")
AMOUNTS = st.sampled_from(["0", "1", "2", "3", "5"])
LIMITS = st.one_of(st.none(), AMOUNTS)
OBJECTS = list[dict[str, Any]]


def kueue(kind: str, name: str, namespace: str = "", /, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


@st.composite
def groups(draw: st.DrawFn) -> list[dict[str, Any]]:
    flavors = []
    for flavor in FLAVORS[: draw(st.integers(1, 2))]:
        quota: dict[str, Any] = {"name": "cpu", "nominalQuota": draw(AMOUNTS)}
        quota |= {key: draw(AMOUNTS) for key in ("borrowingLimit", "lendingLimit") if draw(st.booleans())}
        flavors.append({"name": flavor, "resources": [quota]})
    return [{"coveredResources": ["cpu"], "flavors": flavors}]


@st.composite
def clusters(draw: st.DrawFn) -> OBJECTS:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    objects: OBJECTS = [namespace, *(kueue("ResourceFlavor", name) for name in FLAVORS)]
    for index, name in enumerate(COHORTS):
        parent = {"parentName": draw(st.sampled_from(COHORTS[:index]))} if index and draw(st.booleans()) else {}
        own = {"resourceGroups": draw(groups())} if draw(st.booleans()) else {}
        if not parent and own:
            for flavor in own["resourceGroups"][0]["flavors"]:
                flavor["resources"] = [
                    {key: each[key] for key in ("name", "nominalQuota")} for each in flavor["resources"]
                ]
        objects.append(kueue("Cohort", name, **parent, **own))
    for name in QUEUES:
        cohort = {"cohortName": draw(st.sampled_from(COHORTS))} if draw(st.booleans()) else {}
        resources = draw(groups())
        if not cohort:
            for flavor in resources[0]["flavors"]:
                flavor["resources"] = [
                    {key: each[key] for key in ("name", "nominalQuota")} for each in flavor["resources"]
                ]
        policies = {
            "withinClusterQueue": draw(st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])),
            "reclaimWithinCohort": draw(st.sampled_from(["Never", "LowerPriority", "Any"])),
        }
        strategy = draw(st.sampled_from(["StrictFIFO", "BestEffortFIFO"]))
        spec = {"resourceGroups": resources, "preemption": policies, "queueingStrategy": strategy}
        objects.append(kueue("ClusterQueue", name, namespaceSelector={}, **spec, **cohort))
        objects.append(kueue("LocalQueue", name, "ml", clusterQueue=name))
    for number in range(draw(st.integers(0, 8))):
        objects.append(draw(workloads(number)))
    return objects


@st.composite
def workloads(draw: st.DrawFn, number: int) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": draw(st.sampled_from(["1", "2", "4"]))}}}
    pod_set = {"name": "main", "count": draw(st.integers(1, 3)), "template": {"spec": {"containers": [container]}}}
    priority = draw(st.sampled_from([0, 0, 10]))
    made = kueue(
        "Workload", f"w{number}", "ml", queueName=draw(st.sampled_from(QUEUES)), podSets=[pod_set], priority=priority
    )
    created = f"2026-01-01T00:00:0{draw(st.integers(0, 3))}Z"
    made["metadata"] |= {"uid": f"u{number}", "creationTimestamp": created}
    return made


def rest(objects: OBJECTS, *, fair: bool) -> KueueRun:
    configuration: dict[str, Any] = {"fairSharing": {}} if fair else {}
    found = kueue_objects(decode_objects(objects), {}, configuration)
    run = KueueRun(KueueState(found), found.workloads, NOW)
    run.rest()
    return run


def answer(run: KueueRun) -> Any:
    """Everything that can be seen from outside."""
    return (
        {
            key: (each.status, each.cluster_queue, each.admission, each.conditions)
            for key, each in run.state.workloads.items()
        },
        {name: [each.key for each in pending.in_order()] for name, pending in run.state.pending.items()},
        {name: dict(queue.usage) for name, queue in run.state.queues.items()},
    )


def nodes(state: KueueState) -> list[QuotaNode]:
    return [*state.queues.values(), *state.cohorts.values()]


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans())
def test_nobody_ever_has_more_than_the_quotas_and_limits_of_the_tree_allow(objects: OBJECTS, fair: bool) -> None:
    run = rest(objects, fair=fair)
    assert not run.is_restless
    for node in nodes(run.state):
        for key, used in node.usage.items():
            limit = node.quota(key).borrowing_limit
            assert used >= 0
            if node.parent is None:
                assert used <= node.subtree(key)
            elif limit is not None:
                assert used <= node.subtree(key) + limit


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans())
def test_usage_is_that_of_the_workloads_which_hold_quota(objects: OBJECTS, fair: bool) -> None:
    run = rest(objects, fair=fair)
    for queue in run.state.queues.values():
        held: Counter[tuple[str, str]] = Counter()
        for workload in run.state.workloads.values():
            if workload.cluster_queue == queue.name and workload.holds_quota:
                held.update(workload.usage.quota)
        assert +held == +Counter(queue.usage)
    before = {name: +Counter(cohort.usage) for name, cohort in run.state.cohorts.items()}
    for cohort in run.state.cohorts.values():
        if cohort.parent is None:
            cohort.accumulate()
    assert {name: +Counter(cohort.usage) for name, cohort in run.state.cohorts.items()} == before


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans(), st.randoms())
def test_the_order_of_objects_in_files_decides_nothing(objects: OBJECTS, fair: bool, chance: random.Random) -> None:
    shuffled = list(objects)
    chance.shuffle(shuffled)
    assert answer(rest(shuffled, fair=fair)) == answer(rest(objects, fair=fair))


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans())
def test_once_everybody_has_finished_nothing_is_used_and_nobody_waits_who_could_start(
    objects: OBJECTS, fair: bool
) -> None:
    run = rest(objects, fair=fair)
    for _ in range(len(run.state.workloads) + 1):
        admitted = [key for key, each in run.state.workloads.items() if each.status == "admitted"]
        if not admitted:
            break
        run.finish(admitted)
        run.rest()
    assert not any(used for node in nodes(run.state) for used in node.usage.values())


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans())
def test_at_rest_another_look_changes_nothing(objects: OBJECTS, fair: bool) -> None:
    run = rest(objects, fair=fair)
    before = answer(run)
    run.rest()
    assert answer(run) == before


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans())
def test_what_is_kept_of_a_quota_tree_decides_nothing(objects: OBJECTS, fair: bool) -> None:
    kept = answer(rest(objects, fair=fair))
    with patch.object(PreemptionOracle, "memo_of", lambda *_: {}):
        assert answer(rest(objects, fair=fair)) == kept


@settings(deadline=None, max_examples=40)
@given(clusters(), st.booleans(), workloads(8))
def test_a_copy_of_a_run_goes_on_alike_and_leaves_no_trace_in_it(
    objects: OBJECTS, fair: bool, late: dict[str, Any]
) -> None:
    run = rest(objects, fair=fair)
    before, copied = answer(run), copy.deepcopy(run)
    asked = decode_objects([late]).list_all(KueueWorkload)
    for each in copied, run:
        assert answer(each) == before
        each.finish(list(each.state.workloads)[:2])
        each.create(asked)
        for queue in list(each.state.queues.values())[:1]:
            each.set_quotas(queue.name, [])
        each.rest()
    assert answer(copied) == answer(run)
