"""What holds for every cycle, whatever the policy: checked on the recorded clusters with made-up limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.commands.conformance.descheduler_answers import DeschedulerScenario, descheduler_answer
from kwhatif.commands.conformance.scenario_files import read_scenarios

RECORDED = Path(__file__).parents[1] / "conformance" / "descheduler"


@cache
def scenarios() -> tuple[DeschedulerScenario, ...]:
    """The recorded cycles in which somebody was evicted."""
    return tuple(_busy())


def _busy() -> Iterator[DeschedulerScenario]:
    for family in ("mixed", "duplicates", "lownode"):
        for _, scenario in read_scenarios(str(RECORDED / f"0.35-{family}.jsonl.gz")):
            assert isinstance(scenario, DeschedulerScenario)
            if scenario.expected is not None and scenario.expected.evictions:
                yield scenario


LIMITS = st.none() | st.integers(0, 4)


@given(st.data(), LIMITS, LIMITS, LIMITS)
def test_no_limit_is_ever_passed(data: st.DataObject, total: int | None, node: int | None, space: int | None) -> None:
    scenario = data.draw(st.sampled_from(scenarios()))
    limits = {
        "maxNoOfPodsToEvictTotal": total,
        "maxNoOfPodsToEvictPerNode": node,
        "maxNoOfPodsToEvictPerNamespace": space,
    }
    kept = {key: value for key, value in scenario.policy.items() if key not in limits}
    policy = {**kept, **{key: value for key, value in limits.items() if value is not None}}
    answer = descheduler_answer(replace(scenario, policy=policy))
    evictions = answer["evictions"]
    assert total is None or len(evictions) <= total
    assert node is None or max(Counter(each["node"] for each in evictions).values(), default=0) <= node
    spaces = Counter(each["pod"].partition("/")[0] for each in evictions)
    assert space is None or max(spaces.values(), default=0) <= space
    assert len({each["pod"] for each in evictions}) == len(evictions)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_a_pod_that_every_profile_protects_is_never_evicted(scenario: DeschedulerScenario) -> None:
    answer = descheduler_answer(scenario)
    for eviction in answer["evictions"]:
        reasons = answer["protected"][eviction["profile"]].get(eviction["pod"], [])
        # Evictions change how many replicas there are and where there is room; nothing else.
        assert all("replicas" in reason or "does not fit" in reason for reason in reasons)
