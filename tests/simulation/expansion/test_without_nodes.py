"""A DaemonSet has a pod a node: where no node is known, no number of pods is an answer."""

from __future__ import annotations

from pathlib import Path

import kwhatif

CLUSTER = str(Path(__file__).parents[3] / "samples" / "cluster")
DAEMON_SET = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "agent"},
    "spec": {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "agent", "image": "agent"}]},
        },
    },
}


def test_a_daemon_set_without_known_nodes_is_a_gap_with_what_to_do() -> None:
    found = kwhatif.expand([DAEMON_SET])
    assert found.pods == ()
    effect = "their number of pods is that of the nodes, so none is here; --snapshot names the cluster"
    assert [(gap.what, gap.effect) for gap in found.gaps] == [("DaemonSet agent: no nodes are known", effect)]
    with_nodes = kwhatif.expand([DAEMON_SET], snapshot=[CLUSTER])
    assert with_nodes.pods
    assert not [gap for gap in with_nodes.gaps if "no nodes" in gap.what]
