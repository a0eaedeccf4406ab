"""Answers from a snapshot that has the configuration of the cluster's own scheduler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.snapshot.format.model import SchedulerInfo, write_snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import TESTS, Ran, run

SOURCE = "ConfigMap kube-system/scheduler"
NOTE = f"note: policy: the cluster's own, from {SOURCE}; --policy default is kube-scheduler's default"
ONLY_MINE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "mine"}],
}
UNCLAIMED = "schedulerName default-scheduler is none of the configuration's profiles"


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    return cluster_with(tmp_path, ONLY_MINE)


def cluster_with(directory: Path, configuration: dict[str, Any]) -> str:
    snapshot = load_snapshot([str(TESTS.parent / "samples" / "three-nodes.json")])
    snapshot.scheduler = SchedulerInfo(configuration=configuration, source=SOURCE)
    write_snapshot(snapshot, str(directory / "cluster.json"))
    return str(directory / "cluster.json")


def place(snapshot: str, *words: str) -> Ran:
    return run("place", "../samples/manifests/web.yaml", "--snapshot", snapshot, "-o", "json", *words)


def test_the_cluster_s_own_configuration_is_used_and_that_is_said(snapshot: str) -> None:
    ran = place(snapshot)
    assert UNCLAIMED in ran.out
    assert NOTE in ran.err.splitlines()


def test_kube_scheduler_s_defaults_can_be_asked_for(snapshot: str) -> None:
    ran = place(snapshot, "--policy", "default")
    assert UNCLAIMED not in ran.out
    assert NOTE not in ran.err


def test_a_file_goes_before_the_cluster_s_own(snapshot: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(ONLY_MINE | {"profiles": [{"schedulerName": "default-scheduler"}]}))
    ran = place(snapshot, "--policy", str(policy))
    assert UNCLAIMED not in ran.out
    assert NOTE not in ran.err


def test_explain_asks_the_same_scheduler(snapshot: str) -> None:
    ran = run("explain", "../samples/manifests/web.yaml", "--snapshot", snapshot)
    assert ran.code == 1
    assert UNCLAIMED in ran.out


def test_a_configuration_that_is_refused_is_named_by_where_it_is_from(tmp_path: Path) -> None:
    ran = place(cluster_with(tmp_path, ONLY_MINE | {"parallelism": -1}))
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith(f"kwhatif: {SOURCE}: ")
