from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kwhatif.framework.status import Code, Rejection, Status, Verdicts


def says(
    reason: str,
    *places: int,
    size: int = 4,
    hopeless: bool | tuple[int, ...] = False,
    detail: Callable[[int], str] | None = None,
) -> Rejection:
    """A reason that holds for some of the nodes."""
    where = np.isin(np.arange(size), places)
    unresolvable = hopeless if isinstance(hopeless, bool) else np.isin(np.arange(size), hopeless)
    return Rejection(where, reason, unresolvable, detail)


def test_without_rejections_every_node_passes() -> None:
    verdicts = Verdicts(3)
    verdicts.take("Quiet", [])
    assert verdicts.feasible.tolist() == [True] * 3
    assert [verdicts.status(place) for place in range(3)] == [None] * 3
    assert verdicts.histogram() == {}


def test_the_first_plugin_to_reject_a_node_names_it() -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("one", 0, 1)])
    verdicts.take("Second", [says("two", 1, 2)])
    assert verdicts.status(0) == Status(Code.UNSCHEDULABLE, ("one",), "First")
    assert verdicts.status(1) == Status(Code.UNSCHEDULABLE, ("one",), "First")
    assert verdicts.status(2) == Status(Code.UNSCHEDULABLE, ("two",), "Second")
    assert verdicts.feasible.tolist() == [False, False, False, True]
    assert verdicts.histogram() == {"one": 2, "two": 1}


def test_all_reasons_of_that_plugin_count() -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("one", 0, 1), says("another", 1)])
    assert verdicts.status(1) == Status(Code.UNSCHEDULABLE, ("one", "another"), "First")
    assert verdicts.histogram() == {"one": 2, "another": 1}


def test_a_reason_two_plugins_give_is_counted_together() -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("same", 0)])
    verdicts.take("Second", [says("same", 0, 1, 2)])
    assert verdicts.histogram() == {"same": 3}


@pytest.mark.parametrize(
    ("rejections", "hopeless"),
    [
        pytest.param([says("no", 0, 1)], [], id="evicting might help"),
        pytest.param([says("no", 0, 1, hopeless=True)], [0, 1], id="evicting cannot help"),
        pytest.param([says("no", 0, 1, hopeless=(1,))], [1], id="it depends on the node"),
        pytest.param([says("no", 0, 1), says("never", 1, hopeless=True)], [1], id="one hopeless reason is enough"),
        pytest.param([says("no", 0, hopeless=(0, 3))], [0], id="what is said of other nodes is not heard"),
    ],
)
def test_whether_evicting_might_help(rejections: list[Rejection], hopeless: list[int]) -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", rejections)
    assert np.flatnonzero(verdicts.unresolvable).tolist() == hopeless
    codes = {place: status.code for place in range(4) if (status := verdicts.status(place)) is not None}
    assert all((code is Code.UNRESOLVABLE) == (place in hopeless) for place, code in codes.items())


def test_a_later_plugin_cannot_make_a_node_hopeless() -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("no", 0)])
    verdicts.take("Second", [says("never", 0, 1, hopeless=True)])
    assert verdicts.unresolvable.tolist() == [False, True, False, False]


def test_verdicts_about_some_rows_take_the_place_of_earlier_ones() -> None:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("one", 0, 1, hopeless=True)])
    verdicts.take("Second", [says("two", 2)])
    other = Verdicts(3)
    other.take("Third", [says("three", 0, 2, size=3, hopeless=(2,), detail=lambda place: f"at {place}")])
    verdicts.overlay(np.array([1, 2, 3], np.intp), other)
    assert [verdicts.status(place) for place in range(4)] == [
        Status(Code.UNRESOLVABLE, ("one",), "First"),
        Status(Code.UNSCHEDULABLE, ("three",), "Third"),
        None,
        Status(Code.UNRESOLVABLE, ("three",), "Third"),
    ]
    assert verdicts.histogram() == {"one": 1, "three": 2}
    (third,) = [blocker for blocker in verdicts.blockers if blocker.plugin == "Third"]
    assert third.rejection.detail is not None
    assert [third.rejection.detail(row) for row in (1, 3)] == ["at 0", "at 2"]
