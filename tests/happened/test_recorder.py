"""A recorded change is what the judge reads: the cluster before it, the manifest, and what was there at rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.kinds import plural_of
from tests.happened.judge import judge_change
from tests.happened.recorder import AFTER, BEFORE, kubectl_of, record_change, wait_for_rest
from tests.happened.test_happened import changes

Json = dict[str, Any]


LOSS = [{"removeNodes": "n000"}]


class RecordedCluster:
    """Answers as kubectl would: with one recorded change, which takes two looks to come to rest."""

    def __init__(self, recorded: Json) -> None:
        self.recorded, self.said, self.seconds, self.looks = recorded, list[tuple[str, ...]](), 0.0, 0

    def __call__(self, *words: str) -> str:
        self.said.append(words)
        if words[0] == "apply":
            return ""
        is_applied = any(each[0] == "apply" for each in self.said)
        resources = words[1].split(",")
        self.looks += is_applied and resources == [*map(plural_of, AFTER)]
        items = [
            dict(item, kind=kind, metadata={**item["metadata"], "managedFields": []})
            for listed in self.recorded["after" if is_applied else "before"]
            if plural_of(kind := listed["kind"].removesuffix("List")) in resources
            for item in listed["items"]
        ]
        if self.looks == 1:
            items[0]["metadata"]["resourceVersion"] = "still moving"
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def rest(self) -> list[Json]:
        return wait_for_rest(self, 3.0, 60.0, lambda: self.seconds, self.sleep)


def test_what_is_recorded_is_what_the_judge_reads(tmp_path: Path) -> None:
    recorded = changes()[0]
    (tmp_path / "web.json").write_text(json.dumps(recorded["change"]))
    cluster = RecordedCluster(recorded)
    line = record_change(cluster, tmp_path / "web.json", 7, cluster.rest)
    assert (line["id"], line["what"], line["change"]) == ("web-007", recorded["what"], recorded["change"])
    assert len(line["before"]) == len(BEFORE)
    assert not any("managedFields" in item["metadata"] for listed in line["before"] for item in listed["items"])
    assert cluster.seconds > 3.0, "it has waited since the last object changed"
    assert judge_change(line)[0] == judge_change(recorded)[0] == []


def test_a_cluster_that_never_rests_ends_the_recording() -> None:
    cluster = RecordedCluster(changes()[0])
    with pytest.raises(SystemExit, match="not at rest after 2 seconds"):
        wait_for_rest(cluster, 30.0, 2.0, lambda: cluster.seconds, cluster.sleep)


def test_without_kubectl_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="no kubectl on the PATH"):
        kubectl_of("test")("get", "pods")


def test_a_command_of_kubectl_is_recorded_with_the_question_that_foretells_it(tmp_path: Path) -> None:
    cluster, question = RecordedCluster(changes()[0]), {"place": {"with_pending": True, "edits": LOSS}}
    step = {"kubectl": ["delete", "node", "n000"], "question": question}
    (tmp_path / "loss.json").write_text(json.dumps(step))
    line = record_change(cluster, tmp_path / "loss.json", 0, lambda: changes()[0]["before"])
    assert cluster.said[-1] == ("delete", "node", "n000")
    assert (line["what"], line["question"]) == ("delete", question)
    assert judge_change(line)[0] == [], "a node that ran nothing is missed by nobody"
