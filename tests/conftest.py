"""What all tests share: how hypothesis runs, and clusters that count as large.

Runs are deterministic. ``HYPOTHESIS_PROFILE=thorough`` looks further, with other examples every time, and ``quick``
not as far, for those who run the tests over and over again.
"""

from __future__ import annotations

import gc
import os
import time
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

from kwhatif import clock
from kwhatif.scheduling import node_sampling as sampling

settings.register_profile(
    "default",
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.register_profile("quick", settings.get_profile("default"), max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
"""What time it is for all tests, on any day."""

clock.seconds_since_1970 = NOW.timestamp

# Thousands of tests are there from the first to the last: nothing of them is looked through for garbage, be it while
# they are collected or while they run, and neither is what is kept from one test for others. Between tests, where most
# of what was made is garbage, is the time to collect it. All of that takes a fourth off.
gc.disable()
LARGEST_HEAP = 200_000
"""How many objects are made before they are looked through."""


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(5 * LARGEST_HEAP)
    gc.enable()


def pytest_runtest_logfinish() -> None:
    made, collected, _ = gc.get_count()
    if made > LARGEST_HEAP or collected:
        gc.collect()
        gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write anew what is printed, to be read")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files and the examples of documents are written anew."""
    return bool(request.config.getoption("--update-golden", default=False))


@pytest.fixture(params=[pytest.param(sampling.MIN_FEASIBLE_NODES_TO_FIND, id="small"), pytest.param(2, id="large")])
def cluster_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For laws that hold in small clusters and in large ones, of which a scheduler looks at some nodes only.

    To be large takes a hundred nodes, or here two.
    """
    monkeypatch.setattr(sampling, "MIN_FEASIBLE_NODES_TO_FIND", request.param)


@pytest.fixture
def real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what compares the time with that of files, which the kernel writes down.

    It is asked for its time, since that of Python is ahead where .ci/elsewhere.py says so.
    """
    monkeypatch.setattr(clock, "seconds_since_1970", lambda: time.clock_gettime(time.CLOCK_REALTIME))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if os.name != "posix" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="Windows has no such thing"))
