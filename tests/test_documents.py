"""The documents: their links lead somewhere, and the paths they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kwhatif.api.kinds import READ_KINDS

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


def test_the_page_of_a_snapshots_contents_has_every_kind_that_is_read() -> None:
    table = (ROOT / "docs/reference/snapshot-contents.md").read_text().partition("\n## What is left out")[0]
    words = set(re.findall(r"\w+", table))
    aliases = {"CoschedulingPodGroup": "PodGroup", "KueueWorkload": "Workload"}
    bindings = {f"{kind}AdmissionPolicyBinding" for kind in ("Mutating", "Validating")}
    assert {aliases.get(kind.name, kind.name) for kind in READ_KINDS} - bindings <= words
