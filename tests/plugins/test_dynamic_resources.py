from __future__ import annotations

from dataclasses import replace

from tests.asking import scores
from tests.builders import FEATURES, cluster_of, node, plugin_of, pod, scheduler_for


def test_a_pod_without_claims_scores_nothing_anywhere() -> None:
    cluster = cluster_of([node("a"), node("b")])
    assert scores(plugin_of("DynamicResources"), pod(), cluster) == {"a": 0, "b": 0}


def test_it_has_a_word_in_every_failure_message() -> None:
    cluster = cluster_of([node("a", cpu="1")])
    message = scheduler_for(cluster).attempt(cluster.shapes.info(pod(cpu="2"))).message
    assert ". no new claims to deallocate, preemption: " in message


def test_it_adds_up_requests_once_to_look_for_resources_that_devices_serve() -> None:
    assert plugin_of("DynamicResources").request_sums == (1, 0)
    gate_off = replace(FEATURES, dra_extended_resource=False)
    assert plugin_of("DynamicResources", features=gate_off).request_sums == (0, 0)
