"""A command is a value: what its spec names is there, and what is there has a spec."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from importlib.resources import files

import msgspec
import pytest
import typer
from typer.main import get_command

import kwhatif
from kwhatif import commands
from kwhatif.commands.page import pages_by_result
from kwhatif.commands.schema_files import schema_text
from kwhatif.commands.spec import CommandSpec, ResultSpec, all_specs, commands_of, load, specs_by_name
from kwhatif.render.page_spec import PageSpec
from kwhatif.results.base import ManifestResult, Result

PACKAGES = sorted(info.name for info in pkgutil.iter_modules(commands.__path__) if info.ispkg)
GROUPS = {spec.group for spec in all_specs()} - {""}
ASKED = [spec for spec in all_specs() if spec.name not in GROUPS]
"""Those that do something; a group only has commands."""

RESULTS = [(spec, each) for spec in all_specs() for each in spec.results]

BY_ANOTHER_NAME = {"live", "load_snapshot"}
"""Functions of the Python API that give a cluster, and ask nothing."""

WITHOUT_A_PAGE = {
    "conformance-result": "replays recordings: there is no cluster to draw",
    "expand-result": "its answer are objects",
    "snapshot-diff": "compares two files",
    "snapshot-trim": "describes a file",
    "snapshot-validation": "describes a file",
}
"""Results that ``--report html=`` is not offered for, and why."""


def name_of(given: object) -> str:
    return given.name if isinstance(given, CommandSpec) else given.schema if isinstance(given, ResultSpec) else ""


def test_every_package_of_commands_has_a_spec() -> None:
    missing = [name for name in PACKAGES if not any(spec.package.endswith(f".{name}") for spec in all_specs())]
    assert missing == [], "a package below kwhatif/commands has a module spec with SPECS"


def test_every_spec_stands_in_the_package_that_it_names_and_no_two_share_a_name() -> None:
    assert {spec.package for spec in all_specs()} == {f"kwhatif.commands.{name}" for name in PACKAGES}
    assert len(specs_by_name()) == len(all_specs())


def test_every_group_is_a_command_of_the_line_and_has_commands() -> None:
    assert set(commands_of("")) >= GROUPS
    assert all(commands_of(group) for group in GROUPS)


@pytest.mark.parametrize("spec", all_specs(), ids=name_of)
def test_a_command_has_its_module_of_the_command_line(spec: CommandSpec) -> None:
    app = import_module(f"kwhatif.cli.{spec.module}").app
    assert isinstance(app, typer.Typer)
    assert get_command(app).help
    assert spec.purpose.endswith(("?", "."))


@pytest.mark.parametrize("spec", ASKED, ids=name_of)
def test_a_command_has_examples(spec: CommandSpec) -> None:
    assert spec.examples
    assert len(set(spec.examples)) == len(spec.examples)


@pytest.mark.parametrize(("spec", "result"), RESULTS, ids=name_of)
def test_a_result_has_its_struct_and_the_file_of_its_schema(spec: CommandSpec, result: ResultSpec) -> None:
    struct = load(spec.package, result.type)
    assert issubclass(struct, Result)
    assert not inspect.isabstract(struct)
    kinds = [field.default for field in msgspec.structs.fields(struct) if field.name == "kind"]
    assert [type(kind) for kind in kinds] == [str], "a result says its kind, as the default of a field"
    file = files("kwhatif.schemas").joinpath(f"{result.schema}.schema.json")
    assert file.read_text(encoding="utf-8") == schema_text(result.schema)


@pytest.mark.parametrize(("spec", "result"), RESULTS, ids=name_of)
def test_an_answer_about_manifests_says_what_was_refused_and_what_was_not_created(
    spec: CommandSpec, result: ResultSpec
) -> None:
    struct = load(spec.package, result.type)
    if issubclass(struct, ManifestResult):
        assert {"refusals", "failed"} <= set(struct.__struct_fields__), "the pipeline fills in both fields"


def test_no_two_results_share_a_struct_or_a_schema() -> None:
    assert len({each.schema for _, each in RESULTS}) == len(RESULTS)
    assert len({load(spec.package, each.type) for spec, each in RESULTS}) == len(RESULTS)


@pytest.mark.parametrize(("spec", "result"), [row for row in RESULTS if row[1].page], ids=name_of)
def test_a_page_loads_and_is_the_one_that_its_result_gets(spec: CommandSpec, result: ResultSpec) -> None:
    page = load(spec.package, result.page)
    assert isinstance(page, PageSpec)
    assert pages_by_result()[load(spec.package, result.type)] is page


def test_results_without_a_page_are_known() -> None:
    assert {each.schema for _, each in RESULTS if not each.page} == set(WITHOUT_A_PAGE)


def test_functions_of_the_python_api_are_those_that_specs_name() -> None:
    named = {path.partition(":")[2]: load(spec.package, path) for spec in all_specs() for path in spec.functions}
    public = {name: getattr(kwhatif, name) for name in kwhatif.__all__}
    functions = {name: each for name, each in public.items() if inspect.isfunction(each)}
    assert set(functions) == set(named) | BY_ANOTHER_NAME
    assert all(functions[name] is each for name, each in named.items())
    assert [name for name, each in named.items() if not inspect.getdoc(each)] == []
