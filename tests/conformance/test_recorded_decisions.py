"""Decisions recorded from real kube-schedulers, replayed: every field of every attempt has to agree.

The files hold one scenario a line in the format of ``docs/contributing/conformance.md``; their names begin with the
minor. Those
of minors before the newest hold a few scenarios of each family, which come out otherwise by the next minor's rules.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.commands.conformance.compare import Tally
from kwhatif.commands.conformance.result import FileAgreement
from kwhatif.commands.conformance.scenario_files import pods_in, read_scenarios, replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.versions import LEGACY_MINOR, SUPPORTED_MINORS, features_of

HERE = Path(__file__).parent
FAMILIES = (
    *(
        "dra",
        "draext",
        "images",
        "mixed",
        "nodeaffinity",
        "podaffinity",
        "ports",
        "preemption",
        "profiles",
        "resources",
    ),
    *("sampling", "topologyspread", "volumes", "edges"),
    *("ties-batching", "ties-plain", "ties-sampling"),
)


NEWEST = "1.36"
"""The newest minor with recordings, which are many; each before it has some."""
OLDER = SUPPORTED_MINORS[: SUPPORTED_MINORS.index(NEWEST)]
OLDER_DEVICES = ("1.34", "1.35")
"""Minors before the newest with recordings of device claims."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_agrees_with_the_recording(family: str) -> None:
    found = agreement(f"{NEWEST}-{family}", NEWEST)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios >= 10


@pytest.mark.parametrize("minor", OLDER)
def test_every_field_agrees_with_the_recording_of_an_older_minor(minor: str) -> None:
    found = agreement(f"{minor}-selected", minor)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 8


def test_every_field_agrees_with_the_recording_of_legacy_policies() -> None:
    found = agreement(f"{LEGACY_MINOR}-selected", LEGACY_MINOR)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 10


def test_translated_policies_decide_otherwise_now_and_then() -> None:
    found = agreement(f"{LEGACY_MINOR}-selected", NEWEST)
    assert found.agreeing < found.compared == 10


@pytest.mark.parametrize("minor", OLDER_DEVICES)
def test_every_field_agrees_with_the_recording_of_device_claims(minor: str) -> None:
    found = agreement(f"{minor}-dra", minor)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 8


@pytest.mark.parametrize("minor", OLDER)
def test_an_older_minors_decisions_are_not_those_of_the_newest(minor: str) -> None:
    assert agreement(f"{minor}-selected", NEWEST, skip_unknown=True).agreeing < 8


def agreement(name: str, minor: str, *, skip_unknown: bool = False) -> FileAgreement:
    path = str(HERE / f"{name}.jsonl.gz")
    tally, features = Tally(path, show=3), features_of(minor)
    for where, scenario in read_scenarios(path):
        got = replay_scenario(scenario, source=where, features=features, skip_unknown=skip_unknown)
        partly = isinstance(scenario, SchedulerScenario) and scenario.ties is not None
        tally.add(scenario.name, scenario.expected, got, pods=pods_in(scenario), partly=partly)
    return tally.result()


@pytest.mark.parametrize("path", sorted((HERE / "autoscaler").glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_every_field_agrees_with_the_recording_of_an_autoscaler(path: Path) -> None:
    found = agreement(f"autoscaler/{path.name.removesuffix('.jsonl.gz')}", NEWEST)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 15


@pytest.mark.parametrize("path", sorted((HERE / "karpenter").glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_every_field_agrees_with_the_recording_of_karpenter(path: Path) -> None:
    found = agreement(f"karpenter/{path.name.removesuffix('.jsonl.gz')}", NEWEST)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 12


@pytest.mark.parametrize("path", sorted((HERE / "groups").glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_every_field_agrees_with_the_recording_of_groups_of_pods(path: Path) -> None:
    found = agreement(f"groups/{path.name.removesuffix('.jsonl.gz')}", NEWEST)
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 12


def test_of_every_minor_there_are_recordings() -> None:
    if SUPPORTED_MINORS[-1] != NEWEST:
        pytest.skip(f"no decisions of kube-scheduler {SUPPORTED_MINORS[-1]} are recorded: its rules are not compared")


def test_every_recording_is_replayed() -> None:
    names = [f"{NEWEST}-{family}" for family in FAMILIES] + [f"{minor}-selected" for minor in OLDER]
    names += [f"{minor}-dra" for minor in OLDER_DEVICES] + [f"{LEGACY_MINOR}-selected"]
    # Those of scheduler-plugins, of groups and of the descheduler have tests of their own.
    found = [path.name.removesuffix(".jsonl.gz") for path in HERE.glob("*.gz") if "-schedplugins-" not in path.name]
    assert sorted(found) == sorted(names)
