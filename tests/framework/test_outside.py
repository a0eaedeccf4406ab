from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kwhatif.errors import PluginError, UsageError
from kwhatif.framework import outside
from kwhatif.framework.interface import Plugin, extension_points
from kwhatif.framework.outside import GROUP, load_outside
from kwhatif.framework.status import Rejection
from kwhatif.scheduling.schedule_one import Scheduler
from tests.builders import cluster_of, node, pod, profile_document, scheduler_for

HERE = __name__


class PerNode:
    """Looks at one node at a time."""

    name = "PerNode"

    def filter_node(self, pod: Any, node: Any) -> str | None:
        return "node(s) were called c" if node.name == "c" else None

    def score_node(self, pod: Any, node: Any) -> int:
        return {"a": 2, "b": 8}[node.name]


class WithArguments:
    name = "WithArguments"

    def __init__(self, args: Any) -> None:
        self.best = args["best"]

    def score_node(self, pod: Any, node: Any) -> float:
        return 7.9 if node.name == self.best else 0


class InRange:
    name = "InRange"
    normalized = True

    def score_node(self, pod: Any, node: Any) -> int:
        return {"a": 10, "b": 20}[node.name]


class Refusing:
    name = "Refusing"

    def pre_bind(self, pod: Any, node: str) -> str | None:
        return f"{pod.name} may not be on {node}"


class TooWide(Plugin[None, None]):
    name = "TooWide"

    def filter(self, pod: Any, nodes: Any, state: None) -> Iterator[Rejection]:
        yield Rejection(np.ones(7, np.bool_), "node(s) were no good")


class InFractions(Plugin[None, None]):
    name = "InFractions"

    def score(self, pod: Any, nodes: Any, state: None) -> Any:
        return np.full(nodes.size, 0.5)


class OverColumns(Plugin[None, None]):
    name = "OverColumns"

    def filter(self, pod: Any, nodes: Any, state: None) -> Iterator[Rejection]:
        yield Rejection(np.ones(nodes.size, np.bool_), "node(s) were no good")


class Nothing:
    name = "Nothing"


class Nameless:
    def filter_node(self, pod: Any, node: Any) -> None:
        return None


class TooFew:
    name = "TooFew"

    def filter_node(self, pod: Any) -> None:
        return None


class Heir(TooFew):
    name = "Heir"


class TooMany(Plugin[None, None]):
    name = "TooMany"

    def reserve(self, pod: Any, node: str, state: Any, more: int) -> None:  # type: ignore[override]
        return None


class Generous:
    name = "Generous"

    def filter_node(self, *everything: Any) -> None:
        return None

    def score_node(self, pod: Any, node: Any, more: int = 0) -> int:
        return 0


no_class = PerNode()


def scheduler_with(name: str, args: Any = None, nodes: str = "ab") -> Scheduler:
    """A scheduler in which one plugin of this file is enabled."""
    document = profile_document(
        args=None if args is None else {name: args},
        plugins={"multiPoint": {"enabled": [{"name": name}]}},
    )
    cluster = cluster_of([node(letter) for letter in nodes])
    return scheduler_for(cluster, document, outside=load_outside([f"{HERE}:{name}"]).values())


# --- finding them


def test_a_class_is_named_by_its_module() -> None:
    found = load_outside([f"{HERE}:OverColumns", f"{HERE}:PerNode"])
    assert found["OverColumns"] is OverColumns
    assert issubclass(found["PerNode"], Plugin)
    assert extension_points(found["PerNode"]) == {"filter", "score"}


def test_or_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    name = 'Mine'\n    def filter_node(self, pod, node):\n        return 'no'\n")
    before = set(sys.modules)
    (plugin,) = load_outside([f"{path}:Mine"]).values()
    for module in set(sys.modules) - before:
        del sys.modules[module]
    assert plugin.name == "Mine"


