"""Decisions of Kueue itself, written as a recording, come out again; others are listed with what Kueue would do."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.kinds import kind_of
from tests.commands.backtest.recordings import line

DECISIONS = Path(__file__).parents[2] / "conformance/kueue"
Json = dict[str, Any]


def scenarios(family: str) -> list[Json]:
    return [
        json.loads(text) for text in gzip.decompress((DECISIONS / f"0.19-{family}.jsonl.gz").read_bytes()).splitlines()
    ]


class Writer:
    """A recording of what Kueue decided in the first step of a scenario."""

    def __init__(self, scenario: Json) -> None:
        self.lines: list[Json] = []
        self.version = 10
        self.workloads: dict[str, Json] = {}
        by_kind: dict[str, list[Json]] = {"v1/pods": [], "v1/nodes": []}
        for given in scenario["objects"]:
            obj = copy.deepcopy(given)
            obj["metadata"]["resourceVersion"] = "5"
            known = kind_of(obj["apiVersion"], obj["kind"])
            assert known is not None
            by_kind.setdefault(f"{obj['apiVersion']}/{known.plural}", []).append(copy.deepcopy(obj))
            if obj["kind"] == "Workload":
                self.workloads[f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"] = obj
        for kind, items in by_kind.items():
            self.lines.append(line(kind, list={"metadata": {"resourceVersion": "10"}, "items": items}))
        for number, cycle in enumerate(scenario["expected"]["steps"][0]["cycles"]):
            self.time = f"2026-01-01T00:{number // 30:02}:{number % 30 * 2:02}Z"
            self.write_cycle(cycle)

    def write_cycle(self, cycle: Json) -> None:
        for head in cycle["heads"]:
            if head["result"] == "admitted":
                self.admit(head)
            if head["result"] == "preempting":
                for target in head["targets"]:
                    self.evict(target["workload"], self.workloads[head["workload"]]["metadata"]["uid"])

    def admit(self, head: Json) -> None:
        obj = self.workloads[head["workload"]]
        assigned = []
        for each in head["podSets"]:
            made = {"name": each["name"], "count": each["count"], "flavors": each.get("flavors", {})}
            made["resourceUsage"] = each.get("usage", {})
            if each.get("topology"):
                made["topologyAssignment"] = each["topology"]
            assigned.append(made)
        admission = {"clusterQueue": head["clusterQueue"], "podSetAssignments": assigned}
        conditions = [condition(name, "True", self.time) for name in ("QuotaReserved", "Admitted")]
        self.change(obj, {"admission": admission, "conditions": conditions})

    def evict(self, key: str, preemptor: str) -> None:
        obj = self.workloads[key]
        text = f"Preempted to accommodate a workload (UID: {preemptor}, JobUID: UNKNOWN) due to prioritization"
        evicted = condition("Evicted", "True", self.time, "Preempted", text)
        self.change(obj, {**obj["status"], "conditions": [*obj["status"].get("conditions", ()), evicted]})
        gone = [condition(name, "False", self.time, "Pending", text) for name in ("QuotaReserved", "Admitted")]
        self.change(obj, {"conditions": [*gone, condition("Requeued", "True", self.time, "Preempted", text), evicted]})

    def change(self, obj: Json, status: Json) -> None:
        self.version += 1
        obj["status"] = status
        obj["metadata"]["resourceVersion"] = str(self.version)
        event = {"type": "MODIFIED", "object": copy.deepcopy(obj)}
        self.lines.append(line(f"{obj['apiVersion']}/workloads", 1000.0 + self.version, event=event))

    def save(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(each) + "\n" for each in self.lines))
        return path


def condition(name: str, status: str, time: str, reason: str = "R", message: str = "m") -> Json:
    return {"type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": time}


def with_preemption(family: str) -> Json:
    """The first scenario with admissions and a preemption."""
    for each in scenarios(family):
        results = [head["result"] for cycle in each["expected"]["steps"][0]["cycles"] for head in cycle["heads"]]
        if "preempting" in results and len(each["config"]) == 2:
            return each
    raise AssertionError("no scenario of the family preempts")


def backtested(path: Path) -> kwhatif.BacktestResult:
    return kwhatif.backtest(path)


@pytest.mark.parametrize("family", ["preemption", "flavors", "mixed", "tas"])
def test_admissions_and_preemptions_of_kueue_come_out_again(family: str, tmp_path: Path) -> None:
    result = backtested(Writer(with_preemption(family)).save(tmp_path / "day.jsonl"))
    rows = {each.what: each for each in result.agreement}
    assert min(rows["admitted"].total, rows["evicted"].total) > 0
    assert {each.what: each.total - each.agreeing for each in result.agreement} == dict.fromkeys(rows, 0)
    assert not result.disagreements


def test_an_admission_to_another_flavor_is_listed_with_the_flavor_that_kueue_would_take(tmp_path: Path) -> None:
    writer = Writer(with_preemption("preemption"))
    events = [each["event"]["object"] for each in writer.lines if "event" in each]
    changed = next(each for each in events if each["status"]["conditions"][-1]["type"] == "Admitted")
    assigned = changed["status"]["admission"]["podSetAssignments"][0]
    assigned["flavors"] = dict.fromkeys(assigned["flavors"], "elsewhere")
    result = backtested(writer.save(tmp_path / "day.jsonl"))
    found = result.disagreements[0]
    metadata = changed["metadata"]
    assert (found.what, found.pod) == ("admitted", f"Workload {metadata['namespace']}/{metadata['name']}")
    assert "elsewhere" in found.recorded
    assert found.answer.startswith("admitted: ")
    assert "elsewhere" not in found.answer


def test_an_admission_without_quota_is_listed_with_what_it_waits_for(tmp_path: Path) -> None:
    writer = Writer(with_preemption("preemption"))
    for queue in next(each for each in writer.lines if each["kind"].endswith("/clusterqueues"))["list"]["items"]:
        for group in queue["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    resource["nominalQuota"] = "0"
    result = backtested(writer.save(tmp_path / "day.jsonl"))
    assert {each.what for each in result.disagreements} >= {"admitted"}
    assert any("insufficient" in each.answer for each in result.disagreements)
