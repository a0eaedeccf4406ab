"""A large cluster on a terminal of 80 columns: the answer at once, at most 60 lines, nothing wider than it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks.fleet import deployment, node_name, write
from kwhatif.render.tables import MOST_LINES
from tests.cli.running import run

pytestmark = pytest.mark.long

COLUMNS = 80
GROUPS = {
    "apiVersion": "kwhatif.dev/v1",
    "kind": "NodeGroups",
    "groups": [{"name": "general", "min": 0, "max": 100, "nodes": {"labels": {"kubernetes.io/os": "linux"}}}],
}

QUESTIONS = {
    "place": (["place", "fits", "--snapshot", "cluster"], "60 of 60 pods"),
    "place, in vain": (["place", "large", "--snapshot", "cluster"], "0 of 60 pods"),
    "explain": (["explain", "fits", "--snapshot", "cluster"], "goes to"),
    "explain, in vain": (["explain", "large", "--snapshot", "cluster"], "finds no node"),
    "expand": (["expand", "fits", "--snapshot", "cluster"], "60"),
    "capacity": (["capacity", "fits", "--snapshot", "cluster"], "Fits 4 times"),
    "gate": (["gate", "large", "--snapshot", "cluster"], "FAIL"),
    "drain of one": (["drain", node_name(1), "--ignore-daemonsets", "--snapshot", "cluster"], "of 1 node drained"),
    "drain of a zone": (
        ["drain", "topology.kubernetes.io/zone=eu-central-1a", "--ignore-daemonsets", "--snapshot", "cluster"],
        "of 30 nodes drained",
    ),
    "diff": (
        [
            *("diff", "--replay", "namespace=team-search", "--snapshot", "cluster"),
            *("--policy", "default", "--policy", "../samples/policies/most-allocated.yaml"),
        ],
        "moved",
    ),
    "several explained": (["explain", "fits", "one", "--snapshot", "cluster"], "61 of 61 pods placed"),
    "summary": (["place", "large", "--snapshot", "cluster", "-o", "summary"], "0 of 60 pods"),
    "autoscale": (["autoscale", "large", "--snapshot", "cluster", "--groups", "groups"], "no group grows"),
    "snapshot info": (["snapshot", "info", "cluster", "--nodes"], "90 nodes"),
    "snapshot validate": (["snapshot", "validate", "cluster"], "errors"),
    "snapshot diff": (["snapshot", "diff", "cluster", "smaller"], " objects of "),
}


def _pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "registry.example/app:1.0"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team-search"}, "spec": spec}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    names = ("cluster", "smaller", "fits", "large", "one", "groups")
    found = {name: tmp_path_factory.mktemp("large") / f"{name}.json" for name in names}
    write(found["cluster"], 90, 20)
    write(found["smaller"], 60, 20)
    found["one"].write_text(json.dumps(_pod("alone")))
    found["groups"].write_text(json.dumps(GROUPS))
    found["fits"].write_text(json.dumps(deployment(60)))
    found["large"].write_text(json.dumps(deployment(60, cpu="9")))
    return {name: str(path) for name, path in found.items()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_on_the_first_lines_of_a_screenful(question: str, files: dict[str, str]) -> None:
    words, verdict = QUESTIONS[question]
    ran = run(*(files.get(word, word) for word in words), columns=COLUMNS, terminal=True)
    assert ran.code in (0, 1), ran.err
    assert verdict in "\n".join(ran.lines[:10])
    # What a report that is as short as can be leaves out may take two lines more.
    assert len(ran.lines) <= MOST_LINES + 2 * any("Columns without room" in line for line in ran.lines)
    # Commands are copied, so no line of theirs is broken.
    told = [re.sub("\x1b\\[[\\d;]*m", "", line) for line in ran.lines if not line.lstrip().startswith("kwhatif ")]
    assert max(map(len, told)) <= COLUMNS
