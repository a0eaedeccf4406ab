"""What Python programs give is read or refused."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.api_options import AutoscaledKeywords
from kwhatif.commands.spec import all_specs, load
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import ManifestOptions, SchedulerOptions
from kwhatif.snapshot.load import load_snapshot

CLUSTER = Path(__file__).parent / "data" / "cluster.json"


def test_an_option_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polcy'; did you mean policy\?"):
        kwhatif.place([], snapshot=CLUSTER, polcy="default")  # type: ignore[call-arg]


def test_a_snapshot_is_loaded_by_a_path_as_by_a_list_of_one() -> None:
    one, listed = load_snapshot(str(CLUSTER)), load_snapshot([str(CLUSTER)])
    assert one.by_kind() == load_snapshot(CLUSTER).by_kind() == listed.by_kind()


@pytest.mark.parametrize("group", [ManifestOptions, SchedulerOptions])
def test_what_the_command_line_offers_is_a_keyword_argument_of_the_same_name(group: type) -> None:
    keywords = {*AutoscaledKeywords.__annotations__, *inspect.signature(kwhatif.place).parameters}
    assert {field for field, _, _ in flags_of(group)} - keywords == set()


OWN_OPTIONS = [
    (load(spec.package, function), vars(module)[name])
    for spec in all_specs()
    if importlib.util.find_spec(f"{spec.package}.options") is not None
    for module in [importlib.import_module(f"{spec.package}.options")]
    for function in spec.functions[:1]
    for name in vars(module)
    if name.endswith("Options")
]


@pytest.mark.parametrize(("function", "options"), OWN_OPTIONS, ids=lambda each: each.__name__)
def test_the_options_of_a_command_are_keyword_arguments_of_its_function_with_the_same_defaults(
    function: Callable[..., object], options: type
) -> None:
    parameters = inspect.signature(function).parameters
    fields = {field.name: field.default for field in dataclasses.fields(options)}
    assert {name: parameters[name].default or fields[name] for name in fields if name in parameters} == fields
