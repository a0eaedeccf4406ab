"""What the pages about the gate say is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from kwhatif.commands.gate.gate_policy import DEFAULT_RULES, rules_of
from kwhatif.commands.gate.rule import in_tree, register
from kwhatif.simulation.repository_policy import GatePolicy, read_policy
from tests.console import blocks

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("how-to/gate-changes", "reference/gate", "how-to/write-a-gate-rule")
PAGE = "\n".join((DOCS / f"{page}.md").read_text("utf-8") for page in PAGES)
GUIDE = (DOCS / "tutorials/gate-my-pull-requests.md").read_text("utf-8")


def test_the_rules_that_are_on_by_default_are_named() -> None:
    assert f"these run: {', '.join(f'`{name}`' for name in DEFAULT_RULES)}." in PAGE.replace("\n", " ")


@pytest.mark.parametrize("text", [*blocks(PAGE, "yaml"), *blocks(GUIDE, "yaml")])
def test_documents_of_the_pages_can_be_read(text: str, tmp_path: Path) -> None:
    document = yaml.safe_load(text)
    if "kind" not in document:
        assert "kwhatif.dev/ignore" in document["metadata"]["annotations"]
        return
    path = tmp_path / ".kwhatif.yaml"
    path.write_text(text)
    assert rules_of(read_policy(str(path)), in_tree())


def test_every_field_of_the_file_and_every_variable_is_told() -> None:
    (first, *_) = blocks(PAGE, "yaml")
    fields = [field.encode_name for field in msgspec.structs.fields(GatePolicy) if field.name != "metadata"]
    assert [line.split(":")[0] for line in first.splitlines() if re.match(r"\w+:", line)] == [
        *fields,
    ]
    source = (DOCS.parent / "kwhatif" / "commands" / "gate" / "question.py").read_text()
    for variable in set(re.findall(r"KWHATIF_[A-Z_]+[A-Z]", source)) - {"KWHATIF_"}:
        assert f"`{variable}`" in PAGE


def test_the_rule_of_the_page_is_one() -> None:
    (program,) = blocks(PAGE, "python")
    found: dict[str, object] = {}
    exec(program, found)
    rules = dict(in_tree())
    register(rules, found["MaxPods"], "the page")
    assert "max-pods" in rules
