"""Whatever stands in a file: what cannot be loaded has an error, and looking at it never fails."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.commands.snapshot.validate.validate import validate
from kwhatif.errors import InputError
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import Session
from kwhatif.snapshot.load import load_snapshot
from tests.builders import FEATURES

pytestmark = pytest.mark.long

DATA = Path(__file__).parents[3] / "data"
SOUND = json.loads((DATA / "cluster.json").read_text())
SETUP = Setup(default_configuration(), FEATURES)

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "1", "-1", "1Gi", "ant-1", "In", "nobody", "2026-01-01T00:00:00Z"]),
    st.just([]), st.just({}), st.just([{}]), st.just({"metadata": {"name": "a"}}), st.just([None]),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in items for inner in places(item, (*path, key)))]


PLACES = places(SOUND)[1:]


@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=3))
def test_what_cannot_be_loaded_has_an_error(edits: list[tuple[tuple[Any, ...], Any]]) -> None:
    broken = copy.deepcopy(SOUND)
    for path, odd in edits:
        _put(broken, path, odd)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "broken.json"
        file.write_text(json.dumps(broken))
        result = validate([str(file)], FEATURES)
        assert result.errors or _loads(str(file))
    assert all(finding.message and finding.message == finding.message.strip() for finding in result.findings)
    assert result.exit_code == (1 if result.errors else 0)


def _loads(file: str) -> bool:
    try:
        Session(load_snapshot([file]), SETUP)
    except InputError:
        return False
    return True


def _put(value: Any, path: tuple[Any, ...], odd: Any) -> None:
    """Replace what stands at a path, as far as an earlier edit left it there."""
    *way, last = path
    for key in way:
        value = value[key] if _has(value, key) else None
    if _has(value, last):
        value[last] = odd


def _has(value: Any, key: Any) -> bool:
    if isinstance(key, str):
        return isinstance(value, dict) and key in value
    return isinstance(value, list) and key < len(value)
