"""Small files that stand for large ones are refused by every command that reads files, in little time and memory."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
import zstandard

from tests.cli.running import run
from tests.fuzz.commands import COMMANDS
from tests.fuzz.trial import Trial

pytestmark = pytest.mark.posix

SECONDS = 60.0
"""Of the processor. None takes a tenth of it."""

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMBS = {
    "aliases that stand for a billion values": LAUGHS.encode(),
    "lists in each other": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "blanks, packed": gzip.compress(b" " * (64 << 20)),
    "documents, packed": gzip.compress(b"---\n" * (4 << 20)),
    "blanks, packed by zstd": zstandard.compress(b" " * (64 << 20)),
    "blanks, packed again and again": gzip.compress(gzip.compress(gzip.compress(b" " * (64 << 20)))),
    "a number of a million digits": b'{"apiVersion": "v1", "kind": "Pod", "spec": ' + b"9" * 1_000_000 + b"}",
}
READERS = sorted(
    {
        sort: next((command for command in commands if "{bad}" in command or "{rows}" in command), "")
        for sort, commands in COMMANDS.items()
        if sort != "page"
    }.items()
)
"""A command for each sort of file; an API server's answers are no files."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    Trial(folder)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_by_every_reader(folder: Path, bomb: str) -> None:
    slow, taken = [], []
    for sort, command in READERS:
        (folder / "bad.json").write_bytes(BOMBS[bomb])
        (folder / "rows.jsonl").write_bytes(BOMBS[bomb])
        words = {path.stem: str(path) for path in folder.iterdir()}
        words |= {"good": words["release"], "rows": str(folder / "rows.jsonl")}
        began = time.process_time()
        ran = run(*command.format(out=folder / "out", **words).split())
        seconds = time.process_time() - began
        if seconds > SECONDS:
            slow.append((sort, seconds))
        if ran.code != 2 or "internal error" in ran.err or not ran.err.splitlines()[-1].startswith("kwhatif: "):
            taken.append((sort, ran.code, ran.err[-200:]))
    assert (slow, taken) == ([], [])
