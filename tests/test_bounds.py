"""Limits: those that are kept are those that the documentation tells, and none takes longer than it says."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kwhatif import bounds

PAGE = Path(__file__).parents[1] / "docs/reference/limits.md"


def told(name: str, value: float) -> str:
    if name.endswith("_BYTES") or name == "RATIO_FROM":
        return f"{value // bounds.MIB:,} MiB"
    units = {
        "RATIO": "times",
        "DEPTH": "levels",
        "BYTES_EACH": "bytes",
        "MANY": "lists and mappings",
        "YAML_VALUES": "keys and values",
        "ALIASED_VALUES": "values",
        "EMPTY_PAGES": "pages",
        "USAGE_VALUES": "values",
        "COPIED_VALUES": "values",
        "COST": "units of cost",
        "COUNT": "of a thing",
        "TREE_ENTRIES": "files and directories",
        "NAME_LENGTH": "bytes",
        "PATH_LENGTH": "bytes",
    }
    unit = "seconds" if name.endswith("_SECONDS") else units.get(name, name.lower())
    return f"{value:,.0f} {unit}"


def test_the_documentation_has_every_limit_in_the_order_of_the_module() -> None:
    rows = PAGE.read_text(encoding="utf-8").partition("# Limits\n")[2].partition("\n## ")[0].splitlines()
    listed = [row.split("|")[2].strip() for row in rows if row.startswith("| ")][2:]
    kept = {
        name: value
        for name, value in vars(bounds).items()
        if name.isupper() and name[0] != "_" and name not in ("T", "MIB")
    }
    assert listed == [told(name, value) for name, value in kept.items()]


def test_work_that_is_done_in_time_gives_what_it_comes_to_or_raises() -> None:
    def fail() -> None:
        raise KeyError("no")

    assert bounds.in_time(60, lambda: 7) == 7
    with pytest.raises(KeyError):
        bounds.in_time(60, fail)


def test_nobody_waits_for_work_that_takes_too_long() -> None:
    done = threading.Event()
    with pytest.raises(TimeoutError):
        bounds.in_time(0.01, done.wait)
    done.set()
