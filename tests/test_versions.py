"""Which rules a minor has: versions in all spellings, gates as kube-scheduler takes and refuses them, the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kwhatif.errors import UsageError
from kwhatif.policy.in_tree import in_tree
from kwhatif.versions import (
    DEFAULT_MINOR,
    LEGACY_MINOR,
    SUPPORTED_MINORS,
    features_of,
    minor_of,
    nearest_minor,
    parse_gates,
    rows,
    unread_gates,
)
from kwhatif.versions.gate_stages import DEPENDENCIES, GATES
from kwhatif.versions.gates import stage_of, stages
from kwhatif.versions.minors import number_of
from kwhatif.versions.rule import AREAS
from kwhatif.versions.rules.v1_22 import RulesOf122

PACKAGE = Path(__file__).parents[1] / "kwhatif"
RIPENESS = ("alpha", "beta", "ga", "deprecated", "gone")


# --- versions


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("1.34", "1.34"),
        ("v1.34", "1.34"),
        ("v1.34.2", "1.34"),
        ("1.34.2+k3s1", "1.34"),
        ("v1.33.1-eks-abc", "1.33"),
        ("v1.30.5-gke.1014001", "1.30"),
        ("1.31+", "1.31"),
        ("v1.36.0-alpha.1.23+0123abcd", "1.36"),
        (" 1.29 ", "1.29"),
        ("1.034", "1.34"),
    ],
)
def test_the_minor_of_a_version(version: str, minor: str) -> None:
    assert minor_of(version) == minor


@pytest.mark.parametrize(
    "version", ["", "1", "v1", "one.two", "1.x", "1.34.x", "34", "v", "1.34 beta", "1." + "9" * 5000]
)
def test_what_is_no_version_is_a_usage_error(version: str) -> None:
    with pytest.raises(UsageError, match=r"expected one such as 1\.34, v1\.34\.2 or 1\.34\.2\+k3s1"):
        minor_of(version)


@pytest.mark.parametrize(
    ("minor", "found"),
    [("1.9", "1.29"), ("1.28", "1.29"), ("1.29", "1.29"), ("1.99", DEFAULT_MINOR), ("2.0", DEFAULT_MINOR)],
)
def test_the_nearest_supported_minor(minor: str, found: str) -> None:
    assert nearest_minor(minor) == found


def test_there_are_rows_for_the_legacy_minor_though_it_is_not_supported() -> None:
    assert LEGACY_MINOR not in SUPPORTED_MINORS
    assert features_of(LEGACY_MINOR).minor == LEGACY_MINOR


def test_a_minor_that_is_not_supported_is_a_usage_error() -> None:
    with pytest.raises(
        UsageError, match=rf"Kubernetes 1\.28 is not supported; supported versions: 1\.29 to {re.escape(DEFAULT_MINOR)}"
    ):
        features_of("1.28")


# --- gates


def test_gates_are_read_as_from_the_flag_and_later_ones_win() -> None:
    assert parse_gates(["A=true, B=false,", "C=1,A=F"]) == {"A": False, "B": False, "C": True}
    assert parse_gates([]) == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A", "feature gate A: expected A=true or A=false"),
        ("A=yes", "feature gate A: found 'yes', expected true or false"),
        ("A=", "feature gate A: found '', expected true or false"),
    ],
)
def test_gates_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gates([text])
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("minor", "gate", "value", "problem"),
    [
        pytest.param(
            "1.36",
            "NodeDeclaredFeature",
            True,
            "unrecognized feature gate: NodeDeclaredFeature: Kubernetes 1.36 has none of that name; did you "
            "mean NodeDeclaredFeatures?",
            id="a name with a mistake",
        ),
        pytest.param(
            "1.36",
            "Xyz",
            True,
            "unrecognized feature gate: Xyz: Kubernetes 1.36 has none of that name",
            id="a name like no other",
        ),
        pytest.param(
            "1.32",
            "StorageCapacityScoring",
            True,
            "unrecognized feature gate: StorageCapacityScoring: Kubernetes 1.32 has none of that name yet: it came "
            "with 1.33",
            id="a gate of a later minor",
        ),
        pytest.param(
            "1.34",
            "PodDisruptionConditions",
            True,
            "unrecognized feature gate: PodDisruptionConditions: Kubernetes 1.34 has none of that name any more: what "
            "it guarded is always on",
            id="a gate that was removed after it had won",
        ),
        pytest.param(
            "1.33",
            "VolumeCapacityPriority",
            True,
            "unrecognized feature gate: VolumeCapacityPriority: Kubernetes 1.33 has none of that name any more: what "
            "it guarded is gone",
            id="a gate that was removed with what it guarded",
        ),
        pytest.param(
            "1.35",
            "InPlacePodVerticalScaling",
            False,
            "cannot set feature gate InPlacePodVerticalScaling to false, feature is locked to true in Kubernetes 1.35",
            id="a locked gate",
        ),
        pytest.param(
            "1.35",
            "GangScheduling",
            True,
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            id="a gate that needs another",
        ),
    ],
)
def test_gates_that_kube_scheduler_refuses(minor: str, gate: str, value: bool, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        features_of(minor, {gate: value})
    assert str(caught.value) == problem


def test_a_locked_gate_may_be_set_to_what_it_is_and_needs_were_not_checked_before() -> None:
    assert features_of("1.35", {"InPlacePodVerticalScaling": True}).in_place_pod_vertical_scaling
    assert not features_of("1.34", {"DynamicResourceAllocation": False}).dynamic_resource_allocation


def test_gates_that_are_set_change_their_own_rows_alone() -> None:
    plain, changed = features_of("1.33"), features_of("1.33", {"StorageCapacityScoring": True})
    assert [name for name in rows() if getattr(plain, name) != getattr(changed, name)] == ["storage_capacity_scoring"]
    assert (str(plain), str(changed)) == ("1.33", "1.33 with StorageCapacityScoring=true")


def test_all_gates_of_a_kind_can_be_set_and_single_ones_go_before() -> None:
    alpha = features_of("1.33", {"AllAlpha": True})
    assert alpha.storage_capacity_scoring
    assert alpha.pod_level_resources
    assert not features_of("1.33", {"AllAlpha": True, "PodLevelResources": False}).pod_level_resources
    assert not features_of("1.33", {"AllBeta": False}).scheduler_pop_from_backoff_q


def test_gates_that_nothing_here_reads_are_told() -> None:
    gates = {"StorageCapacityScoring": True, "ImageVolume": True, "AllAlpha": False, "CPUManagerPolicyOptions": True}
    assert unread_gates(gates) == ["CPUManagerPolicyOptions", "ImageVolume"]


# --- the table


@pytest.mark.parametrize(
    ("gate", "since_on"),
    [
        ("SidecarContainers", "1.29"),
        ("SchedulerQueueingHints", "1.32"),
        ("InPlacePodVerticalScaling", "1.33"),
        ("SchedulerPopFromBackoffQ", "1.33"),
        ("DynamicResourceAllocation", "1.34"),
        ("PodLevelResources", "1.34"),
        ("VolumeAttributesClass", "1.34"),
        ("DRAExtendedResource", "1.36"),
        ("NodeDeclaredFeatures", "1.36"),
        ("StorageCapacityScoring", "never"),
    ],
)
def test_since_when_a_gate_is_on(gate: str, since_on: str) -> None:
    (name,) = (name for name, row in rows().items() if row.gate == gate)
    on = [minor for minor in SUPPORTED_MINORS if getattr(features_of(minor), name)]
    assert on == list(SUPPORTED_MINORS[SUPPORTED_MINORS.index(since_on) :] if since_on != "never" else ())


def test_stages_of_gates_are_in_order_and_say_what_they_are() -> None:
    for gate in GATES:
        numbers = [tuple(map(int, stage.since.split("."))) for stage in stages(gate)]
        assert numbers == sorted(set(numbers)), gate
        assert {stage.ripeness for stage in stages(gate)} <= set(RIPENESS), gate
    needed = {name.partition(" ")[0] for names in DEPENDENCIES.values() for name in names.split(", ")}
    assert set(DEPENDENCIES) | needed <= set(GATES)


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_what_kube_scheduler_starts_with_agrees_with_itself(minor: str) -> None:
    known = {gate: stage.on for gate in GATES if (stage := stage_of(gate, minor)) and stage.ripeness != "gone"}
    assert features_of(minor, known).gates == tuple(sorted(known.items()))


def test_rows_are_of_gates_that_exist_or_of_known_minors() -> None:
    for name, row in rows().items():
        if row.gate:
            assert row.gate in GATES, name
            assert not row.since + row.until
        else:
            assert row.since or row.until, name
            for minor in {row.since, row.until} - {""}:
                assert number_of(LEGACY_MINOR) < number_of(minor) <= number_of(DEFAULT_MINOR), name
        assert row.what[-1] not in ".,;", name


def test_every_row_says_whose_it_is() -> None:
    minors = (*SUPPORTED_MINORS, LEGACY_MINOR)
    plugins = {name for minor in minors for name in in_tree(features_of(minor)).points}
    for name, row in rows().items():
        assert row.whose, name
        assert set(row.whose) <= plugins or (row.whose[0] in AREAS and len(row.whose) == 1), name


def test_what_only_1_22_does_otherwise_is_in_a_table_of_its_own() -> None:
    supported = [features_of(minor) for minor in SUPPORTED_MINORS]
    alike = {name for name, row in rows().items() if not row.gate and len({getattr(f, name) for f in supported}) == 1}
    assert alike == {name for name in vars(RulesOf122) if name in rows()}


@pytest.mark.long
def test_every_row_is_asked_for_somewhere() -> None:
    rules = PACKAGE / "versions" / "rules"
    code = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.parent != rules)
    assert not rows().keys() - set(re.findall(r"\w+", code))


@pytest.mark.long
def test_only_the_table_compares_versions() -> None:
    comparing = re.compile(r"minor\s*(<|>|>=|<=|==|!=)\s*[\"'(]|[\"']1\.\d\d[\"']\s*(<|>)")
    places = [path for path in PACKAGE.rglob("*.py") if comparing.search(path.read_text())]
    assert places == []
    numbers = [path for path in PACKAGE.rglob("*.py") if "number_of" in re.findall(r"\w+", path.read_text())]
    assert {path.parent.name for path in numbers} == {"versions"}


def test_the_page_about_versions_names_the_oldest_and_the_newest() -> None:
    text = (PACKAGE.parent / "docs/reference/kubernetes-versions.md").read_text("utf-8")
    assert f"from {SUPPORTED_MINORS[0]} to {SUPPORTED_MINORS[-1]}" in text
    assert f"The newest minor is `{DEFAULT_MINOR}`" in text
