"""What pipelines run: the GitHub action's steps and the GitLab job, in bash on a repository; hooks; completion."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.commands.gate.formats.markdown import MARKER
from kwhatif.commands.registry import entries_of
from tests.cli.running import python_script

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "samples" / "gate"
ACTION = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
NOW = "2026-03-01T12:00:00Z"

needs_bash = pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="needs bash")


# --- a repository with a change


@dataclass
class Checkout:
    """A clone in which the base is ``main`` of ``origin`` and the head lies in the work tree; and a place for tools."""

    path: Path
    temp: Path
    tools: Path
    env: dict[str, str] = field(default_factory=dict)

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        ran = subprocess.run(command, cwd=self.path, env=self.env, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def tool(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def bash(self, script: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """As GitHub's runner calls it."""
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        environment = {**self.env, **env}
        return subprocess.run(words, cwd=self.path, env=environment, check=False, capture_output=True, text=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    if not shutil.which("git"):
        pytest.skip("needs git")
    made = Checkout(tmp_path / "clone", tmp_path / "temp", tmp_path / "tools")
    for path in (made.path, made.temp, made.tools):
        path.mkdir()
    made.env = {
        "PATH": f"{made.tools}:{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(made.temp),
        "KWHATIF_NOW": NOW,
    }
    root, python = shlex.quote(str(ROOT)), shlex.quote(sys.executable)
    made.tool(made.tools / "kwhatif", f'#!/bin/sh\nPYTHONPATH={root} exec {python} -m kwhatif "$@"\n')
    for directory in (made.tools, made.temp / "kwhatif" / "bin"):
        made.tool(directory / "python", f'#!/bin/sh\nexec {python} "$@"\n')
    shutil.copytree(SAMPLE / "base", made.path / "manifests")
    shutil.copy(SAMPLE / "snapshot.json", made.path)
    shutil.copy(SAMPLE / "rules-fail.yaml", made.path / ".kwhatif.yaml")
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("add", ".")
    made.git("commit", "--quiet", "-m", "base")
    made.git("clone", "--quiet", "--bare", ".", str(tmp_path / "origin.git"))
    made.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    shutil.rmtree(made.path / "manifests")
    shutil.copytree(SAMPLE / "head", made.path / "manifests")
    return made


# --- the action


def known(inputs: Mapping[str, str], outputs: Mapping[str, str], expression: str) -> str:
    """What an expression of the action comes to."""
    kind, _, name = expression.partition(".")
    match kind:
        case "inputs":
            return {**{key: str(each.get("default", "")) for key, each in ACTION["inputs"].items()}, **inputs}[name]
        case "steps":
            return outputs.get(name, "")
        case "github":
            return {"repository": "o/r", "event.pull_request.number": "7", "action_path": "/action"}[name]
    raise AssertionError(expression)


def step(
    checkout: Checkout, name: str, inputs: Mapping[str, str], outputs: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a step of the action; what it puts out is added to ``outputs``, as ``gate.outputs.verdict``."""
    told = {n: EXPRESSION.sub(lambda m: known(inputs, outputs, m[1]), v) for n, v in STEPS[name]["env"].items()}
    files = {n: checkout.temp / n for n in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    files["GITHUB_OUTPUT"].write_text("")
    ran = checkout.bash(STEPS[name]["run"], {**told, **{n: str(path) for n, path in files.items()}})
    for line in files["GITHUB_OUTPUT"].read_text().splitlines():
        output, _, value = line.partition("=")
        outputs[f"{STEPS[name]['id']}.outputs.{output}"] = value
    return ran


def run_action(checkout: Checkout, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str], int]:
    """What the step that asks printed, all outputs, and the code that the action ends with."""
    given = {"manifests": "manifests", "base-ref": "main", **{n.replace("_", "-"): v for n, v in inputs.items()}}
    outputs: dict[str, str] = {}
    if given["base-ref"]:
        assert step(checkout, "Get what it is compared with", given, outputs).returncode == 0
    asked = step(checkout, "Ask", given, outputs)
    assert asked.returncode == 0, asked.stderr
    return asked, outputs, step(checkout, "Verdict", given, outputs).returncode


def test_every_input_of_the_action_is_used_and_no_other() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / ".github/actions/gate/action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_no_script_of_the_action_has_an_expression_in_it() -> None:
    # What an input says would be run.
    assert [name for name, each in STEPS.items() if "${{" in each["run"]] == []


@pytest.mark.long
@needs_bash
def test_the_action_judges_the_change_annotates_it_and_fails(checkout: Checkout) -> None:
    ran, outputs, code = run_action(checkout)
    assert (outputs["gate.outputs.verdict"], code) == ("fail", 1)
    lines = ran.stdout.splitlines()
    stop = lines[0].removeprefix("::stop-commands::")
    annotations = lines[lines.index(f"::{stop}::") + 1 :]
    assert any(re.match(r"::error file=manifests/shop/web\.yaml,line=\d+,title=", line) for line in annotations)
    assert all(line.startswith("::") for line in annotations)
    reports = Path(outputs["gate.outputs.reports"])
    assert json.loads((reports / "gate.json").read_text())["judged"] == "change"
    assert json.loads((reports / "gate.sarif").read_text())["version"] == "2.1.0"
    assert (checkout.temp / "GITHUB_STEP_SUMMARY").read_text().startswith(MARKER)
    assert sorted(path.name for path in reports.iterdir()) == [
        *("annotations", "gate.json", "gate.md", "gate.sarif", "gate.xml")
    ]


def plant_modules(checkout: Checkout) -> None:
    """A pull request that brings modules by the names of what Python and kwhatif import, and wants them looked for."""
    trap = f"open({str(checkout.path / 'imported')!r}, 'a').write(__name__ + '\\n')\nraise SystemExit(0)\n"
    for name in ("json", "secrets", "venv", "typer", "kwhatif", "sitecustomize", "usercustomize"):
        (checkout.path / f"{name}.py").write_text(trap)
    checkout.env["PYTHONPATH"] = "."


@pytest.mark.long
@needs_bash
def test_nothing_in_the_checkout_is_imported(checkout: Checkout) -> None:
    plant_modules(checkout)
    _, outputs, code = run_action(checkout)
    assert (outputs["gate.outputs.verdict"], code) == ("fail", 1)
    assert not (checkout.path / "imported").exists()


@needs_bash
@pytest.mark.parametrize(("inputs", "installed"), [({}, 2), ({"install": "kwhatif==1.2.3"}, 1)])
def test_the_action_installs_outside_the_checkout(checkout: Checkout, inputs: dict[str, str], installed: int) -> None:
    plant_modules(checkout)
    # What would make the environment and install there, on paper.
    log = checkout.temp / "log"
    record = f'#!/bin/sh\necho "$PWD $@" >> {log}\n'
    for path in (checkout.tools / "python", checkout.temp / "kwhatif" / "bin" / "python"):
        checkout.tool(path, record)
    assert step(checkout, "Install kwhatif", inputs, {}).returncode == 0
    made, *pip = log.read_text().splitlines()
    assert made == f"{checkout.temp} -I -m venv kwhatif"
    assert len(pip) == installed
    if not inputs:
        assert re.fullmatch(rf"{checkout.temp} -I \S*/\.ci/lock\.py install users", pip.pop(0))
    assert all(line.startswith(f"{checkout.temp} -I -m pip install ") for line in pip)


@pytest.mark.parametrize("path", [".github/actions/gate/action.yml", "docs/ci/gitlab.yml", "docs/ci/Dockerfile"])
def test_every_python_of_a_pipeline_is_isolated(path: str) -> None:
    text = (ROOT / path).read_text().replace('ENTRYPOINT ["python", "-I",', "")
    called = re.findall(r"""(?:^|[\s("/])python"? (\S+)""", re.sub("(?m)^ *#.*", "", text))
    assert set(called) == {"-I"}


@pytest.mark.long
@needs_bash
def test_the_action_takes_the_change_from_a_checkout_without_history_and_leaves_history_alone(
    checkout: Checkout,
) -> None:
    run_action(checkout)
    assert checkout.git("rev-parse", "--is-shallow-repository") == "false"
    checkout.git("fetch", "--quiet", "--depth=1", f"file://{checkout.path}/../origin.git", "main")
    _, outputs, _ = run_action(checkout)
    assert outputs["gate.outputs.verdict"] == "fail"


@pytest.mark.long
@needs_bash
def test_the_action_passes_what_passes_and_hands_on_options(checkout: Checkout) -> None:
    shutil.copy(SAMPLE / "rules-warn.yaml", checkout.path / "others.yaml")
    _, outputs, code = run_action(checkout, config="others.yaml", snapshot="snapshot.json\n")
    assert (outputs["gate.outputs.verdict"], code) == ("warn", 0)
    _, outputs, code = run_action(checkout, config="others.yaml", args="--rule unschedulable=error --no-exemptions")
    assert (outputs["gate.outputs.verdict"], code) == ("fail", 1)


@pytest.mark.long
@needs_bash
def test_without_a_base_the_action_judges_everything(checkout: Checkout) -> None:
    _, outputs, _ = run_action(checkout, base_ref="", manifests="manifests/shop/cart.yaml\nmanifests/shop/web.yaml")
    report = json.loads((Path(outputs["gate.outputs.reports"]) / "gate.json").read_text())
    assert report["judged"] == "everything"
    assert {change["location"]["file"] for change in report["changes"]} == {
        *("manifests/shop/cart.yaml", "manifests/shop/web.yaml")
    }


@pytest.mark.long
@needs_bash
def test_an_action_without_an_answer_fails_with_2_and_nothing_in_an_input_is_run(checkout: Checkout) -> None:
    ran, outputs, code = run_action(checkout, manifests="$(touch${IFS}owned) ;touch *")
    assert (outputs["gate.outputs.verdict"], code) == ("error", 2)
    assert "kwhatif: " in ran.stdout
    assert not list(checkout.path.glob("owned"))


@pytest.mark.long
@needs_bash
@pytest.mark.parametrize(("found", "call"), [("", "POST repos/o/r/issues/7"), ("12\n13", "PATCH repos/o/r/issues")])
def test_the_action_comments_once_and_then_renews_its_comment(checkout: Checkout, found: str, call: str) -> None:
    gh = f'#!/bin/sh\necho "$@" >> {checkout.temp}/calls\ncase "$*" in *--jq*) printf \'{found}\' ;; esac\n'
    checkout.tool(checkout.tools / "gh", gh)
    _, outputs, _ = run_action(checkout)
    assert step(checkout, "Comment", {"token": "t"}, outputs).returncode == 0
    asked, told = (checkout.temp / "calls").read_text().splitlines()
    assert MARKER in asked
    reports = outputs["gate.outputs.reports"]
    end = "/comments/12" if found else "/comments"
    assert told == f"api --silent --method {call}{end} -F body=@{reports}/gate.md"


@needs_bash
def test_a_comment_that_cannot_be_made_is_no_verdict(checkout: Checkout) -> None:
    checkout.tool(checkout.tools / "gh", "#!/bin/sh\nexit 1\n")
    ran = step(checkout, "Comment", {"token": "t"}, {"gate.outputs.reports": "nowhere"})
    assert ran.returncode == 0
    assert ran.stdout.startswith("::warning ")


# --- GitLab


@pytest.mark.long
@needs_bash
def test_the_gitlab_job_writes_its_reports_and_fails(checkout: Checkout) -> None:
    job = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["kwhatif-gate"]
    install, *script = job["script"]
    assert "pip install" in install
    env = {**job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": checkout.git("rev-parse", "HEAD")}
    plant_modules(checkout)
    ran = checkout.bash("\n".join(script).replace("/opt/kwhatif/bin/", ""), env)
    assert not (checkout.path / "imported").exists()
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("\x1b[1;31mFAIL\x1b[0m")
    reports = [*job["artifacts"]["reports"].values(), *job["artifacts"]["paths"]]
    assert all((checkout.path / name).stat().st_size for name in reports)
    issues = json.loads((checkout.path / "gl-code-quality.json").read_text())
    assert "manifests/shop/web.yaml" in {issue["location"]["path"] for issue in issues}


# --- names that mean something to a shell


def plant_hostile_names(checkout: Checkout) -> None:
    names = ("a b", "it's", 'say "x"', "$(touch owned)", "`touch owned`", ";touch owned;", "-rf", "--config=owned", "*")
    for number, name in enumerate((*names, "two\n::error::owned\nlines", "##[error]owned")):
        (checkout.path / "manifests/-o json").mkdir(exist_ok=True)
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}", "namespace": "shop"}}
        (checkout.path / "manifests/-o json" / f"{name}.yaml").write_text(json.dumps(config))


@pytest.mark.long
@needs_bash
def test_the_action_neither_runs_a_name_in_a_checkout_nor_takes_it_for_an_option(checkout: Checkout) -> None:
    plant_hostile_names(checkout)
    ran, outputs, code = run_action(checkout)
    assert (outputs["gate.outputs.verdict"], code) == ("fail", 1), ran.stdout
    assert not list(checkout.path.rglob("owned"))
    assert "::error::owned" not in ran.stdout.splitlines()


@pytest.mark.long
@needs_bash
@pytest.mark.parametrize(("named", "code"), [("manifests", 1), ("$(touch${IFS}owned) ;touch * --help", 2)])
def test_the_gitlab_job_runs_no_name(checkout: Checkout, named: str, code: int) -> None:
    plant_hostile_names(checkout)
    job = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["kwhatif-gate"]
    env = {**job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": checkout.git("rev-parse", "HEAD")}
    script = "\n".join(job["script"][1:]).replace("/opt/kwhatif/bin/", "")
    ran = checkout.bash(script, {**env, "KWHATIF_MANIFESTS": named})
    assert ran.returncode == code, ran.stderr
    assert not list(checkout.path.rglob("owned"))


# --- the page on it


def test_the_page_has_every_format_and_every_input() -> None:
    page = "\n".join((ROOT / f"docs/how-to/{name}.md").read_text() for name in ("write-gate-reports", "run-in-ci"))
    rows = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    names = {name for row in rows for name in re.findall("`([^`]*)`", row)}
    assert names == {*FORMATS, *ACTION["inputs"]}


# --- hooks, image


def test_the_hook_runs_once_for_all_files_and_its_command_exists() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["pass_filenames"], hook["language"]) == (False, "python")
    program, command = hook["entry"].split()
    assert program == "kwhatif"
    assert command in entries_of("")


def test_the_image_has_every_package_of_the_build() -> None:
    lines = (ROOT / "docs/ci/Dockerfile").read_text().splitlines()
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    needed = {".ci/lock.py", ".ci/lock.txt", "pyproject.toml", "README.md", "LICENSE", "kwhatif", "samples", "schemas"}
    assert needed <= copied
    assert all((ROOT / name).exists() for name in needed)


def test_the_image_can_serve() -> None:
    assert "lock.py install image" in (ROOT / "docs/ci/Dockerfile").read_text()
    lock = (ROOT / ".ci/lock.txt").read_text()
    assert all(re.search(rf"^# for: .*\bimage\b.*\n{name}==", lock, re.MULTILINE) for name in ("starlette", "uvicorn"))


# --- completion


@pytest.mark.long
@needs_bash
def test_bash_completes_the_command_its_options_and_their_values(checkout: Checkout) -> None:
    def completed(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        script = (
            'eval "$(_KWHATIF_COMPLETE=source_bash kwhatif)"\n'
            f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n"
            '_kwhatif_completion kwhatif\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        return checkout.bash(script, {}).stdout.split()

    assert completed("kwhatif", "ga") == ["gate"]
    assert completed("kwhatif", "gate", "--conf") == ["--config"]
    assert completed("kwhatif", "gate", "--output", "sa") == ["sarif"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_complete_too(checkout: Checkout, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    script = {
        "zsh": 'compdef() { :; }; eval "$(_KWHATIF_COMPLETE=source_zsh kwhatif)"; _arguments() { print -r -- "$@"; }; '
        "words=(kwhatif ga); CURRENT=2; _kwhatif_completion",
        "fish": "_KWHATIF_COMPLETE=source_fish kwhatif | source; complete -C 'kwhatif ga'",
    }[shell]
    ran = subprocess.run([program, "-c", script], env=checkout.env, check=False, capture_output=True, text=True)
    assert "gate" in ran.stdout, ran.stderr


@pytest.mark.long
@needs_bash
def test_kubectl_runs_it_as_a_plugin_under_that_name(checkout: Checkout) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["kubectl-whatif"].partition(":")
    lines = ("import sys", f"sys.path.insert(0, {str(ROOT)!r})", f"from {module} import {function}", f"{function}()")
    checkout.tool(checkout.tools / "kubectl-whatif", python_script("\n".join(lines)))
    # With kubectl or, where there is none, as kubectl would call it.
    command = "kubectl whatif" if shutil.which("kubectl") else "kubectl-whatif"
    assert checkout.bash(f"{command} gate manifests --base manifests", {}).returncode == 0
    assert "Usage: kubectl whatif gate" in checkout.bash(f"{command} gate --help", {}).stdout


# --- the project's own


@pytest.mark.parametrize("path", [*ROOT.glob(".github/workflows/*.yml"), ROOT / ".github/actions/gate/action.yml"])
def test_actions_are_pinned(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", each) for each in used)


def test_what_builds_is_what_pyproject_says_builds() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert told["dependency-groups"]["build"] == told["build-system"]["requires"]


def test_every_python_that_is_promised_is_tested_on_every_system() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    matrix = yaml.safe_load(text)["jobs"]["test"]["strategy"]["matrix"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [found[1] for one in classifiers if (found := re.fullmatch(r"Programming Language :: .* (3\.\d+)", one))]
    assert matrix["python"] == versions
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_commits_are_checked_as_make_check_does() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    lines = (ROOT / "Makefile").read_text()
    for hook in hooks:
        program = hook["entry"].removeprefix(".venv/bin/").split(" --")[0]
        assert f"$(BIN)/{program}" in lines
