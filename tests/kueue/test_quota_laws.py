"""Laws about more of something: quota, workloads; and that every command goes by the same decisions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun
from kwhatif.snapshot.read.objects import decode_objects
from tests.commands.gate.judging import judged
from tests.commands.queue.test_queue import cluster_queue, job, queues, there, workload

AMOUNTS = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def admitted(quota: int, asks: list[int], strategy: str, parent: str = "") -> set[str]:
    """Who gets quota of those that came one after the other."""
    spec: dict[str, Any] = {"queueingStrategy": strategy, **({"cohortName": parent} if parent else {})}
    other = [cluster_queue("b", 2, cohortName=parent)] if parent else []
    made = queues(cluster_queue("a", quota, **spec), *other)
    for number, cpu in enumerate(asks):
        each = workload(f"w{number}", "a", cpu)
        each["metadata"] |= {"uid": f"{number}", "creationTimestamp": f"2026-01-01T00:00:{number:02}Z"}
        made.append(each)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    found = kueue_objects(decode_objects([namespace, *made]), {}, {})
    run = KueueRun(KueueState(found), found.workloads, 10**18)
    run.rest()
    return {name for name, each in run.state.workloads.items() if each.holds_quota}


@pytest.mark.long
@settings(max_examples=60)
@given(st.integers(0, 12), AMOUNTS, st.sampled_from(["", "all"]))
def test_one_more_unit_of_quota_makes_nobody_of_a_strict_queue_wait(quota: int, asks: list[int], parent: str) -> None:
    assert admitted(quota, asks, "StrictFIFO", parent) <= admitted(quota + 1, asks, "StrictFIFO", parent)


@pytest.mark.long
@settings(max_examples=60)
@given(st.integers(0, 12), AMOUNTS, st.integers(1, 6), st.sampled_from(["StrictFIFO", "BestEffortFIFO"]))
def test_who_comes_last_takes_nothing_from_those_before(quota: int, asks: list[int], more: int, strategy: str) -> None:
    assert admitted(quota, asks, strategy) <= admitted(quota, [*asks, more], strategy)


@pytest.mark.long
@settings(max_examples=12)
@given(st.integers(0, 4), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_queue_place_expand_and_gate_tell_of_the_same_jobs_that_they_wait(quota: int, asks: list[int]) -> None:
    labels = {"kubernetes.io/hostname": "n"}
    room = {"cpu": "100", "memory": "1Gi", "pods": "20"}
    metadata = {"name": "n", "labels": labels}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": room}}
    jobs = [job(f"j{number}", str(cpu), **{"queue-name": "a"}) for number, cpu in enumerate(asks)]
    cluster = there(*queues(cluster_queue("a", quota)), node)
    workloads = kwhatif.queue(jobs, snapshot=cluster).workloads
    by_queue = {each.job.rpartition("/")[2]: each.status == "admitted" for each in workloads}
    placed = kwhatif.place(jobs, snapshot=cluster, assume_empty=True).placements
    by_place = {each.pod.rpartition("/")[2].rpartition("-")[0]: each.outcome == "placed" for each in placed}
    pods = kwhatif.expand(jobs, snapshot=cluster).pods
    by_expand = {each.owner.rpartition("/")[2]: "schedulingGates" not in each.object["spec"] for each in pods}
    assert by_queue == by_place == by_expand
    findings = judged(cluster, *jobs, rules={"queue-wait": {"level": "error"}}).findings
    waiting = {str(each.subject).rpartition("/")[2] for each in findings}
    assert {name: name not in waiting for name in by_queue} == by_queue
