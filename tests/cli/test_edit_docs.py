"""What docs/how-to/change-the-cluster.md shows is what happens, and it names all there is."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kwhatif.cli.edit_options import EditOptions
from kwhatif.simulation.edits.document import Edit, read_edits
from tests.cli.running import TESTS, run
from tests.console import Example, blocks, examples, prints

PAGES = ("how-to/change-the-cluster", "reference/cluster-edits")
TEXT = "\n".join((TESTS.parent / f"docs/{page}.md").read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("example", examples(TEXT), ids=str)
def test_a_command_prints_what_the_page_shows(example: Example) -> None:
    words = [word.replace("samples/", "../samples/") for word in example.arguments]
    ran = run(*words)
    assert prints(ran.out, example.output), ran.out
    assert ran.notes == [line for line in TEXT.splitlines() if line.startswith(("note: ", "warning: "))]


def test_the_document_of_the_page_can_be_read_and_says_every_edit(tmp_path: Path) -> None:
    (body,) = blocks(TEXT, "yaml")
    path = tmp_path / "edits.yaml"
    path.write_text(body)
    assert {given.name for given in read_edits([str(path)])} == set(Edit.__struct_fields__)


def test_the_page_names_every_option_in_the_order_in_which_they_apply() -> None:
    help_ = run("place", "--help").out
    table = [line.split("`")[1] for line in TEXT.splitlines() if line.startswith("| `--")]
    named = list(dict.fromkeys(word for text in table for word in shlex.split(text)[:1]))
    options = [
        f"--{field.name.rstrip('_').replace('_', '-')}" for field in dataclasses.fields(cast("Any", EditOptions))
    ]
    assert [option for option in options if option not in ("--like", "--in")] == named
    assert all(f" {option} " in help_ for option in options)


def test_every_field_of_the_document_is_a_word_of_the_page() -> None:
    for field in msgspec.structs.fields(Edit):
        assert f"- {field.encode_name}:" in TEXT
