"""What every question has in common, whatever it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.simulation.pipeline import STAGES
from tests.cli.running import CLUSTER, run

SMALL = "data/small.yaml"
PLUGIN = "data/plugins.py:OnlyCats"
UNUSED = "warning: plugin OnlyCats is enabled in no profile that was used: it changed nothing"

SCHEDULING = {
    "place": f"place {SMALL} --snapshot {CLUSTER}",
    "place over time": f"place {SMALL} --snapshot {CLUSTER} --timeline",
    "explain": f"explain {SMALL} --snapshot {CLUSTER}",
    "capacity": f"capacity {SMALL} --snapshot {CLUSTER} --limit 3",
    "drain": f"drain ant-1 --snapshot {CLUSTER} --force --ignore-daemonsets --delete-emptydir-data",
    "chances": f"chances {SMALL} --snapshot {CLUSTER} --trials 3",
    "outage": f"outage --snapshot {CLUSTER} --each nodes",
    "diff": f"diff {SMALL} --snapshot {CLUSTER} --policy default@1.33 --policy default@1.34",
    "gate": f"gate {SMALL} --snapshot {CLUSTER}",
    "trim": f"snapshot trim {SMALL} --snapshot {CLUSTER} -o {{out}}",
}
"""A question to each command that asks a scheduler."""


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "trimmed.json")


def test_the_stages_are_these() -> None:
    assert [stage.__name__ for stage in STAGES] == [
        *("load", "edit", "rules", "expand", "queue"),
        *("merge", "session", "answer", "result", "mapping"),
    ]


@pytest.mark.parametrize("question", SCHEDULING)
def test_a_plugin_that_changed_nothing_is_told(question: str, out: str) -> None:
    words = SCHEDULING[question].format(out=out).split()
    assert UNUSED in run(*words, "--plugin", PLUGIN).notes
    assert UNUSED not in run(*words).notes


def test_a_plugin_of_one_side_alone_did_change_something() -> None:
    words = f"diff {SMALL} --snapshot {CLUSTER} --policy default --policy data/with-plugin.yaml".split()
    ran = run(*words, "--plugin", PLUGIN)
    assert (ran.code, ran.notes) == (1, [])


@pytest.mark.parametrize("question", SCHEDULING)
def test_under_strict_an_answer_that_stands_on_a_gap_is_refused(question: str, out: str) -> None:
    words = SCHEDULING[question].format(out=out).split()
    versions = [] if question == "diff" else ["--kubernetes-version", "1.30"]
    ran = run(*words, *versions, "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("kwhatif: --strict: the cluster runs Kubernetes ")
    assert not Path(out).exists()
