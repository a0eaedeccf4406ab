"""What becomes of a place that was kept for a pod."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.whatif.place.place import place
from tests.builders import Json, node, pod
from tests.whatif.sessions import asking, session_of

NEVER: Json = {"preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            pod("first", cpu="4", priority=5, nominated="a"), "a", id="others may have it once nothing would help"
        ),
        pytest.param(
            pod("first", cpu="4", priority=5, nominated="a", spec=NEVER), "", id="unless nobody looked for help"
        ),
        pytest.param(pod("first", cpu="2", priority=5, nominated="a"), "", id="it is taken"),
    ],
)
def test_a_place_kept_for_a_pod(first: Pod, second: str) -> None:
    asked = asking(first, pod("second", cpu="2"))
    result = place(session_of([node("a", cpu="2")], [item.pod for item in asked]), asked)
    assert {p.pod: p.node for p in result.placements}["default/second"] == second
