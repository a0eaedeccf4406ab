"""Stories of pods whose claims are bound when they get a node, and of those that hear of it."""

from __future__ import annotations

from tests.builders import Json, node, pod
from tests.scheduling.stories import PEACEFUL, Story, told
from tests.storage_builders import claim, claiming, storage_class, volume

N1 = {"kubernetes.io/hostname": "n1"}
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"


def test_a_claim_that_waits_for_its_first_consumer_binds_with_it_and_ties_later_ones_to_the_place() -> None:
    objects = [storage_class(), claim("data"), claim("logs"), volume("disk", on="n2")]
    story = Story([node("n1"), node("n2")], [], objects, config=PEACEFUL)
    story.arrive(claiming("data", name="db"))
    story.arrive(claiming("logs", name="logger"), at=5)
    story.arrive(claiming("data", name="reader"), at=9)
    # The one disk is taken; nobody tells the logger of pods that come, so only the flush tries it again.
    assert story.tell() == told(f"""
        0s db queued: created
        0s db bound on n2: the only node
        5s logger queued: created
        5s logger unschedulable: 0/2 nodes are available: 2 {NO_VOLUME}.
        9s reader queued: created
        9s reader bound on n2: the only node
        330s logger active: it has waited for five minutes
        330s logger unschedulable: 0/2 nodes are available: 2 {NO_VOLUME}.
    """)


def test_a_volume_that_is_taken_wakes_pods_whose_claims_found_none() -> None:
    objects = [storage_class(), claim("data"), claim("logs"), volume("disk", on="n2")]
    story = Story([node("n1"), node("n2")], [], objects, config=PEACEFUL)
    story.arrive(claiming("logs", name="logger", node_selector=N1))
    story.arrive(claiming("data", name="db"), at=5)
    story.arrive(claiming("data", name="reader"), at=9)
    message = f"0/2 nodes are available: 1 {NO_VOLUME}, 1 node(s) didn't match Pod's node affinity/selector."
    # The second pod with the claim changes nothing about it, so it wakes nobody.
    assert story.tell() == told(f"""
        0s logger queued: created
        0s logger unschedulable: {message}
        5s db queued: created
        5s db bound on n2: the only node
        5s logger active: PersistentVolumeUpdate default/db
        5s logger unschedulable: {message}
        9s reader queued: created
        9s reader bound on n2: the only node
        330s logger active: it has waited for five minutes
        330s logger unschedulable: {message}
    """)


def test_a_replacement_gets_claims_of_its_own_for_its_ephemeral_volumes() -> None:
    template: Json = {"spec": {"storageClassName": "std", "resources": {"requests": {"storage": "1Gi"}}}}
    spec: Json = {
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}],
        "terminationGracePeriodSeconds": 5,
    }
    web = pod("web", on="n1", cpu="2", spec=spec, owner=("apps/v1", "ReplicaSet", "web"))
    objects = [storage_class(provisioner="disk.csi.example"), claim("web-scratch", owner="uid-default-web")]
    story = Story([node("n1", cpu="2"), node("n2", cpu="2", labels={"slow": "yes"})], [web], objects)
    story.arrive(pod("vip", cpu="2", priority=9, node_selector=N1))
    assert story.tell() == told("""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node \
affinity/selector.
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web-r1 queued: replacement
        0s web-r1 bound on n2: the only node
        5s web gone on n1
        5s vip active: AssignedPodDelete default/web
        5s vip bound on n1: the only node
    """)


def test_a_pod_that_alone_may_use_its_claim_leaves_it_to_the_next() -> None:
    objects = [
        storage_class(),
        claim("data", modes=["ReadWriteOncePod"], bound_to="disk"),
        volume("disk", modes=["ReadWriteOncePod"], on="n1", kept_for="data", phase="Bound"),
    ]
    running = [claiming("data", name="old", on="n1"), pod("other", on="n1")]
    story = Story([node("n1")], running, objects, config=PEACEFUL).arrive(claiming("data", name="new"))
    story.delete("other", at=3).delete("old", at=6)
    reason = "due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    assert story.tell() == told(f"""
        0s new queued: created
        0s new unschedulable: 0/1 nodes are available: 1 node(s) unavailable {reason}.
        3s other gone on n1
        6s old gone on n1
        6s new active: AssignedPodDelete default/old
        6s new bound on n1: the only node
    """)
