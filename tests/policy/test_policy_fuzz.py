"""Whatever a file says, the outcome is a configuration or a refusal in one line; never anything else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwhatif.errors import PolicyError
from kwhatif.policy import as_yaml, expand, load_configuration
from kwhatif.policy.in_tree import in_tree
from kwhatif.versions import features_of

SAMPLE: Any = yaml.safe_load((Path(__file__).parent / "golden" / "custom.in.yaml").read_text())
WORDS = st.sampled_from(["", "a", "*", "default-scheduler", "NodeResourcesFit", "List", "0s", "-1h", "\n", "é\x00"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.none() | st.integers(0, 3) | st.booleans(), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside ``value``."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


PLACES = places(SAMPLE)


def outcome(document: Any) -> str:
    try:
        configuration = load_configuration(document, source="f.yaml")
        for profile in configuration.profiles:
            expand(profile, in_tree(features_of()).points.get)
    except PolicyError as error:
        said = str(error)
    else:
        said = "".join(configuration.warnings)
        as_yaml(configuration)
    assert said.isprintable()
    return said


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JUNK)
def test_junk_is_refused(document: Any) -> None:
    assert document is None or outcome(document).startswith("f.yaml: ")


@pytest.mark.long
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES[1:]), JUNK, st.booleans())
def test_junk_anywhere_in_a_good_file_is_taken_or_refused(path: tuple[Any, ...], junk: Any, beside: bool) -> None:
    document = copy.deepcopy(SAMPLE)
    *way, last = path
    parent = document
    for key in way:
        parent = parent[key]
    if beside and isinstance(parent, dict):
        parent[f"{last}x"] = junk
    else:
        parent[last] = junk
    outcome(document)
