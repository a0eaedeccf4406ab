"""What a shell is told that asks for the rest of a word."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.running import CLUSTER, TESTS

pytestmark = pytest.mark.long


def completed(words: str, env: dict[str, str] | None = None) -> tuple[list[str], str]:
    """What bash would offer for the last of the words, and what was complained of."""
    given = {**os.environ, "_KWHATIF_COMPLETE": "complete_bash", "COMP_WORDS": words, **(env or {})}
    given["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    program = "import sys; sys.argv = ['kwhatif']; from kwhatif.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS, env=given, capture_output=True, encoding="utf-8", check=False
    )
    return ran.stdout.split(), ran.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    {
        f"kwhatif drain --snapshot {CLUSTER} be": ["bee-1", "bee-2"],
        f"kwhatif explain --snapshot {CLUSTER} shop/l": ["shop/late", "shop/late-big"],
        f"kwhatif place --snapshot {CLUSTER} --cordon cat": ["cat-1"],
        f"kwhatif explain --snapshot {CLUSTER} replicaset/shop/w": ["replicaset/shop/web"],
        f"kwhatif place --snapshot {CLUSTER} --scale replicaset/shop/w": ["replicaset/shop/web="],
        "kwhatif drain --snapshot nowhere.json be": [],
        "kwhatif drain be": [],
    }.items(),
)
def test_names_of_the_snapshot_are_offered_and_nothing_is_said(words: str, offered: list[str]) -> None:
    assert completed(words, {"KWHATIF_SNAPSHOT": ""}) == (offered, "")
