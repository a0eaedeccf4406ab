"""Whatever a List holds many of, twice as many of them take at most a little more than twice the work.

Counted are the calls of functions, which no busy machine changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from cProfile import Profile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api import quantity
from tests.cli.running import run
from tests.fuzz.good_files import documents
from tests.growing_kinds import LISTS, container, kinds, many, pod

pytestmark = pytest.mark.posix

Json = dict[str, Any]
LEAST = 6
MOST = 2.8
"""What twice as many add more; sorting is 2.3, what is done for each pair 4."""
LISTS_OF_KINDS = 12
"""Among the eight kinds of a list the square of one still stands out, and most of a command's time is no kind's."""
COMMANDS = {"manifests": "place {list} {pod} --snapshot {cluster}", "snapshot": "place {pod} --snapshot {both}"}


def calls_of(words: list[str]) -> Counter[str]:
    """How often each function of the package is called."""
    for cached in (each for each in vars(quantity).values() if hasattr(each, "cache_clear")):
        cached.cache_clear()
    profile = Profile(builtins=False)
    ran = profile.runcall(run, *words)
    assert ran.code in (0, 1, 2), ran.err
    assert "internal error" not in ran.err
    found: Counter[str] = Counter()
    for entry in profile.getstats():
        code = entry.code
        if not isinstance(code, str) and "/kwhatif/" in code.co_filename:
            found[f"{code.co_filename.rpartition('/kwhatif/')[2]}: {code.co_qualname}"] += entry.callcount
    return found


def count(folder: Path, command: str, objects: list[Json]) -> Counter[str]:
    small = pod("small", {"containers": [container()]})
    files = {"list": objects, "pod": [small], "cluster": documents("cluster.yaml")}
    files["both"] = [*files["cluster"], *objects]
    words = {name: str(folder / f"{name}.json") for name in files}
    for name, items in files.items():
        Path(words[name]).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return calls_of(command.format(**words).split())


def square(folder: Path, command: str, made: Callable[[int], list[Json]]) -> list[str]:
    """The functions that are called ever more often for each of twice as many objects."""
    counts = [count(folder, command, made(number)) for number in (LEAST, 2 * LEAST, 4 * LEAST)]
    suspects = set(counts[-1])
    for number in (8, 16, 0):
        one, two, four = counts[-3:]
        suspects = {name for name in suspects if four[name] - two[name] > MOST * max(two[name] - one[name], LEAST)}
        if not suspects:
            break
        # What is done only from some number on, or the first time, is no more than that.
        if number:
            counts.append(count(folder, command, made(number * LEAST)))
    return [f"{name}: {', '.join(str(found[name]) for found in counts)} calls" for name in sorted(suspects)]


# Kinds that stand together are about one another.
APART = [list(kinds())[first::LISTS_OF_KINDS] for first in range(LISTS_OF_KINDS)]


@pytest.mark.long
@pytest.mark.parametrize("where", COMMANDS)
@pytest.mark.parametrize("names", APART, ids=", ".join)
def test_work_grows_as_the_objects_of_kinds_do(tmp_path: Path, names: list[str], where: str) -> None:
    objects = [kinds()[name] for name in names]
    assert (
        square(tmp_path, COMMANDS[where], lambda number: [made for obj in objects for made in many(obj, number)]) == []
    )


@pytest.mark.long
@pytest.mark.parametrize("where", COMMANDS)
@pytest.mark.parametrize("name", LISTS)
def test_work_grows_as_a_list_does(tmp_path: Path, name: str, where: str) -> None:
    assert square(tmp_path, COMMANDS[where], partial(LISTS[name])) == []
