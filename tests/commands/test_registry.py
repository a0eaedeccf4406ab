"""A command is a class: what it names is there, and what others need of it is made of it."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import msgspec
import pytest

import kwhatif
from kwhatif import commands
from kwhatif.commands.functions import keywords_of
from kwhatif.commands.page import page_of
from kwhatif.commands.parameters import parameters_of, takes_cluster
from kwhatif.commands.public import functions_by_name, names
from kwhatif.commands.registry import Entry, all_commands, all_entries, all_results, load, results_of
from kwhatif.commands.schema_files import schema_text
from kwhatif.commands.stub import stub_text
from kwhatif.commands.view import View
from kwhatif.results.base import ManifestResult, Result
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.scenario_options import AutoscaledOptions, ClusterOptions, EditedClusterOptions, ScenarioOptions

COMMANDS = list(all_commands().values())
FUNCTIONS = sorted(functions_by_name().items())


def name_of(given: Any) -> str:
    return given.name if isinstance(given, Entry) else getattr(given, "__name__", "")


@pytest.mark.parametrize("entry", all_entries(), ids=name_of)
def test_the_docstring_of_its_package_is_the_line_of_a_command_in_the_help(entry: Entry) -> None:
    assert entry.purpose.endswith(("?", "."))
    assert "\n" not in entry.purpose


@pytest.mark.parametrize("entry", COMMANDS, ids=name_of)
def test_a_command_has_help_examples_and_a_result(entry: Entry) -> None:
    assert (entry.command.__doc__ or "").strip()
    assert entry.examples
    assert len(set(entry.examples)) == len(entry.examples)
    assert all(issubclass(each, Result) for each in results_of(entry.command))


@pytest.mark.parametrize("entry", COMMANDS, ids=name_of)
def test_every_option_says_what_it_is_and_no_two_share_a_flag(entry: Entry) -> None:
    flags = [each.flag for each in parameters_of(entry.command)]
    assert [flag for flag in flags if not flag.help] == []
    called = [flag.name for flag in flags if flag.name]
    assert len(set(called)) == len(called)


@pytest.mark.parametrize("entry", COMMANDS, ids=name_of)
def test_a_command_lacks_only_what_it_would_have(entry: Entry) -> None:
    """A name that is no option any more, or a field of its own, stands there for nothing."""
    if entry.command.takes is not None:
        there = {field.name for field in dataclasses.fields(entry.command.takes)}
        assert set(entry.command.renames) <= there


@pytest.mark.parametrize("result", all_results(), ids=name_of)
def test_a_result_has_its_kind_its_view_and_the_file_of_its_schema(result: type[Result]) -> None:
    assert not inspect.isabstract(result)
    kinds = [field.default for field in msgspec.structs.fields(result) if field.name == "kind"]
    assert [type(kind) for kind in kinds] == [str], "a result says its kind, as the default of a field"
    assert isinstance(load(result.view), View)
    file = files("kwhatif.schemas").joinpath(f"{result.schema}.schema.json")
    assert file.read_text(encoding="utf-8") == schema_text(result.schema)
    if issubclass(result, ManifestResult):
        assert {"refusals", "failed"} <= set(result.__struct_fields__), "the pipeline fills in both fields"


def test_no_two_results_share_a_schema() -> None:
    assert len({each.schema for each in all_results()}) == len(all_results())


@pytest.mark.parametrize("entry", COMMANDS, ids=name_of)
def test_html_is_offered_for_answers_that_have_a_page(entry: Entry) -> None:
    if "html" in entry.command.prints.reports:
        without = [each.__name__ for each in results_of(entry.command) if not load(each.view).page]
        assert without == [], "its View has a page, or the command prints = Output(reports=WITHOUT_PAGE)"


def test_an_answer_without_a_page_is_refused_in_a_sentence() -> None:
    class Bare(Result, frozen=True, kw_only=True):
        view: ClassVar[str] = "printed:VIEW"

        @property
        def exit_code(self) -> int:
            return 0

    with pytest.raises(
        kwhatif.KwhatifError, match="--report html: Bare has no page; json, yaml and markdown are there"
    ):
        page_of(Bare())


@pytest.mark.parametrize("entry", [each for each in COMMANDS if takes_cluster(each.command)], ids=name_of)
def test_whoever_takes_a_cluster_has_every_option_about_one(entry: Entry) -> None:
    """An option of all of them is a field of the class that they take; what one lacks, its class says."""
    takes = entry.command.takes
    assert takes is not None
    assert issubclass(takes, ClusterOptions)
    there = {each.name for each in parameters_of(entry.command)} | set(entry.command.lacks)
    for group in (ClusterOptions, EditedClusterOptions, ScenarioOptions, AutoscaledOptions):
        if issubclass(takes, group):
            assert {name for name, _, _ in flags_of(group)} <= there


def test_whoever_schedules_pods_takes_autoscalers() -> None:
    """The question about autoscalers names them in its own way; a trimmed snapshot is for one decision."""
    asking = [each for each in COMMANDS if takes_cluster(each.command) and "policy" not in each.command.lacks]
    without = {
        each.name
        for each in asking
        if issubclass(each.command.takes or object, ScenarioOptions)
        and not issubclass(each.command.takes or object, AutoscaledOptions)
    }
    assert without == {"autoscale plan", "snapshot trim"}


@pytest.mark.parametrize(("name", "question"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_function_has_a_keyword_for_each_option_and_says_what_it_is(name: str, question: Any) -> None:
    function = getattr(kwhatif, name)
    signature = inspect.signature(function)
    assert list(signature.parameters) == [each.name for each in keywords_of(question)]
    hidden = {each.name for each in parameters_of(question) if each.flag.shell}
    assert {each.name for each in parameters_of(question)} - hidden <= set(signature.parameters)
    assert "Parameters\n" in inspect.getdoc(function) or not signature.parameters  # type: ignore[operator]


def test_every_public_name_is_there() -> None:
    assert set(names()) <= set(kwhatif.__all__)
    assert set(functions_by_name()) <= set(names())


def test_every_package_of_commands_is_one_or_has_one_below() -> None:
    packages = {info.name for info in pkgutil.iter_modules(commands.__path__) if info.ispkg}
    assert packages >= {each.name.split()[0] for each in all_entries()}


def test_a_package_without_a_class_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kwhatif.commands.place.question", ModuleType("kwhatif.commands.place.question"))
    with pytest.raises(kwhatif.KwhatifError, match="expected one class that is a Command, found none"):
        _ = Entry("x", "", 1, "kwhatif.commands.place").command


def test_the_stub_of_the_python_api_is_that_of_the_classes() -> None:
    stub = Path(kwhatif.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert stub == stub_text(), "python -m kwhatif.commands.stub kwhatif/__init__.pyi"
