"""Help, options that commands share, and words that were meant otherwise."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from kwhatif.cli.common import GROUPS
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.main import app
from kwhatif.commands.parameters import parameters_of
from kwhatif.commands.registry import all_commands
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import ManifestOptions, SchedulerOptions
from tests.cli.running import CLUSTER, TESTS, run


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))
TITLES = ["Arguments", "Options", *(title for title, _ in GROUPS), "Examples"]


@pytest.mark.parametrize("path", COMMANDS)
def test_help_has_its_parts_in_one_order_and_each_option_once(path: str) -> None:
    out = run(*path.split(), "--help").out
    titles = re.findall(r"^([A-Z][^:\n]*):$", out, re.MULTILINE)
    assert titles == [title for title in TITLES if title in titles]
    assert titles[-1] == "Examples"
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", out, re.MULTILINE)
    assert len(options) == len(set(options))


def test_shared_options_have_one_group_and_one_text() -> None:
    grouped = [name for _, names in GROUPS for name in names]
    assert len(grouped) == len(set(grouped))
    there = {param.name for command in COMMANDS.values() for param in command.params}
    assert set(grouped) - there == {"help"}
    assert {field for group in (ManifestOptions, SchedulerOptions) for field, _, _ in flags_of(group)} <= set(grouped)
    assert set(EditOptions.__dataclass_fields__) <= set(grouped)  # type: ignore[attr-defined]
    for name in ("namespace", "snapshot", "kubernetes_version", "strict", "color", "exit_zero", "recursive"):
        texts = {param.help for command in COMMANDS.values() for param in command.params if param.name == name}
        assert len(texts) <= 3, (name, texts)


def test_who_may_answer_no_says_so_and_can_be_told_to_end_well() -> None:
    for path, command in COMMANDS.items():
        says = re.search(r"Exit\s+codes:.*\b1\b", command.help, re.DOTALL) is not None
        assert (all_commands()[path].may_be_no) == any(param.name == "exit_zero" for param in command.params)
        assert says == (all_commands()[path].may_be_no), path
    assert run("place", "data/pods.yaml", "--snapshot", CLUSTER).code == 1
    assert run("place", "data/pods.yaml", "--snapshot", CLUSTER, "--exit-zero").code == 0
    assert run("place", "data/pods.yaml", "--snapshot", CLUSTER).code == 1
    assert run("place", "nowhere.yaml", "--snapshot", CLUSTER, "--exit-zero").code == 2


SHORT = {
    "-l": "--selector",
    "-f": "--filename",
    "-n": "--namespace",
    "-o": "--output",
    "-R": "--recursive",
    "-h": "-h",
    "-v": "--verbosity",
}
"""What a letter means, on every command that has it."""


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_has_the_options_that_its_class_names_and_those_that_all_share(path: str) -> None:
    entry, given = all_commands()[path], {name: param for param in COMMANDS[path].params for name in param.opts}
    assert {each.flag.name.partition("/")[0] for each in parameters_of(entry.command)} - {""} <= set(given)
    assert [name for name, param in given.items() if len(name) == 2 and SHORT[name] not in param.opts] == []
    prints = entry.command.prints
    shared = {"--color": True, "--exit-zero": entry.may_be_no, "--gaps": entry.has_gaps}
    shared["--all"] = prints.rows == "--all"
    assert {name for name, has in shared.items() if has} == set(shared) & set(given)
    if prints.formats:
        assert "|".join(prints.formats) in run(*path.split(), "--help", columns=200).out


def test_files_are_named_with_and_without_f(tmp_path: Path) -> None:
    for path in ("snapshot info", "snapshot validate"):
        assert run(*path.split(), "-f", CLUSTER) == run(*path.split(), CLUSTER)
    assert run("conformance", "-f", "data/scenarios.jsonl") == run("conformance", "data/scenarios.jsonl")
    assert run("snapshot", "convert", "-f", CLUSTER, "-o", str(tmp_path / "out.json")).code == 0
    assert "missing argument 'FILE'" in run("snapshot", "validate").err


MORE = {"drain": "ant-1 --ignore-daemonsets --force", "upgrade": "--pool ant-1"}
"""Words that a command cannot do without."""


@pytest.mark.long
def test_manifests_are_taken_as_kubectl_takes_them(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    shutil.copy(TESTS / "data" / "small.yaml", below / "small.yaml")
    reading = {path for path, each in COMMANDS.items() if any(param.name == "recursive" for param in each.params)}
    for path in sorted(reading - {"gate", "autoscale plan", "diff", "queue", "sweep"}):
        words = [*path.split(), *MORE.get(path, "").split()]
        ran = run(*words, "-f", str(tmp_path), "-R", "--snapshot", CLUSTER)
        assert ran.code in (0, 1), ran.err
        out = run(*words, "-f", "data/small.yaml", "--snapshot", CLUSTER).out
        assert "small" in out or "1 of 1 pod placed before" in out
    assert "missing argument 'FILE'" in run("capacity", "--snapshot", CLUSTER).err


@pytest.mark.parametrize(
    ("words", "meant"),
    {
        "plac x": "no such command: plac; did you mean place?",
        "snapshot inf x": "no such command: inf; did you mean info?",
        "place --snapshots x": "no such option: --snapshots; did you mean --snapshot?",
        "place -o tabel": "; did you mean table?",
        "rightsize --metrics x": "no such option: --metrics; did you mean --usage?",
        "upgrade --strct x": "no such option: --strct; did you mean --strict?",
        "upgrade --prcs x": "no such option: --prcs; did you mean --prices?",
        "snapshot info --snapshot x": "no such option: --snapshot: name the file without it",
        "rightsize usage.json": "; what containers used is named with --usage",
        "drain ant-1 -n shop --snapshot data/cluster.json": "-n shop: the namespace of manifests that name none",
        "snapshot redact data/cluster.json -n shop -o x.json --translation t": "; a snapshot is redacted whole",
        "drain ant-11 --snapshot data/cluster.json": "; did you mean ant-1?",
        "explain late --node ant-11 --snapshot data/cluster.json": "; did you mean ant-1?",
        "explain lat --snapshot data/cluster.json": "; did you mean late?",
        "explain deplyment/web --snapshot data/cluster.json": "; did you mean deployment/web?",
        "explain report --snapshot data/cluster.json": "; did you mean replicaset/report?",
        "explain batch/report --snapshot data/cluster.json": "; did you mean replicaset/batch/report?",
    }.items(),
)
def test_what_is_written_wrongly_is_told_with_what_was_meant(words: str, meant: str) -> None:
    ran = run(*words.split())
    assert ran.code == 2
    assert meant in ran.err


# A server runs until it is told to end.
@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in ("serve", "mcp")])
def test_every_example_runs(path: str, tmp_path: Path) -> None:
    if path != "demo":
        (tmp_path / "samples").symlink_to(TESTS.parent / "samples")
    (tmp_path / "day.jsonl.gz").symlink_to(TESTS / "data" / "recorded-day.jsonl.gz")
    live = path in ("snapshot dump", "snapshot record")
    if path == "snapshot reveal":
        (tmp_path / "answer.txt").write_text("nothing of interest")
        run(*shlex.split(f"snapshot redact {all_commands()['snapshot redact'].examples[0]}"), folder=tmp_path)
    for line in all_commands()[path].examples:
        ran = run(*path.split(), *shlex.split(line), env={"KUBECONFIG": str(tmp_path / "nowhere")}, folder=tmp_path)
        assert ran.code in ((2,) if live else (0, 1)), ran.err
        assert not live or "kubeconfig" in ran.err.lower() or "nowhere" in ran.err


ELSEWHERE = {
    *("rich", "jinja2", "kubernetes", "tabulate", "pydantic"),
    *("kwhatif.cel", "kwhatif.plugins.outoftree.coscheduling"),
    *("kwhatif.devices", "kwhatif.legacy", "kwhatif.redaction", "kwhatif.render.html", "kwhatif.render.formats"),
    *("kwhatif.autoscaling.cluster_autoscaler", "kwhatif.autoscaling.karpenter", "kwhatif.snapshot.live.live_cluster"),
}


@pytest.mark.long
def test_what_only_some_answers_need_is_imported_only_for_them() -> None:
    """Colours, pages, autoscalers and live clusters cost nobody time who asks for none of them, nor do plain words."""
    program = (
        "import sys; from kwhatif.cli.main import main\n"
        "sys.argv = ['kwhatif', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted({ELSEWHERE} & set(sys.modules)), file=sys.stderr)"
    )
    for words in (["--help"], ["place", "data/small.yaml", "--snapshot", CLUSTER], ["gate", "--help"]):
        ran = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=TESTS, capture_output=True, encoding="utf-8", check=False
        )
        assert ran.stderr.splitlines()[-1] == "[]", words


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["-n", "shop", "--max-pods", "9"], True),
        (["--max-pods", "nine"], False),
        (["--max-pods", "0"], False),
        (["--request-timeout", "1.5", "--color", "never", "--strict"], True),
        (["--color", "blue"], False),
        (["--color", "NEVER"], False),
    ],
)
def test_words_mean_the_same_with_and_without_adapters(
    words: list[str], same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["place", "data/small.yaml", "--snapshot", CLUSTER, *words]
    quick = run(*asked)
    monkeypatch.setattr("kwhatif.cli.common.plain", lambda params, texts=(): params)
    assert run(*asked) == quick
    assert (quick.code != 2) == same


@pytest.mark.parametrize("path", COMMANDS)
def test_brief_help_fits_a_screen_and_says_where_the_rest_is(path: str) -> None:
    ran = run(*path.split(), "-h")
    assert ran.code == 0
    assert len(ran.lines) <= 40
    assert max(map(len, ran.lines)) <= 80
    assert ran.lines[-1].endswith(f"more options and examples: kwhatif {path} --help")
    assert len(run(*path.split(), "--help").lines) > len(ran.lines)


def test_verbosity_names_each_step_and_changes_no_answer() -> None:
    words = ("place", "data/small.yaml", "--snapshot", CLUSTER, "-o", "name")
    quiet, verbose = run(*words), run(*words, "-v", "1")
    assert (verbose.out, verbose.code) == (quiet.out, quiet.code)
    steps = [line for line in verbose.err.splitlines() if line not in quiet.err.splitlines()]
    assert all(re.fullmatch(r" +\d+\.\d{3}s \S.*", line) for line in steps), steps
    assert [line.split("s ", 1)[1] for line in steps][-1] == "Placing 1 pods"
    assert run(*words).err == quiet.err


def test_help_says_in_the_same_words_what_exit_code_1_means() -> None:
    said = re.compile(r"Exit codes: 0 the answer is good, 1 it is not: [^.]+, 2 usage (or input )?error[^.]*\.")
    for path, command in COMMANDS.items():
        text = " ".join((command.help or "").split())
        assert bool(said.search(text)) == all_commands()[path].may_be_no, path


def test_every_command_that_tells_of_gaps_can_tell_of_all() -> None:
    asked = ("place", "../samples/scaled/more.yaml", "--snapshot", "../samples/scaled/cluster.yaml")
    brief = run(*asked)
    assert "--gaps names them." in brief.out
    assert "closed by" not in brief.out
    assert "closed by kubectl get --raw /api/v1/services" in run(*asked, "--gaps").out
    assert run(*asked).out == brief.out
    given = {path for path, command in COMMANDS.items() if any("--gaps" in param.opts for param in command.params)}
    assert given == {path for path in COMMANDS if all_commands()[path].has_gaps}
