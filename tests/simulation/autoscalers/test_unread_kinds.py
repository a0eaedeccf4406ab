"""What a snapshot has of Karpenter's that nobody here reads is said with every answer that stands on the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import TESTS, run

pytestmark = pytest.mark.long

SAMPLE = TESTS.parent / "samples" / "karpenter"


def answer(tmp_path: Path, *objects: dict[str, Any]) -> str:
    path = tmp_path / "cluster.json"
    items = list(yaml.safe_load_all((SAMPLE / "cluster.yaml").read_text("utf-8")))
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *objects]}))
    ran = run("autoscale", "--snapshot", str(path), "--catalogue", str(SAMPLE / "catalogue.yaml"))
    assert ran.code in (0, 1), ran.err
    return ran.out


def test_overlays_and_node_classes_that_nobody_reads_are_told(tmp_path: Path) -> None:
    overlay = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "o"}, "spec": {}}
    azure = {"apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass", "metadata": {"name": "c"}, "spec": {}}
    told = answer(tmp_path, overlay, azure)
    assert "1 NodeOverlay of the snapshot is not read: prices and amounts that they change are not changed" in told
    assert "1 AKSNodeClass of the snapshot is not read" in told
    assert "not read" not in answer(tmp_path)