def test_entry_points_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def entries(*, group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("z", f"{HERE}:Generous", group), EntryPoint("a", f"{HERE}:InRange", group)]

    monkeypatch.setattr(outside, "entry_points", entries)
    assert list(load_outside([f"{HERE}:PerNode"])) == ["InRange", "Generous", "PerNode"]
    assert asked == [GROUP] == ["kwhatif.plugins"]
    with pytest.raises(UsageError, match="plugin InRange is given twice"):
        load_outside([f"{HERE}:InRange"])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("PerNode", "expected package.module:Class or path/to/file.py:Class", id="no module"),
        pytest.param(":PerNode", "expected package.module:Class", id="an empty module"),
        pytest.param(f"{HERE}:", "expected package.module:Class", id="no class"),
        pytest.param(f"{HERE}:Absent", f"{HERE} has no Absent", id="a class that is not there"),
        pytest.param(
            "no.such.module:Mine", "ModuleNotFoundError: No module named 'no'", id="a module that is not there"
        ),
        pytest.param("no/such/file.py:Mine", "no/such/file.py is no file", id="a file that is not there"),
        pytest.param(f"{HERE}:no_class", "expected a class, found <", id="something else"),
        pytest.param(f"{HERE}:Nameless", "class Nameless has no name", id="a class without a name"),
    ],
)
def test_what_cannot_be_found_is_said(name: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_outside([name])
    assert problem in str(caught.value)


def test_a_file_that_fails_is_said(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0\n")
    before = set(sys.modules)
    with pytest.raises(UsageError, match=f"--plugin {path}:Mine: ZeroDivisionError: division by zero"):
        load_outside([f"{path}:Mine"])
    for module in set(sys.modules) - before:
        del sys.modules[module]


def test_a_plugin_is_given_once() -> None:
    with pytest.raises(UsageError, match="plugin PerNode is given twice"):
        load_outside([f"{HERE}:PerNode", f"{HERE}:PerNode"])


# --- checking them


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param(
            "Nothing", "plugin Nothing: registration: implements none of the hooks pre_enqueue,", id="no hook"
        ),
        pytest.param(
            "TooFew", "plugin TooFew: registration: filter_node(pod) should take (pod, node)", id="too few arguments"
        ),
        pytest.param(
            "Heir", "plugin Heir: registration: filter_node(pod) should take (pod, node)", id="too few, by inheritance"
        ),
        pytest.param(
            "TooMany",
            "plugin TooMany: registration: reserve(pod, node, state, more) should take (pod, node, state)",
            id="too many arguments",
        ),
    ],
)
def test_hooks_are_checked_when_a_plugin_is_registered(name: str, problem: str) -> None:
    with pytest.raises(PluginError) as caught:
        load_outside([f"{HERE}:{name}"])
    assert str(caught.value).startswith(problem)


def test_hooks_may_take_more_than_they_are_given() -> None:
    assert list(load_outside([f"{HERE}:Generous"])) == ["Generous"]


# --- running them


def test_a_plugin_per_node_filters() -> None:
    scheduler = scheduler_with("PerNode", nodes="c")
    message = scheduler.attempt(scheduler.cluster.shapes.info(pod())).message
    assert message.startswith("0/1 nodes are available: 1 node(s) were called c. ")


def score_table(scheduler: Scheduler, plugin: str) -> dict[str, int]:
    info = scheduler.cluster.shapes.info(pod())
    evaluation = scheduler.evaluation(info)
    evaluation.begin(info)
    (found,) = [s for s in evaluation.scores(info, np.arange(2)) if s.plugin == plugin]
    return dict(zip(scheduler.cluster.columns.names, found.normalized.tolist(), strict=True))


def test_its_scores_are_normalised_unless_it_says_that_they_are() -> None:
    assert score_table(scheduler_with("PerNode"), "PerNode") == {"a": 25, "b": 100}
    assert score_table(scheduler_with("InRange"), "InRange") == {"a": 10, "b": 20}


def test_it_may_take_its_arguments() -> None:
    assert score_table(scheduler_with("WithArguments", {"best": "b"}), "WithArguments") == {"a": 0, "b": 100}


def test_it_may_refuse_to_bind() -> None:
    scheduler = scheduler_with("Refusing", nodes="a")
    attempt = scheduler.attempt(scheduler.cluster.shapes.info(pod("web")))
    assert attempt.message == "web may not be on a"
    assert not attempt.is_placed


def test_a_plugin_over_columns_needs_no_adapter() -> None:
    scheduler = scheduler_with("OverColumns")
    message = scheduler.attempt(scheduler.cluster.shapes.info(pod())).message
    assert message.startswith("0/2 nodes are available: 2 node(s) were no good. ")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "TooWide",
            "plugin TooWide: filter for pod default/p: TypeError: a rejection is of bool[7], it should be of bool[",
        ),
        ("InFractions", "plugin InFractions: score: returns float64[2], it should be int64[2]"),
    ],
)
def test_columns_of_the_wrong_shape_or_type_are_the_plugins_fault(name: str, problem: str) -> None:
    scheduler = scheduler_with(name)
    with pytest.raises(PluginError) as caught:
        scheduler.attempt(scheduler.cluster.shapes.info(pod("p")))
    assert str(caught.value).startswith(problem)
