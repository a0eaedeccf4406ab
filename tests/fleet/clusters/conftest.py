"""Clusters on this machine, with two workers each. Where Dask or Ray is missing these tests are skipped, and say so.

Another run of tests does without them even where they are installed: they take half a minute.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

NEEDED = ("distributed", "optuna", "pyarrow", "ray", "scipy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    why = f"no {', no '.join(missing)}: make test-fleet installs it" if missing else "make test-fleet runs them"
    for item in items:
        if (missing or "KWHATIF_TEST_FLEET" not in os.environ) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def dask() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address.replace("tcp", "dask")


@pytest.fixture(scope="session")
def ray() -> Iterator[str]:
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield "ray"
    ray.shutdown()


@pytest.fixture(params=["dask", "ray"])
def on(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param)
    return address
