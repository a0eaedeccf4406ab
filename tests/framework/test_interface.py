from __future__ import annotations

import pytest

from kwhatif.framework.interface import HOOKS, Plugin, WaitingPod, extension_points, overrides
from kwhatif.framework.status import SKIP, Code, Status
from tests.builders import cluster_of, pod
from tests.framework.plugins import create, made_up


def test_extension_points_are_the_hooks_that_are_overridden() -> None:
    plugin = made_up("Some", filter=lambda *_: (), score=lambda *_: None, normalize=lambda *_: None)
    assert extension_points(plugin) == {"filter", "score"}
    assert overrides(plugin, "normalize")
    assert not overrides(plugin, "pre_score")


def test_giving_back_is_part_of_reserving() -> None:
    assert extension_points(made_up("Only", unreserve=lambda *_: None)) == {"reserve"}


def test_points_without_anything_to_do_offline_can_be_declared() -> None:
    plugin = made_up("Declares", filter=lambda *_: ())
    plugin.offline_points = ("preBind",)
    assert extension_points(plugin) == {"filter", "preBind"}


@pytest.mark.parametrize("hook", [*HOOKS.values(), "normalize", "unreserve"])
def test_a_hook_that_is_not_there_cannot_be_called(hook: str) -> None:
    count = getattr(Plugin, hook).__code__.co_argcount - 1
    with pytest.raises(NotImplementedError):
        getattr(create(made_up("Empty")), hook)(*[None] * count)


def test_a_waiting_pod_goes_on_when_nobody_objects_any_more() -> None:
    info = cluster_of([]).shapes.info(pod())
    waiting = WaitingPod(info, "a", 10.0, {"One": 5.0, "Two": 2.0})
    assert waiting.deadline == 12.0
    waiting.allow("Two")
    waiting.allow("Stranger")
    assert waiting.waits == {"One": 5.0}
    assert waiting.deadline == 15.0
    waiting.reject("One", "changed my mind")
    assert waiting.denied == Status(Code.UNSCHEDULABLE, ("changed my mind",), "One")


def test_a_status_reads_as_a_message() -> None:
    assert Status.unschedulable("one", "two").message == "one, two"
    assert Status.unschedulable().message == ""
    assert [status.is_rejected for status in (Status.unschedulable(), Status.unresolvable(), Status.error())] == [
        True,
        True,
        False,
    ]
    assert repr(SKIP) == "SKIP"
    assert str(Code.UNRESOLVABLE) == "UnschedulableAndUnresolvable"
