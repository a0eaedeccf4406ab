from __future__ import annotations

from tests.builders import cluster_of, node, plugin_of, pod, scheduler_for


def test_binding_always_succeeds() -> None:
    cluster = cluster_of([node("a")])
    info = cluster.shapes.info(pod())
    assert plugin_of("DefaultBinder").bind(info, "a", None) is None
    assert scheduler_for(cluster).framework.bind(info, "a", {}) is None
