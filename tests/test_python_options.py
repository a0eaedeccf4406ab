"""What Python programs give is read or refused."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import kwhatif
from kwhatif.commands.api_options import AutoscaledKeywords
from kwhatif.commands.common_options import FleetOptions
from kwhatif.commands.spec import all_specs, load
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import AutoscalingOptions, ManifestOptions, SchedulerOptions
from kwhatif.snapshot.load import load_snapshot

CLUSTER = Path(__file__).parent / "data" / "cluster.json"


def test_an_option_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polcy'; did you mean policy\?"):
        kwhatif.place([], snapshot=CLUSTER, polcy="default")  # type: ignore[call-arg]


def test_a_snapshot_is_loaded_by_a_path_as_by_a_list_of_one() -> None:
    one, listed = load_snapshot(str(CLUSTER)), load_snapshot([str(CLUSTER)])
    assert one.by_kind() == load_snapshot(CLUSTER).by_kind() == listed.by_kind()


@pytest.mark.parametrize("group", [AutoscalingOptions, FleetOptions, ManifestOptions, SchedulerOptions])
def test_what_the_command_line_offers_is_a_keyword_argument_of_the_same_name(group: type) -> None:
    keywords = {*AutoscaledKeywords.__annotations__, *inspect.signature(kwhatif.place).parameters}
    keywords |= {*inspect.signature(kwhatif.sweep).parameters}
    assert {field for field, _, _ in flags_of(group)} - keywords == set()


OPTION_CLASSES = [
    (module, name)
    for package in dict.fromkeys(spec.package for spec in all_specs())
    if importlib.util.find_spec(f"{package}.options") is not None
    for module in [importlib.import_module(f"{package}.options")]
    for name, each in vars(module).items()
    if name.endswith("Options") and each.__module__ == module.__name__
]

ONLY_ON_THE_COMMAND_LINE = {
    "autoscale.CatalogueOptions": "a catalogue is printed: what a program does with one is load it",
    "autoscale.until_quiet": "autoscale() does so if provision_seconds is given",
    "autoscale.consolidation": "explain_consolidation() is about nothing else",
    "autoscale.provision_seconds": "not given, autoscale() looks at one loop",
    "deschedule.ComparePoliciesOptions": "diff --deschedule is for the command line alone",
    "deschedule.ExplainDeschedulingOptions": "explain --deschedule is for the command line alone",
    "diff.policies": "diff() has those of the sides as policy and policy_b",
}
"""Options that no function has as a keyword argument with the same default, and why."""


@pytest.mark.parametrize(("module", "name"), OPTION_CLASSES, ids=lambda each: str(each).rpartition(".")[2])
def test_the_options_of_a_command_are_keyword_arguments_of_its_functions_with_the_same_defaults(
    module: ModuleType, name: str
) -> None:
    package = module.__name__.removesuffix(".options")
    command = package.removeprefix("kwhatif.commands.")
    functions = [load(package, path) for spec in all_specs() if spec.package == package for path in spec.functions]
    group = vars(module)[name]
    defaults = {field.name: field.default for field in dataclasses.fields(group)}
    missing = {
        f"{command}.{field}"
        for field, _, _ in flags_of(group)
        if not any(are_same(defaults[field], default_of(function, field)) for function in functions)
    }
    assert missing <= ONLY_ON_THE_COMMAND_LINE.keys() or f"{command}.{name}" in ONLY_ON_THE_COMMAND_LINE


def default_of(function: Callable[..., object], name: str) -> object:
    """The default of a keyword argument, nothing for those that many functions take; an object of its own if none."""
    parameters = inspect.signature(function).parameters
    if name in parameters:
        return parameters[name].default
    return None if "options" in parameters and name in AutoscaledKeywords.__annotations__ else object()


def are_same(default: object, other: object) -> bool:
    """Whether two defaults mean the same: a number, or that nothing is given."""
    return default == other or all(
        each in (None, "", (), inspect.Parameter.empty, dataclasses.MISSING) for each in (default, other)
    )


def test_what_python_lacks_are_options() -> None:
    classes = {(module.__name__.split(".")[-2], name): vars(module)[name] for module, name in OPTION_CLASSES}
    options = {f"{command}.{field}" for (command, _), each in classes.items() for field, _, _ in flags_of(each)}
    assert ONLY_ON_THE_COMMAND_LINE.keys() <= options | {f"{command}.{name}" for command, name in classes}


MESSAGES: dict[str, tuple[Callable[[], object], str]] = {
    "a flag that turns an option off": (
        lambda: kwhatif.place("pods.yaml", snapshot=CLUSTER, recreate=False),
        "recreate=False is about timeline: without it nothing is recreated",
    ),
    "an option with another name on the command line": (
        lambda: kwhatif.outage(["racks"], snapshot=CLUSTER),
        "failures racks: expected nodes, zones or pools",
    ),
    "an option that is repeated on the command line": (
        lambda: kwhatif.upgrade("pool=old", snapshot=CLUSTER, new_labels=["tier"]),
        "new_labels tier: expected KEY=VALUE or KEY-",
    ),
    "two options of one command": (
        lambda: kwhatif.capacity("pods.yaml", snapshot=CLUSTER, limit=1, at_least=3),
        "limit 1 ends the count before at_least 3 can be reached",
    ),
    "options that say where rows are kept": (
        lambda: kwhatif.sweep("pods.yaml", space={}, snapshot=CLUSTER, resume=True),
        "resume is about out: without it no rows are kept",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_for_programs_has_the_names_of_keyword_arguments(name: str) -> None:
    question, message = MESSAGES[name]
    with pytest.raises(UsageError) as error:
        question()
    assert str(error.value) == message
