"""What is printed, to the letter. Each file in tests/golden says by its first lines which command it belongs to."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from kwhatif.commands.gate.formats.formats import FORMATS
from tests.cli.running import TESTS, run

GOLDEN = TESTS / "golden"
HEAD = re.compile(r"# flags: (.*)\n# exit: (\d)\n")


@dataclass(frozen=True)
class Case:
    path: Path
    words: tuple[str, ...]
    code: int
    output: str


def read(path: Path) -> Case:
    text = path.read_text()
    head = HEAD.match(text)
    assert head is not None, f"{path.name} lacks its '# flags:' and '# exit:' lines"
    return Case(path, tuple(shlex.split(head[1])), int(head[2]), text[head.end() :])


WIDTHS = (80, 200)
CASES = [read(path) for path in sorted(GOLDEN.glob("*.txt"))]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_the_output_is_the_golden_one_at_any_width_and_whatever_ran_before(case: Case, update_golden: bool) -> None:
    """Every other one on a wider terminal, which changes nothing where the output is none."""
    ran = run(*case.words, columns=WIDTHS[CASES.index(case) % len(WIDTHS)])
    if update_golden:
        flags = " ".join(shlex.quote(word) for word in case.words)
        case.path.write_text(f"# flags: {flags}\n# exit: {ran.code}\n{ran.out}")
        return
    assert ran.out == case.output
    assert ran.code == case.code


def test_no_output_has_blanks_at_the_ends_of_lines_or_what_a_terminal_would_obey() -> None:
    for case in CASES:
        for line in case.output.splitlines():
            assert line.isprintable(), case.path.name
            if "markdown" not in case.words:
                assert line == line.rstrip(), case.path.name
        assert case.output.endswith("\n")
        assert not case.output.endswith("\n\n")


def test_there_is_a_golden_file_for_every_command_and_format() -> None:
    formats = {
        "place": {"table", "wide", "json", "yaml", "markdown", "name", "summary"},
        "explain": {"text", "json", "yaml", "markdown"},
        "conformance": {"table", "json", "yaml", "markdown"},
        "gate": set(FORMATS),
    }
    for command, wanted in formats.items():
        cases = [case for case in CASES if case.words[0] == command]
        assert wanted == {case.words[case.words.index("-o") + 1] for case in cases if "-o" in case.words}
