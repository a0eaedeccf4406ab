"""Objects of scheduler-plugins under pseudonyms are found by the plugins that look for them."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.commands.conformance.scenario_files import replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.redaction.redact import redact_documents
from kwhatif.redaction.reveal import reveal, reveal_value
from tests.redaction.redacted_answers import redacted_scenario

Json = dict[str, Any]


def named(kind: str, version: str, name: str) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": {}}


@pytest.mark.parametrize(
    ("kind", "version", "name"),
    [
        pytest.param(
            *("NetworkTopology", "networktopology.diktyo.x-k8s.io/v1alpha1", "nt-default"), id="network costs"
        ),
        pytest.param(*("SeccompProfile", "security-profiles-operator.x-k8s.io/v1beta1", "all-syscalls"), id="profiles"),
    ],
)
def test_what_a_plugin_looks_for_where_its_arguments_say_nothing_keeps_its_name(
    kind: str, version: str, name: str
) -> None:
    documents = [named(kind, version, name), named(kind, version, f"{name}-of-shop")]
    (first, second), translation = redact_documents(documents)
    assert first["metadata"] == {"name": name, "namespace": "default"}
    assert "shop" not in second["metadata"]["name"]
    assert reveal(second["metadata"]["name"], translation) == f"{name}-of-shop"


RECORDED = Path(__file__).parents[1] / "conformance"


@pytest.mark.long
@pytest.mark.parametrize("family", ["capacity", "coscheduling", "network", "nrt"])
def test_recorded_decisions_are_the_same_under_pseudonyms(family: str) -> None:
    with gzip.open(RECORDED / f"1.35-schedplugins-{family}.jsonl.gz") as lines:
        scenarios = [msgspec.json.decode(line, type=SchedulerScenario) for line in islice(lines, 3)]
    for scenario in scenarios:
        redacted, translation = redacted_scenario(scenario)
        redacted.queue = scenario.queue
        assert reveal_value(replay_scenario(redacted), translation) == replay_scenario(scenario)


def test_of_labels_that_node_metadata_reads_numbers_and_days_stay() -> None:
    args = {"metadataKey": "bought-on", "metadataSource": "Label", "metadataType": "Timestamp"}
    profile = {"schedulerName": "a", "pluginConfig": [{"name": "NodeMetadata", "args": args}]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    values = ("2026-03-01", "1.25", "12345", "by-shop")
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{place}", "labels": {"bought-on": value}}}
        for place, value in enumerate(values)
    ]
    _, *redacted = redact_documents([{**kind, "profiles": [profile]}, *nodes])[0]
    found = [value for each in redacted for value in each["metadata"]["labels"].values()]
    assert found[:3] == list(values[:3])
    assert "shop" not in found[3]
