"""Documents of the shapes that upstream's documentation shows, in every format there was, load."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.errors import PolicyError
from kwhatif.policy import SchedulerConfiguration, expand
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.legacy_formats import legacy_format
from kwhatif.policy.render import as_document, convert_configuration
from kwhatif.simulation.policy_file import read_policy
from kwhatif.versions import LEGACY_MINOR, SUPPORTED_MINORS, features_of

DATA = Path(__file__).parent / "data"
FILES = sorted(path.name for path in DATA.iterdir())
OUTSIDE = {"Coordinating": ("queueSort",), "DefaultQueueSort": (), "MyCustomPluginA": ("score",)}
OUTSIDE |= {"prepares-scores": ("preScore",), "reserves": ("reserve",)}


def loaded(name: str, minor: str = "") -> SchedulerConfiguration:
    document, source, _ = read_policy(str(DATA / name))
    natural = LEGACY_MINOR if legacy_format(document) else SUPPORTED_MINORS[-1]
    return load_configuration(document, source=source, features=features_of(minor or natural))


def scores(configuration: SchedulerConfiguration, minor: str = LEGACY_MINOR) -> dict[str, int]:
    known = {**in_tree(features_of(minor)).points, **OUTSIDE}
    return {ref.name: ref.weight for ref in expand(configuration.profiles[0], known.get)["score"]}


def test_there_is_a_document_of_every_format() -> None:
    formats = {"v1-", "v1alpha1-", "v1alpha2-", "v1beta1-", "v1beta2-", "v1beta3-", "policy-", "config-"}
    assert {name.partition("-")[0] + "-" for name in FILES} == formats


@pytest.mark.parametrize("name", FILES)
def test_a_documented_configuration_loads_and_its_profiles_can_be_built(name: str) -> None:
    configuration = loaded(name)
    minor = SUPPORTED_MINORS[-1] if configuration.api_version == "v1" else LEGACY_MINOR
    known = {**in_tree(features_of(minor)).points, **OUTSIDE}
    for profile in configuration.profiles:
        assert expand(profile, known.get)["bind"]


@pytest.mark.parametrize("name", FILES)
def test_what_is_shown_of_it_can_be_read_again(name: str) -> None:
    before = loaded(name)
    minor = SUPPORTED_MINORS[-1] if before.api_version == "v1" else LEGACY_MINOR
    after = load_configuration(as_document(before), source="", features=features_of(minor))
    assert after.profiles == before.profiles


@pytest.mark.parametrize("minor", [SUPPORTED_MINORS[0], SUPPORTED_MINORS[-1]])
@pytest.mark.parametrize("name", FILES)
def test_it_can_be_converted_and_the_result_is_accepted(name: str, minor: str) -> None:
    document, source, _ = read_policy(str(DATA / name))
    features = features_of(minor)
    conversion = convert_configuration(document, source=source, features=features)
    again = load_configuration(conversion.document, source="", features=features)
    known = {**in_tree(features).points, **OUTSIDE}
    for profile in again.profiles:
        assert expand(profile, known.get)["queueSort"]
    assert [p.scheduler_name for p in again.profiles] == [p.scheduler_name for p in loaded(name).profiles]
    if legacy_format(document):
        assert set(conversion.lost) <= set(conversion.changes)
        assert loaded(name, minor).lost == conversion.lost


# --- whatever is written in them


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a document."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(item, (*path, key))


LEGACY_DOCUMENTS = [found for name in FILES if legacy_format(found := read_policy(str(DATA / name))[0])]
JUNK = [None, 3, -1, True, "x", "", [], {}, [3], {"a": 1}, [None], 1.5, 10**30, {"enabled": [3], "disabled": "x"}]


@pytest.mark.long
@settings(max_examples=settings().max_examples * 3)
@given(st.data())
def test_a_document_with_something_wrong_in_it_is_read_or_refused(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(LEGACY_DOCUMENTS)))
    ways = [way for way in places(document) if way[0] not in ("apiVersion", "kind")]
    *way, last = data.draw(st.sampled_from(ways))
    inner = document
    for step in way:
        inner = inner[step]
    inner[last] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    for minor in (LEGACY_MINOR, SUPPORTED_MINORS[-1]):
        with suppress(PolicyError):
            load_configuration(document, source="", features=features_of(minor))


# --- single documents


def test_the_manuals_policy_scores_by_three_plugins_and_no_others() -> None:
    configuration = loaded("policy-of-the-manual.json")
    weights = {"NodeResourcesLeastAllocated": 1, "NodeResourcesBalancedAllocation": 1, "PodTopologySpread": 1}
    assert scores(configuration) == weights


def test_the_autoscalers_provider_packs_and_v1alpha1s_fields_find_their_places() -> None:
    configuration = loaded("v1alpha1-autoscaler.yaml")
    (profile,) = configuration.profiles
    assert "NodeResourcesMostAllocated" in scores(configuration)
    assert "NodeResourcesLeastAllocated" not in scores(configuration)
    assert profile.args_of("InterPodAffinity").hard_pod_affinity_weight == 20
    assert profile.args_of("VolumeBinding").bind_timeout_seconds == 300
    assert configuration.percentage_of_nodes_to_score == 40
    points = {point: [ref.name for ref in found.enabled] for point, found in profile.plugins.items()}
    assert "DefaultPreemption" not in points.get("postFilter", [])
    assert points["preScore"][-1] == "prepares-scores"
    assert points["reserve"] == ["VolumeBinding", "reserves"]


def test_names_older_than_1_22_are_understood_and_said_so() -> None:
    configuration = loaded("policy-of-1.11.json")
    (profile,) = configuration.profiles
    filters = [ref.name for ref in profile.plugins["filter"].enabled]
    assert filters == ["NodeUnschedulable", "NodeName", "TaintToleration", "NodeVolumeLimits", "VolumeBinding"]
    assert scores(configuration) == {"NodeResourceLimits": 2}
    assert len(configuration.warnings) == 9


def test_extenders_of_a_policy_have_timeouts_in_nanoseconds_and_keys_in_any_case() -> None:
    (extender,) = loaded("policy-with-managed-resources.json").extenders
    assert (str(extender.http_timeout), extender.enable_https) == ("30s", True)
    (profile,) = loaded("policy-with-managed-resources.json").profiles
    assert profile.args_of("NodeResourcesFit").ignored_resources == ("example.com/opaque-int",)


def test_custom_priorities_of_one_kind_share_a_plugin_whose_weight_counts_each() -> None:
    configuration = loaded("policy-with-arguments.json")
    (profile,) = configuration.profiles
    assert scores(configuration) == {"NodeLabel": 6, "ServiceAffinity": 4}
    labels = profile.args_of("NodeLabel")
    assert (labels.present_labels, labels.absent_labels) == (("zone",), ("retiring",))
    assert (labels.present_labels_preference, labels.absent_labels_preference) == (("fast",), ("old",))
    services = profile.args_of("ServiceAffinity")
    assert services.affinity_labels == ("region", "zone")
    assert services.anti_affinity_labels_preference == ("rack", "zone")


def test_weights_of_resources_beyond_100_are_scaled_down_by_a_conversion() -> None:
    document, source, _ = read_policy(str(DATA / "policy-bin-packing.yaml"))
    conversion = convert_configuration(document, source=source, features=features_of())
    (profile,) = load_configuration(conversion.document, source="").profiles
    strategy = profile.args_of("NodeResourcesFit").scoring_strategy
    assert strategy.type == "RequestedToCapacityRatio"
    assert [(spec.name, spec.weight) for spec in strategy.resources] == [("intel.com/foo", 1), ("intel.com/bar", 100)]
    assert "weights of resources were scaled down from 300 to 100 at most" in conversion.changes
