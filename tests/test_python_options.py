"""What Python programs give is read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.snapshot.load import load_snapshot

CLUSTER = Path(__file__).parent / "data" / "cluster.json"


def test_an_option_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polcy'; did you mean policy\?"):
        kwhatif.place([], snapshot=CLUSTER, polcy="default")  # type: ignore[call-arg]


def test_a_snapshot_is_loaded_by_a_path_as_by_a_list_of_one() -> None:
    one, listed = load_snapshot(str(CLUSTER)), load_snapshot([str(CLUSTER)])
    assert one.by_kind() == load_snapshot(CLUSTER).by_kind() == listed.by_kind()
