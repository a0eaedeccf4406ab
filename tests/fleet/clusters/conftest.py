"""Clusters on this machine, with two workers each. Where Dask or Ray is missing these tests are skipped, and say so.

Another run of tests does without them even where they are installed: they take half a minute.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

NEEDED = ("distributed", "optuna", "pyarrow", "ray", "scipy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    why = f"no {', no '.join(missing)}: make test-fleet installs it" if missing else "make test-fleet runs them"
    for item in items:
        if (missing or "KWHATIF_TEST_FLEET" not in os.environ) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=why))
