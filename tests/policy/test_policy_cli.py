from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

import kwhatif
from kwhatif.cli.main import app
from kwhatif.errors import InputError, PolicyError, UsageError
from kwhatif.policy import as_yaml, default_configuration
from kwhatif.versions import DEFAULT_MINOR

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def run(*words: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["policy", *words], input=stdin)


def write(directory: Path, text: str, name: str = "scheduler.yaml") -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


# --- show


def test_show_without_a_file_prints_the_default_configuration() -> None:
    result = run("show")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == as_yaml(default_configuration())


def test_show_prints_json_too(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + "parallelism: 3\n")
    as_json = json.loads(run("show", "-f", file, "-o", "json").stdout)
    assert as_json == yaml.safe_load(run("show", "--filename", file, "--output", "yaml").stdout)
    assert as_json["parallelism"] == 3


def test_show_reads_standard_input_and_json() -> None:
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    assert run("show", "-f", "-", stdin=HEAD).stdout == run("show").stdout
    assert run("show", "-f", "-", stdin=json.dumps(document, indent="\t")).stdout == run("show").stdout


def test_show_warns_on_standard_error_only(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD.replace("/v1", "/v1beta3") + "---\nkind: Other\n")
    result = run("show", "-f", file)
    assert result.exit_code == 0
    assert result.stdout == run("show").stdout
    first, second = result.stderr.splitlines()
    assert first == f"warning: {file}: only the first of its 2 documents is read, as by kube-scheduler"
    assert second.startswith(f"warning: {file}: kubescheduler.config.k8s.io/v1beta3 was removed")


def test_show_of_a_refused_file_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + "parallelism: 0\n")
    result = run("show", "-f", file)
    assert isinstance(result.exception, PolicyError)
    assert result.exception.exit_code == 2
    assert str(result.exception).startswith(f"{file}: parallelism: Invalid value: 0")
    assert result.stdout == ""


# --- validate


def test_validate_says_yes(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD)
    result = run("validate", file)
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        f"{file}: kube-scheduler {DEFAULT_MINOR} accepts it\n",
        "",
    )


def test_validate_says_no_with_one_line_for_each_reason(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + "parallelism: 0\nprofiles: [{schedulerName: ''}]\n")
    result = run("validate", file)
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
        "profiles[0].schedulerName: Required value",
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (HEAD + "a: 1\nb: 2\n", 'strict decoding error: unknown field "a"'),
        ("", "Object 'Kind' is missing in '{}'"),
        ("# nothing\n---\n", "Object 'Kind' is missing in '{}'"),
        ("just words", "couldn't get version/kind; json parse error: json: cannot unmarshal string"),
        (HEAD.replace("/v1", "/v1beta2"), 'no kind "KubeSchedulerConfiguration" is registered for version'),
        (
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: Foo}]}}}]",
            "initializing profiles: creating profile for scheduler name default-scheduler: "
            'ScorePlugin "Foo" does not exist',
        ),
        (
            HEAD + "profiles: [{plugins: {multiPoint: {disabled: [{name: PrioritySort}]}}}]",
            "initializing profiles: creating profile for scheduler name default-scheduler: only one queue",
        ),
    ],
)
def test_validate_refuses_what_kube_scheduler_refuses(text: str, answer: str) -> None:
    result = run("validate", "-", stdin=text)
    assert result.exit_code == 1
    assert result.stdout.startswith(answer)


def test_validate_refuses_a_key_that_appears_twice(tmp_path: Path) -> None:
    result = run("validate", write(tmp_path, HEAD + "parallelism: 1\nparallelism: 2\n"))
    assert result.exit_code == 1
    assert "scheduler.yaml" in result.stdout
    assert "line 4" in result.stdout
    assert "parallelism" in result.stdout


def test_validate_refuses_a_key_that_appears_twice_in_json(tmp_path: Path) -> None:
    text = '{"kind": "K", "profiles": [{}, {"schedulerName": "a", "schedulerName": "b"}]}'
    file = write(tmp_path, text, "scheduler.json")
    result = run("validate", file)
    assert result.exit_code == 1
    assert result.stdout == f'{file}: $.profiles[1]: the key "schedulerName" appears twice\n'


def test_plugins_from_elsewhere_are_accepted_when_named(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + "profiles: [{plugins: {score: {enabled: [{name: Foo}]}}}]")
    refused = run("validate", file)
    assert refused.exit_code == 1
    assert refused.stderr.endswith("kube-scheduler lacks: --out-of-tree Foo\n")
    assert run("validate", file, "--out-of-tree", "Foo").exit_code == 0
    assert run("validate", file, "--out-of-tree", "Foo=filter").stdout.endswith(
        'plugin "Foo" does not extend ScorePlugin plugin\n'
    )


