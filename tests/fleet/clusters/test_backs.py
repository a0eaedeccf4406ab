"""Real clusters of Dask and Ray: the very rows that one process finds, also where workers are killed; and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executor_selection import executor_of
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import FailedTask, Study
from tests.fleet.squares import Base, squares

# What these packages warn of is not ours to mend.
pytestmark = [pytest.mark.filterwarnings("default")]


def study(directory: Path, **accidents: Any) -> Study[Any, Any, Any]:
    directory.mkdir()
    return squares(Base(directory, **accidents))


def test_rows_and_files_are_those_of_one_process_although_workers_are_killed(on: str, tmp_path: Path) -> None:
    alone, theirs = tmp_path / "alone.jsonl", tmp_path / "theirs.jsonl"
    list(run(study(tmp_path / "a", bad={7}), executor_of(None, 1), RowsFile(str(alone))))
    killing = study(tmp_path / "b", bad={7}, bad_once={9}, kills_once={20})
    list(run(killing, executor_of(on, None), RowsFile(str(theirs))))
    assert theirs.read_bytes() == alone.read_bytes()


def test_a_world_that_kills_every_worker_is_a_row_with_an_error(on: str, tmp_path: Path) -> None:
    rows = list(run(study(tmp_path / "a", kills={5}), executor_of(on, 2)))
    assert [row.index for row in rows if isinstance(row, FailedTask)] == [5]
    assert len(rows) == 40


def test_parquet_has_a_column_for_each_number_and_is_gone_on_with(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = str(tmp_path / "squares.parquet")
    first = study(tmp_path / "a", bad={3})
    rows = list(run(first, executor_of(None, 1), RowsFile(path)))
    table = parquet.read_table(path)
    assert table.column_names == ["study", "index", "world.value", "row.square", "line", "error"]
    assert table["row.square"].to_pylist()[:5] == [0, 1, 4, None, 16]
    assert [each.name for each in tmp_path.glob("*.parquet*")] == ["squares.parquet"]
    again = study(tmp_path / "b")
    assert list(run(again, executor_of(None, 1), RowsFile(path, resume=True))) != rows
    assert again.base.tried == [3]
    assert parquet.read_table(path)["row.square"].null_count == 0
