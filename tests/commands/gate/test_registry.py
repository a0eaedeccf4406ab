"""Rules are found by walking and by entry points, and looked at when they are registered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kwhatif.commands.gate import rule as registry
from kwhatif.commands.gate import rules
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.gate_policy import rules_of
from kwhatif.commands.gate.judgement import GateSettings
from kwhatif.commands.gate.rule import Parameters, Rule, all_rules, in_tree, register
from kwhatif.errors import KwhatifError, PluginError
from kwhatif.results.gate import Finding, GateResult
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.repository_policy import GatePolicy, ReadPolicy
from kwhatif.simulation.scenario import Scenario
from tests.builders import node
from tests.commands.gate.judging import NOON, Given, manifests, new, snapshot_of

RULES = {path.stem.replace("_", "-") for path in Path(rules.__file__).parent.glob("[a-z]*.py")}
"""A rule is in the file of its name."""


def test_all_rules_of_the_package_are_found() -> None:
    assert set(in_tree()) == RULES


def test_every_rule_is_in_the_file_of_its_name_and_says_what_it_wants() -> None:
    for name, known in in_tree().items():
        assert known.__module__ == f"kwhatif.commands.gate.rules.{name.replace('-', '_')}"
        assert known(known.parameters()).threshold()
        assert known.purpose.endswith(".")


class MaxPodsParameters(Parameters, frozen=True, kw_only=True):
    pods: int = 3


class MaxPods(Rule[MaxPodsParameters]):
    name = "max-pods"
    purpose = "A workload makes at most a given number of pods."
    parameters = MaxPodsParameters

    def check(self, context: Context) -> Iterator[Finding]:
        for unit in self.units(context):
            if len(unit.placements) > self.given.pods:
                yield self.finding_about(unit, "too many pods", f"{len(unit.placements)} of {self.given.pods}")


def with_entry(value: str, name: str = "mine") -> Any:
    """As if a package announced a rule."""
    found = EntryPoints([EntryPoint(name, value, registry.GROUP)])
    return mock.patch.object(registry, "entry_points", return_value=found)


def judged_by(known: Mapping[str, type[Rule[Any]]], rules: Mapping[str, Any]) -> GateResult:
    """What the gate says of two new pods."""
    given = rules_of(ReadPolicy(GatePolicy(rules=dict(rules))), known)
    question = Given(given=GateSettings(given, set(known)), head=manifests(new("Deployment", "web", 2)))
    return ask(question, Scenario(Inputs(snapshot_of([node("n1")]), now=datetime.fromisoformat(NOON))))


def test_a_rule_from_outside_is_as_good_as_any() -> None:
    with with_entry(f"{__name__}:MaxPods"):
        known = all_rules()
    assert set(known) == RULES | {"max-pods"}
    result = judged_by(known, {"max-pods": {"pods": 1}})
    assert [finding.message for finding in result.findings] == ["2 of 1"]


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        pytest.param(lambda self, context: [context.nothing], "AttributeError: 'Context' object has no", id="it fails"),
        pytest.param(lambda self, context: ["no"], "expected findings, found 'no'", id="it says something else"),
    ],
)
def test_a_rule_that_breaks_its_contract_is_named(check: Any, problem: str) -> None:
    with pytest.raises(PluginError) as caught:
        judged_by({"mine": rule(check=check)}, {"mine": {}})
    assert str(caught.value).startswith(f"plugin mine: check: {problem}")


def rule(**parts: Any) -> type:
    """A rule that lacks what is given as None."""
    whole = {"name": "mine", "purpose": "A purpose.", "check": lambda self, context: iter(()), **parts}
    return type("Mine", (Rule,), {key: value for key, value in whole.items() if value is not None})


class Needy(Parameters, frozen=True, kw_only=True):
    pods: int


async def later(self: Any, context: Any) -> None: ...


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        pytest.param(len, "here: expected a class, found <built-in function len>", id="no class"),
        pytest.param(rule(name=None), 'here: class Mine has no name such as "max-pods"', id="no name"),
        pytest.param(rule(name="Max Pods"), 'here: class Mine has no name such as "max-pods"', id="no word"),
        pytest.param(rule(name="quota"), "here: rule quota is given twice", id="twice"),
        pytest.param(
            type("Mine", (), {"name": "mine"}), "plugin mine: registration: class Mine is no subclass", id="base"
        ),
        pytest.param(rule(purpose=" "), "plugin mine: registration: purpose does not say", id="no purpose"),
        pytest.param(rule(parameters=dict), "plugin mine: registration: parameters should be a subclass", id="dict"),
        pytest.param(
            rule(parameters=Needy), "plugin mine: registration: parameters need defaults, which pods lack", id="needy"
        ),
        pytest.param(rule(check=None), "plugin mine: registration: check(context) is missing", id="no check"),
        pytest.param(
            rule(check=lambda self, one, other: iter(())),
            "plugin mine: registration: check(one, other) should take (context)",
            id="arguments",
        ),
        pytest.param(rule(check=later), "plugin mine: registration: check(context) should not be async", id="async"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_when_it_is_registered(known: object, problem: str) -> None:
    with pytest.raises(KwhatifError) as caught:
        register(dict(in_tree()), known, "here")
    assert str(caught.value).startswith(problem)


def test_an_entry_point_that_cannot_be_loaded_is_named() -> None:
    with with_entry("nowhere.at.all:Rule"), pytest.raises(KwhatifError) as caught:
        all_rules()
    assert str(caught.value) == "entry point mine: ModuleNotFoundError: No module named 'nowhere'"