def test_a_queue_sort_from_elsewhere_needs_its_points(tmp_path: Path) -> None:
    plugins = "{multiPoint: {enabled: [{name: Gang}], disabled: [{name: PrioritySort}]}}"
    file = write(tmp_path, HEAD + f"profiles: [{{plugins: {plugins}}}]")
    assert "but got 0" in run("validate", file, "--out-of-tree", "Gang").stdout
    assert run("validate", file, "--out-of-tree", "Gang=queueSort,permit").exit_code == 0


# --- what cannot be read


def test_a_file_that_is_missing_or_unreadable_is_no_answer(tmp_path: Path) -> None:
    for command in (["validate"], ["show", "-f"]):
        missing = run(*command, str(tmp_path / "none.yaml")).exception
        assert isinstance(missing, InputError)
        assert str(missing) == f"{tmp_path / 'none.yaml'}: no such file or directory"
        directory = run(*command, str(tmp_path)).exception
        assert str(directory) == f"{tmp_path}: expected a file, found a directory"
        broken = run(*command, write(tmp_path, "a: [\n")).exception
        assert isinstance(broken, InputError)
        assert broken.exit_code == 2
        assert "scheduler.yaml" in str(broken)
        assert "\n" not in str(broken)


def test_a_version_that_is_none_is_a_usage_error() -> None:
    assert isinstance(run("show", "--kubernetes-version", "new").exception, UsageError)


def test_an_unknown_minor_gives_way_to_the_nearest_with_a_warning() -> None:
    newest = run("show")
    of_future = run("show", "--kubernetes-version", "9.9")
    assert of_future.stdout == newest.stdout
    nearest = f"using the rules of {DEFAULT_MINOR}, the nearest supported version"
    assert f"Kubernetes 9.9 is not supported; {nearest}" in of_future.stderr


def test_unknown_options_and_formats_are_usage_errors() -> None:
    assert run("show", "-o", "xml").exit_code == 2
    assert run("validate").exit_code == 2


def test_the_commands_are_functions_for_programs(tmp_path: Path) -> None:
    assert json.loads(kwhatif.policy_show(output="json").text)["kind"] == "KubeSchedulerConfiguration"
    assert kwhatif.policy_validate(write(tmp_path, HEAD)).problems == ()


# --- old formats

POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "NodePreferAvoidPodsPriority", "weight": 1}]}


def test_convert_prints_the_configuration_and_says_on_standard_error_what_changes() -> None:
    result = run("convert", stdin=json.dumps(POLICY))
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout)["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    lines = result.stderr.splitlines()
    assert all(line.startswith("changed: ") for line in lines)
    assert any(line.startswith("changed: NodePreferAvoidPods is gone: ") for line in lines)
    again = json.loads(run("convert", "-f", "-", "--to", "v1", "-o", "json", stdin=json.dumps(POLICY)).stdout)
    assert again["configuration"] == yaml.safe_load(result.stdout)
    assert [f"changed: {change}" for change in again["changes"]] == lines


def test_what_convert_writes_is_valid(tmp_path: Path) -> None:
    file = write(tmp_path, run("convert", stdin=json.dumps(POLICY)).stdout)
    assert run("validate", file).stdout == f"{file}: kube-scheduler {DEFAULT_MINOR} accepts it\n"


def test_convert_of_what_is_refused_is_an_error() -> None:
    result = run("convert", stdin='{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "X"}]}')
    assert isinstance(result.exception, PolicyError)
    assert str(result.exception) == 'standard input: predicate type not found for "X"'
    assert result.stdout == ""


def test_an_old_format_is_judged_by_the_last_minor_that_read_it_unless_another_is_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps(POLICY))
    assert run("validate", file).stdout == f"{file}: kube-scheduler 1.22 accepts it\n"
    assert run("validate", file, "--kubernetes-version", "1.30").exit_code == 1
    old = run("validate", file, "--kubernetes-version", "1.17")
    assert old.stdout == f"{file}: kube-scheduler 1.22 accepts it\n"
    assert "Kubernetes 1.17 is not supported; using the rules of 1.22" in old.stderr


def test_show_of_a_policy_for_a_newer_minor_translates_it(tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps(POLICY))
    shown = run("show", "-f", file, "--kubernetes-version", "1.34")
    assert yaml.safe_load(shown.stdout)["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert f"warning: {file}: NodePreferAvoidPods is gone" in shown.stderr


@pytest.mark.parametrize(("version", "nearest"), [("1.20", "1.22"), ("1.25", "1.29"), ("1.99", DEFAULT_MINOR)])
def test_validate_says_once_by_which_rules_it_goes(version: str, nearest: str, tmp_path: Path) -> None:
    file = write(tmp_path, "apiVersion: v1\nkind: Policy\n")
    said = f"Kubernetes {version} is not supported; using the rules of {nearest}, the nearest supported version"
    assert run("validate", file, "--kubernetes-version", version).stderr == f"warning: {said}\n"
