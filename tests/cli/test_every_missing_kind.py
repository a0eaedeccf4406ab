"""Whatever kind is taken from a snapshot, every command gives the same answer without it or says what it lacks.

The table of docs/contributing/behaviour/gaps.md is held against the same list of kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.api.kinds import READ_KINDS
from kwhatif.commands.gate.remedies import Remedies
from kwhatif.errors import InputError
from kwhatif.results.base import Result
from kwhatif.snapshot.format.model import Snapshot, read_envelope
from tests.cli.whole_cluster import OBJECTS, PODS, UPDATES, a_snapshot

Ask = Callable[[Snapshot], Result]

GROUPS = Path(__file__).parents[2] / "samples" / "autoscaled" / "groups.yaml"
NEW = [pod for name, pod in PODS.items() if name != "denied"]
(DEPLOYMENT,) = OBJECTS["Deployment"]
WORKLOADS = list(UPDATES.values())


def trimmed(there: Snapshot) -> Result:
    """What is decided about the pods, and not how much was cut away."""
    with TemporaryDirectory() as folder:
        found = kwhatif.snapshot_trim(NEW, snapshot=there, output=f"{folder}/out.json", steps=1)
    return replace(found, kinds=(), file="", shown_by="", bytes_before=0, bytes_after=0, steps=0, complete=True)


ASKED: dict[str, Ask] = {
    "expand": lambda there: kwhatif.expand([*PODS.values(), *WORKLOADS], snapshot=there),
    "place": lambda there: kwhatif.place([*NEW, UPDATES["Deployment"]], snapshot=there),
    "explain": lambda there: kwhatif.explain([PODS["growing"], PODS["template"]], snapshot=there, fixes=False),
    "capacity": lambda there: kwhatif.capacity([PODS["classed"]], snapshot=there, limit=2),
    "gate": lambda there: kwhatif.gate([PODS["near"], PODS["devices"], *WORKLOADS], snapshot=there),
    "drain": lambda there: kwhatif.drain("n1", snapshot=there, force=True, ignore_daemonsets=True),
    "place --timeline": lambda there: kwhatif.place(NEW, snapshot=there, timeline=True),
    "diff": lambda there: kwhatif.diff(NEW, snapshot=there, old=[DEPLOYMENT], new=[UPDATES["Deployment"]]),
    "autoscale": lambda there: kwhatif.autoscale(NEW, snapshot=there, groups=GROUPS, scale_down=True),
    "trim": lambda there: trimmed(there),
}
DOCUMENTED = Path(__file__).parents[2] / "docs/contributing/behaviour/gaps.md"
KINDS = [kind.name for kind in READ_KINDS if kind.name != "Node"]
OTHERWISE = {"fidelity", "gaps", "verdict", "findings", "rules", "warnings"}
"""What of an answer is not the answer itself."""


def _bare(value: Any) -> Any:
    """One side of a comparison without what it stands on."""
    return {key: item for key, item in value.items() if key not in OTHERWISE} if isinstance(value, dict) else value


def answered(command: str, *without: str) -> tuple[dict[str, Any], str]:
    """The answer, and all that is said about what it lacks."""
    there = read_envelope(a_snapshot(*without))
    if "Pod" in without and command != "expand":
        with pytest.raises(InputError, match="found no list of them") as refused:
            ASKED[command](there)
        return {}, f"Pod: {refused.value}"
    result = ASKED[command](there)
    gaps = [gap for each in result.fidelities for gap in each.touching]
    gaps += getattr(result, "gaps", ())
    answer = {key: _bare(value) for key, value in result.to_dict().items() if key not in OTHERWISE}
    return answer, " ".join([*map(str, gaps), *result.notes])


def kinds_to_take_away(command: str) -> list[str]:
    """Each of them from ``place``; a third from each of the other commands, which see the same cluster."""
    return KINDS if command == "place" else KINDS[list(ASKED).index(command) % 3 :: 3]


@cache
def with_all(command: str) -> tuple[dict[str, Any], str]:
    return answered(command)


@pytest.mark.long
@pytest.mark.parametrize("command", ASKED)
def test_without_a_kind_the_answer_is_the_same_or_says_so(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is tried for a hint is the question once more.
    monkeypatch.setattr(Remedies, "with_hints", lambda self, findings, rules: list(findings))
    said: set[str] = set()
    silent: set[str] = set()
    for kind in kinds_to_take_away(command):
        answer, told = answered(command, kind)
        if re.search(rf"\b{kind}\b", told):
            said.add(kind)
        elif answer != with_all(command)[0]:
            silent.add(kind)
    assert not silent
    assert said, "some kind is needed"


def rows() -> dict[str, str]:
    """Of the table in the docs, the kinds and what becomes of each."""
    table = DOCUMENTED.read_text(encoding="utf-8")
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and not set(cells[0]) <= {"-", " "}:
            for name in re.findall(r"`([A-Z]\w+)`", cells[0]):
                found[name] = cells[1]
    return found


def test_the_table_in_the_docs_has_every_kind_and_nothing_else() -> None:
    assert set(rows()) == {kind.name for kind in READ_KINDS}
    assert set(rows().values()) <= {"modelled", "a gap", "impossible"}


def test_with_every_kind_there_no_kind_is_said_to_be_missing() -> None:
    for command in ASKED:
        assert "the snapshot holds no" not in with_all(command)[1]
