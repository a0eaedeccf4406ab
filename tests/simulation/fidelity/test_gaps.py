"""What closes a gap closes it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

import kwhatif
from kwhatif.api.kinds import READ_KINDS, Kind
from kwhatif.results.base import Gap
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.fidelity.gaps import closing_commands_of, update_time_gaps
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.builders import pod
from tests.cli.running import run


def answered(command: str, kind: str) -> dict[str, object]:
    """What the API server answers to a command if there is nothing of a kind."""
    _, _, _, path = command.split(" ")
    version = path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
    return {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": []}


@pytest.mark.parametrize("kind", [kind for kind in READ_KINDS if not kind.rare], ids=lambda kind: kind.name)
def test_an_empty_list_says_that_there_is_nothing_of_the_kind(kind: Kind, tmp_path: Path) -> None:
    (command,) = closing_commands_of(Snapshot(kubernetes_version="v1.36.0"), kind.name)
    assert command == f"kubectl get --raw {kind.path(kind.versions[0])}"
    file = tmp_path / "list.json"
    file.write_text(json.dumps(answered(command, kind.name)))
    assert kind.name in load_snapshot([str(file)]).covered_kinds()


@pytest.mark.parametrize(
    ("version", "kind", "commands"),
    [
        ("1.36", "DeviceClass", ("kubectl get --raw /apis/resource.k8s.io/v1/deviceclasses",)),
        ("1.33", "DeviceClass", ()),
        ("unheard of", "DeviceClass", ("kubectl get --raw /apis/resource.k8s.io/v1/deviceclasses",)),
        ("1.36", "Gadget", ()),
    ],
)
def test_a_command_asks_for_what_the_cluster_serves(version: str, kind: str, commands: tuple[str, ...]) -> None:
    assert closing_commands_of(Snapshot(kubernetes_version=version), kind) == commands


def test_what_a_dump_could_not_read_is_not_closed_by_a_list_beside_it() -> None:
    assert closing_commands_of(Snapshot(unreadable={"Service": "forbidden"}), "Service") == ()


def test_of_several_commands_the_first_is_told() -> None:
    gap = Gap(what="no A, B", effect="nothing is known", closed_by=("kubectl get --raw /a", "kubectl get --raw /b"))
    assert str(gap) == "no A, B: nothing is known; closed by kubectl get --raw /a, and the like for 1 other kind"


def test_what_the_commands_print_closes_all_gaps_for_missing_kinds(tmp_path: Path) -> None:
    given = ("place", "data/small.yaml", "--snapshot", "data/two-nodes.yaml", "-o", "json")
    gaps = [gap for gap in place(*given).fidelity.gaps if gap.closed_by]
    assert gaps
    more: list[str] = []
    for gap in gaps:
        kinds = gap.what.removeprefix("the snapshot holds no ").split(", ")
        for kind, command in zip(kinds, gap.closed_by, strict=True):
            file = tmp_path / f"{kind}.json"
            file.write_text(json.dumps(answered(command, kind)))
            more += ["--snapshot", str(file)]
    assert [gap for gap in place(*given, *more).fidelity.gaps if gap.closed_by] == []


def place(*words: str) -> PlaceResult:
    ran = run(*words)
    return msgspec.json.decode(ran.out, type=PlaceResult)


def test_beside_extenders_an_update_takes_its_steps_at_once_which_is_a_gap() -> None:
    session = cast("Session", SimpleNamespace(setup=SimpleNamespace(extenders=object())))
    rollouts = [cast("Rollout", SimpleNamespace(name="Deployment shop/web"))]
    new = PodToSchedule(pod("web-1"), owner="Deployment shop/web")
    (gap,) = update_time_gaps(session, [new, PodToSchedule(pod("other"))], rollouts)
    assert gap.pods == ("default/web-1",)
    assert not list(update_time_gaps(session, [new], []))


@pytest.mark.parametrize("timeline", [False, True])
def test_an_update_takes_its_time_beside_groups(timeline: bool) -> None:
    result = kwhatif.place(
        "samples/gate/head/shop/web.yaml",
        snapshot="samples/gate/snapshot.json",
        kubernetes_version="1.36",
        timeline=timeline,
        feature_gates={"GenericWorkload": True, "GangScheduling": True},
    )
    assert not [gap for gap in result.fidelity.gaps if "an update takes its steps at once" in gap.what]
