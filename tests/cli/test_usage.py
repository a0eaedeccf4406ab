"""Words that make no sense, help, and the commands as a whole."""

from __future__ import annotations

import pytest

from kwhatif.cli import output
from kwhatif.commands.registry import entries_of
from tests.cli.running import CLUSTER, refused, run


@pytest.mark.parametrize(
    ("words", "problem", "about"),
    [
        ("place", "name the cluster: with --snapshot", ""),
        ("place a --snapshot", "'--snapshot' requires an argument", ""),
        ("place a --snapshots b", "no such option: --snapshots", "kwhatif place"),
        ("place a --snapshot b -o xml", "'xml' is not one of 'table', 'wide'", "kwhatif place"),
        ("place a --snapshot b --seed one", "'--seed'", "kwhatif place"),
        ("explain a --snapshot b -o wid", "'wid' is not one of", "kwhatif explain"),
        ("explain a", "name the cluster: with --snapshot", ""),
        ("conformance", "missing argument 'FILE'", "kwhatif conformance"),
        ("conformance a --show -1", "'--show'", "kwhatif conformance"),
        ("conformance a --show x", "'--show'", "kwhatif conformance"),
        ("policy validate", "missing argument", "kwhatif policy validate"),
        ("policy show --what", "no such option: --what", "kwhatif policy show"),
        ("polcy", "no such command: polcy; did you mean policy?", "kwhatif"),
        ("--what", "no such option: --what", "kwhatif"),
    ],
)
def test_words_that_make_no_sense_are_told_as_kubectl_tells_it(words: str, problem: str, about: str) -> None:
    ran = run(*words.split())
    assert (ran.code, ran.out) == (2, "")
    first, *more = ran.err.splitlines()
    assert first.startswith("kwhatif: ")
    assert problem in first
    assert more == ([f"See '{about} --help' for usage."] if about else [])


def test_somebody_has_to_be_placed() -> None:
    assert refused("place", "--snapshot", CLUSTER) == "name the files with the pods to place, or ask for --with-pending"


@pytest.mark.parametrize(
    "words", [[], *([command] for command in entries_of("")), ["policy", "show"], ["policy", "validate"]]
)
@pytest.mark.parametrize("columns", [80, 200])
def test_every_command_has_help_that_fits_the_terminal(words: list[str], columns: int) -> None:
    for option in ("--help", "-h"):
        ran = run(*words, option, columns=columns)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"Usage: {' '.join(['kwhatif', *words])}")
        assert max(map(len, ran.lines)) <= columns


def test_help_of_the_program_lists_the_commands_and_exit_codes() -> None:
    ran = run()
    assert ran.out == run("--help").out
    assert all(f"\n  {command} " in ran.out for command in entries_of(""))
    assert "Exit codes: 0 the answer is good" in ran.out


def test_a_group_without_a_command_shows_its_help() -> None:
    ran = run("policy")
    assert "Usage: kwhatif policy" in ran.out + ran.err


def test_the_version_is_that_of_the_package() -> None:
    import kwhatif

    assert run("--version").out == f"kwhatif {kwhatif.__version__}\n"


def test_policy_commands_work_through_the_program() -> None:
    shown = run("policy", "show")
    assert (shown.code, shown.err) == (0, "")
    assert "kind: KubeSchedulerConfiguration" in shown.out
    assert run("policy", "validate", "data/two-profiles.yaml").code == 0
    refusal = run("policy", "validate", "data/unknown-plugin.yaml")
    assert refusal.code == 1
    assert "Coordinating" in refusal.out
    assert refused("policy", "validate", "nowhere.yaml") == "nowhere.yaml: no such file or directory"


def test_the_program_is_called_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, name in [("/usr/bin/kubectl-whatif", "kubectl whatif"), ("/x/kwhatif/__main__.py", "kwhatif")]:
        monkeypatch.setattr("sys.argv", [path])
        assert output.program() == name


def test_a_mistake_of_ours_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by \x1b[31mzero\nagain")

    monkeypatch.setattr("kwhatif.cli.command_line.check_stdin", broken)
    ran = run("place", "data/small.yaml", "--snapshot", CLUSTER)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("kwhatif: internal error: ZeroDivisionError: by \\x1b[31mzero again; please report it")
    with pytest.raises(ZeroDivisionError):
        run("place", "data/small.yaml", "--snapshot", CLUSTER, env={"KWHATIF_DEBUG": "1"})


def test_an_interruption_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kwhatif.cli.command_line.check_stdin", interrupted)
    ran = run("place", "data/small.yaml", "--snapshot", CLUSTER)
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "kwhatif: interrupted")
