"""What Python programs give is read or refused."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.api_options import AutoscaledKeywords
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import ManifestOptions, SchedulerOptions
from kwhatif.snapshot.load import load_snapshot

CLUSTER = Path(__file__).parent / "data" / "cluster.json"


def test_an_option_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polcy'; did you mean policy\?"):
        kwhatif.place([], snapshot=CLUSTER, polcy="default")  # type: ignore[call-arg]


def test_a_snapshot_is_loaded_by_a_path_as_by_a_list_of_one() -> None:
    one, listed = load_snapshot(str(CLUSTER)), load_snapshot([str(CLUSTER)])
    assert one.by_kind() == load_snapshot(CLUSTER).by_kind() == listed.by_kind()


@pytest.mark.parametrize("group", [ManifestOptions, SchedulerOptions])
def test_what_the_command_line_offers_is_a_keyword_argument_of_the_same_name(group: type) -> None:
    keywords = {*AutoscaledKeywords.__annotations__, *inspect.signature(kwhatif.place).parameters}
    assert {field for field, _, _ in flags_of(group)} - keywords == set()
