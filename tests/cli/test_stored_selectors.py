"""A stored pod whose selector nobody can parse: what the plugin that needs it says, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

CLUSTER = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a, labels: {zone: a}}
  status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}
- apiVersion: v1
  kind: Pod
  metadata: {name: waiting, namespace: shop, uid: u1}
  spec:
    containers: [{name: a, image: a}]
    topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: zone
      whenUnsatisfiable: DoNotSchedule
      labelSelector: {matchExpressions: [{key: (a+)+$, operator: Exists}]}
"""


@pytest.mark.parametrize(
    "words", ["place --with-pending", "explain shop/waiting", "snapshot trim shop/waiting -o {out}"]
)
def test_it_is_told_by_the_plugin_that_needs_it(tmp_path: Path, words: str) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER)
    ran = run(*words.format(out=tmp_path / "out.json").split(), "--snapshot", str(cluster))
    assert ran.code == 2
    told = "plugin PodTopologySpread: pre_filter for pod shop/waiting: SelectorError: '(a+)+$' is not a valid label key"
    assert told in ran.err
