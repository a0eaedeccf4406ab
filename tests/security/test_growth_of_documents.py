"""Work grows as each list of each document of our own does: the lists are found in documents that have all of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, run
from tests.fuzz.commands import COMMANDS
from tests.fuzz.good_files import documents
from tests.fuzz.trial import Trial
from tests.test_growth import counted_lines

pytestmark = pytest.mark.posix

Steps = tuple[str | int, ...]
FEW, MANY = 4, 16
# A space of policies is bounded by how many points it has.
KINDS = {
    "ClusterEdits": "edits",
    "GatePolicy": "gate",
    "NodeGroups": "groups",
    "InstanceTypes": "catalogue",
    "RightsizingPolicy": "sizing",
    "WorkloadKinds": "kinds",
}
NAMES = ("name", "key", "zone", "reservationId", "selector", "kind")


def lists_in(value: Any, path: Steps = ()) -> Iterator[Steps]:
    """The paths to all lists with something in them; of the items of a list the first stands for all."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from lists_in(item, (*path, key))
    elif isinstance(value, list) and value:
        yield path
        yield from lists_in(value[0], (*path, 0))


def grown(document: Any, path: Steps, size: int) -> Any:
    """The document with so many items in a list, alike but for their names."""
    whole = copy.deepcopy(document)
    here = whole
    for step in path[:-1]:
        here = here[step]
    first = here[path[-1]][0]
    here[path[-1]] = [first, *(another(first, number) for number in range(1, size))]
    return whole


def another(item: Any, number: int) -> Any:
    if isinstance(item, str):
        return f"{item}{number}"
    if not isinstance(item, dict):
        return item
    return {key: f"{text}{number}" if key in NAMES and isinstance(text, str) else text for key, text in item.items()}


def cases() -> Iterator[tuple[str, Steps]]:
    for document in documents("documents.yaml"):
        if document["kind"] in KINDS:
            yield from ((document["kind"], path) for path in lists_in(document))


warm: set[str] = set()
"""Documents that were read once; the first time imports, and fills what is kept."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("growth")
    Trial(folder)
    return folder


def ask(folder: Path, kind: str, document: Any) -> Ran:
    (folder / "bad.json").write_text(json.dumps(document))
    words = {path.stem: str(path) for path in folder.glob("*.json")}
    return run(*COMMANDS[KINDS[kind]][0].format(out=folder / "out", **words).split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "path"), list(cases()), ids=lambda part: part if isinstance(part, str) else ".".join(map(str, part))
)
def test_work_grows_as_a_list_of_a_document_does(folder: Path, kind: str, path: Steps) -> None:
    document = next(each for each in documents("documents.yaml") if each["kind"] == kind)
    if kind not in warm:
        warm.add(kind)
        ask(folder, kind, document)
    counts = []
    for size in (FEW, MANY):
        with counted_lines() as found:
            ran = ask(folder, kind, grown(document, path, size))
        assert "internal error" not in ran.err
        counts.append(found)
    few, many = counts
    # What is linear, whatever it does besides, is at most as many times as much as the list is longer.
    times = MANY // FEW
    assert [
        f"{function}: {few[function]}, {many[function]} lines"
        for function in few
        if many[function] > times * (few[function] + MANY)
    ] == []
