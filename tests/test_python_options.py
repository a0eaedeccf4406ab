"""What Python programs give is read or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import UsageError
from kwhatif.snapshot.load import load_snapshot

CLUSTER = Path(__file__).parent / "data" / "cluster.json"
PODS = CLUSTER.with_name("small.yaml")
SPACE = Path(__file__).parents[1] / "samples" / "sweep" / "space.yaml"


def test_an_option_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polcy'; did you mean policy\?"):
        kwhatif.place([], snapshot=CLUSTER, polcy="default")  # type: ignore[call-arg]


def test_a_snapshot_is_loaded_by_a_path_as_by_a_list_of_one() -> None:
    one, listed = load_snapshot(str(CLUSTER)), load_snapshot([str(CLUSTER)])
    assert one.by_kind() == load_snapshot(CLUSTER).by_kind() == listed.by_kind()


MESSAGES: dict[str, tuple[Callable[[], object], str]] = {
    "a flag that turns an option off": (
        lambda: kwhatif.place("pods.yaml", snapshot=CLUSTER, recreate=False),
        "recreate=False needs timeline: without it nothing is recreated",
    ),
    "an option with another name on the command line": (
        lambda: kwhatif.outage(["racks"], snapshot=CLUSTER),
        "failures racks: expected nodes, zones or pools",
    ),
    "an option that is repeated on the command line": (
        lambda: kwhatif.upgrade("pool=old", snapshot=CLUSTER, new_labels=["tier"]),
        "new_labels tier: expected KEY=VALUE or KEY-",
    ),
    "two options of one command": (
        lambda: kwhatif.capacity("pods.yaml", snapshot=CLUSTER, limit=1, at_least=3),
        "limit 1 ends the count before at_least 3 can be reached",
    ),
    "options that say where rows are kept": (
        lambda: kwhatif.sweep(PODS, space=SPACE, snapshot=CLUSTER, resume=True),
        "resume needs out: without it no rows are kept",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_for_programs_has_the_names_of_keyword_arguments(name: str) -> None:
    question, message = MESSAGES[name]
    with pytest.raises(UsageError) as error:
        question()
    assert str(error.value) == message
