"""The configurations of recorded scenarios load, and expand over kube-scheduler's own plugins."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kwhatif.policy import as_document, expand_all, load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.versions import features_of

FILES = sorted((Path(__file__).parents[1] / "conformance").rglob("1.36-*.jsonl.gz"))


@pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in FILES])
def test_every_recorded_configuration_loads(file: Path) -> None:
    for line in gzip.decompress(file.read_bytes()).splitlines():
        scenario = json.loads(line)
        features = features_of(gates=scenario.get("gates", {}))
        points = in_tree(features).points
        configuration = load_configuration(scenario["config"], source=scenario["name"], features=features)
        # Random ones give arguments to plugins that they leave out, too.
        assert all("has no effect" in warning for warning in configuration.warnings)
        expand_all(configuration, points.get)
        assert load_configuration(as_document(configuration), source="again", features=features) == configuration
