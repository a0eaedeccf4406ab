"""Every command and program of the README and of the documents does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.console import Example, blocks, examples, prints, rewrite

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


TESTED_ELSEWHERE = {"change-the-cluster.md", "scheduler-policies.md", "legacy-policies.md"}
DOCUMENTS = [
    example
    for path in sorted((ROOT / "docs").glob("**/*.md"))
    if path.name not in TESTED_ELSEWHERE
    for example in examples(path.read_text("utf-8"))
]


@pytest.mark.parametrize("example", dict.fromkeys([*examples(TEXT), *DOCUMENTS]), ids=str)
def test_a_command_answers_with_what_the_page_shows(example: Example, update_golden: bool) -> None:
    ran = run(*example.arguments, folder=ROOT)
    assert ran.code in (0, 1), ran.err
    assert ran.out
    if example.output and update_golden and not prints(ran.out, example.output):
        rewrite(ran.out, example.output, [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    elif example.output:
        assert prints(ran.out, example.output), ran.out


@pytest.mark.long
@pytest.mark.parametrize("program", blocks(TEXT, "python"))
def test_a_program_runs(program: str) -> None:
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "shop/payments-hotfix general-b-1 ['batch/" in done.stdout
    assert "shop/orders-db-0 general-a-1 []\nshop/orders-db-1 general-" in done.stdout


def test_the_page_is_short_and_its_table_names_commands_of_the_tool() -> None:
    from kwhatif.commands.registry import entries_of

    assert len(TEXT.splitlines()) <= 150
    named = set(re.findall(r"\[`(\w+)`\]\(docs/", TEXT))
    assert len(named) > 10
    assert named <= set(entries_of(""))
