"""What holds of every run, whatever the cluster."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling.timeline import EventLog
from tests.builders import pod
from tests.scheduling.stories import Closed, Flaky, Restless, Story, enabling, popping
from tests.strategies import GeneratedCluster, crowds, scenarios

pytestmark = pytest.mark.usefixtures("cluster_size")

OWNERS = (("apps/v1", "ReplicaSet", "web"), ("apps/v1", "StatefulSet", "db"), ("batch/v1", "Job", "job"), None)
TROUBLES: tuple[dict[str, str], ...] = (
    {},
    {"fails": "1"},
    {"fails": "99"},
    {"hold": "0"},
    {"hold": "7"},
    {"closed": "1"},
)


@st.composite
def batches(draw: st.DrawFn) -> GeneratedCluster:
    """Pods that wait for a node where there is room, or where others have to leave, which then come back."""
    found = draw(st.one_of(scenarios(max_pending=6, terminating=True, budgets=True), crowds()))
    owners = draw(st.lists(st.sampled_from(OWNERS), min_size=len(found.running), max_size=len(found.running)))
    running = [_owned(one, owner) for one, owner in zip(found.running, owners, strict=True)]
    return replace(found, running=running)


def _changed(found: Pod, **meta: Any) -> Pod:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, **meta))


def _owned(found: Pod, owner: tuple[str, str, str] | None) -> Pod:
    return _changed(found, owner_references=pod(owner=owner).metadata.owner_references)


def _started(found: Pod, second: int) -> Pod:
    start = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, start_time=start))


def _of_priority(found: Pod, priority: int) -> Pod:
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, priority=priority))


def story_of(batch: GeneratedCluster, **options: Any) -> Story:
    """The batch's story; pods that are on their way out go at moments of their own."""
    story = Story(batch.nodes, batch.running, batch.objects, **options).arrive(*batch.pending)
    leaving = sorted((info for info, _ in story.cluster.pods() if info.shape.terminating), key=lambda info: info.key)
    for place, info in enumerate(leaving):
        story.simulator.delete(info.uid, 3.0 + 20 * place)
    return story


# --- order


@pytest.mark.long
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter_to_pods_that_are_told_apart_by_priority_or_age(
    batch: GeneratedCluster, random: Random
) -> None:
    # Pods that started together, and pods of one priority, are taken in the order of the input, as they should be.
    running = [_started(one, second) for second, one in enumerate(batch.running)]
    pending = [_of_priority(one, place * 30) for place, one in enumerate(batch.pending)]
    first = story_of(replace(batch, running=running, pending=pending))
    objects = random.sample(batch.objects, len(batch.objects))
    second = story_of(
        GeneratedCluster(
            batch.nodes, random.sample(running, len(running)), random.sample(pending, len(pending)), objects
        )
    )
    told, told_again = first.tell().splitlines(), second.tell().splitlines()
    arrivals = len(pending)
    assert sorted(told[:arrivals]) == sorted(told_again[:arrivals])
    assert told[arrivals:] == told_again[arrivals:]
    assert first.events() == second.events()
    event("something had to leave" if first.simulator.evicted else "nothing had to leave")


@pytest.mark.long
@given(batches())
def test_a_pod_that_finds_room_finds_it_all_the_same_when_a_less_important_one_comes_along(
    batch: GeneratedCluster,
) -> None:
    least = _of_priority(_changed(batch.pending[0], name="least", uid="uid-least"), -1000)
    without, with_it = story_of(batch), story_of(replace(batch, pending=[least, *batch.pending]))
    without.tell()
    with_it.tell()
    asked = {f"{one.metadata.namespace}/{one.name}" for one in batch.pending}
    found = [first_tries(story, asked) for story in (without, with_it)]
    assert found[0] == found[1]


def first_tries(story: Story, asked: set[str]) -> dict[str, tuple[str, str]]:
    """Pod -> what its first try came to, and where."""
    found: dict[str, tuple[str, str]] = {}
    for entry in story.simulator.diary.entries:
        if entry.pod in asked and entry.what in ("bound", "unschedulable"):
            found.setdefault(entry.pod, (entry.what, entry.node))
    return found


# --- the end


@pytest.mark.long
@given(batches(), st.booleans())
def test_nothing_waits_for_ever_that_would_fit_now(batch: GeneratedCluster, at_once: bool) -> None:
    story = story_of(batch, features=popping(at_once))
    story.tell()
    waiting = [queued for queued in story.simulator.queue.waiting() if queued.gate is None]
    assert not story.simulator.queue.backing_off()
    for queued in waiting:
        again = story.simulator.driver.decide(queued.info)
        assert not again.is_placed, queued.info.key
        assert not again.victims_to_evict, queued.info.key
    event(f"{min(len(waiting), 3)} pods left waiting")


@pytest.mark.long
@given(batches(), st.booleans(), st.data())
def test_every_run_ends_with_each_pod_in_one_place_even_if_plugins_make_trouble(
    batch: GeneratedCluster, at_once: bool, data: st.DataObject
) -> None:
    pending = [_troubled(one, data.draw(st.sampled_from(TROUBLES))) for one in batch.pending]
    plugins = (Flaky, Restless, Closed)
    config = enabling(*(plugin.name for plugin in plugins))
    story = story_of(replace(batch, pending=pending), config=config, outside=plugins, features=popping(at_once))
    story.tell()
    simulator, cluster = story.simulator, story.cluster
    waiting = {queued.info.uid for queued in simulator.queue.waiting()}
    given_up = {entry.pod for entry in simulator.diary.entries if entry.what == "given up"}
    for uid, attempt in simulator.outcome.items():
        places = [cluster.find(uid) is not None, uid in waiting, uid in simulator.evicted, attempt.pod.key in given_up]
        assert sum(places) == 1, (uid, places)
        assert not attempt.waiting
    event(f"given up: {min(len(given_up), 2)}")


def _troubled(found: Pod, trouble: dict[str, str]) -> Pod:
    return _changed(found, labels={**(found.metadata.labels or {}), **trouble})


# --- at any time


class Auditor(EventLog):
    """A diary that looks at the cluster whenever something is written down."""

    cluster: Cluster | None = None
    room: Any = None
    places: Any = None

    def start(self, cluster: Cluster) -> None:
        self.cluster = cluster
        columns = cluster.columns
        self.room = np.maximum(columns.allocatable, cluster.requested)
        self.places = np.maximum(columns.allowed_pods, cluster.pod_count)

    def say(self, pod: str, what: str, why: str = "", node: str = "") -> None:
        super().say(pod, what, why, node)
        cluster = self.cluster
        assert cluster is not None
        width = self.room.shape[1]
        assert (cluster.requested[:, :width] <= self.room).all(), (pod, what)
        assert (cluster.pod_count <= self.places).all(), (pod, what)
        assert (cluster.requested >= 0).all(), (pod, what)


@pytest.mark.long
@given(batches(), st.booleans())
def test_no_node_is_ever_given_more_than_it_has(batch: GeneratedCluster, recreate: bool) -> None:
    auditor = Auditor()
    story = story_of(batch, recreate=recreate, diary=auditor)
    auditor.start(story.cluster)
    story.tell()
    counted = sum(len(pods) for pods in story.cluster.pods_on)
    assert counted == int(story.cluster.pod_count.sum())
