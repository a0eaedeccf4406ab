"""The documents: their links lead somewhere, and the paths they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.console import blocks
from tests.reference_tables import TABLES, filled

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")], key=lambda path: path.name
)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PATH = re.compile(r"(?<![\w/.])((?:samples|benchmarks|docs|tests|schemas)/[\w./-]*\w)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_points_to_exists(document: Path) -> None:
    text = document.read_text()
    missing = [link for link in LINK.findall(text) if not (document.parent / link).exists()]
    missing += [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert not missing


def test_decisions_are_numbered_without_gaps_and_titled_with_their_number() -> None:
    records = sorted((ROOT / "docs/contributing/decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    assert all(path.read_text().startswith(f"# {path.name[:4]}: ") for path in records)


@pytest.mark.parametrize("page", TABLES)
def test_a_page_of_the_reference_has_the_tables_that_the_program_makes(page: str) -> None:
    found, expected = filled(page)
    assert found == expected, "python -m tests.reference_tables writes them anew"


@pytest.mark.long
def test_the_programs_of_the_page_about_python_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for program in blocks((ROOT / "docs/how-to/ask-from-python.md").read_text("utf-8"), "python"):
        exec(compile(program, "ask-from-python.md", "exec"), {})
    assert "0 Fits: 4 of 4 pods placed\nshop/web-canary-1 general-a-1\n" in capsys.readouterr().out
