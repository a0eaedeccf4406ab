from __future__ import annotations

from tests.builders import cluster_of, plugin_of, pod


def test_higher_priority_goes_first_and_the_earlier_comer_among_equals() -> None:
    shapes, plugin = cluster_of([]).shapes, plugin_of("PrioritySort")
    arrivals = [pod("low", priority=-3), pod("first", priority=7), pod("none"), pod("second", priority=7)]
    infos = [shapes.info(arrival) for arrival in arrivals]
    queue = sorted(range(len(infos)), key=lambda i: plugin.queue_key(infos[i], i))
    assert [infos[i].pod.name for i in queue] == ["first", "second", "none", "low"]
