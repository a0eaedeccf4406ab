"""Studies: the same rows from any number of workers, whatever happens to them, and rows that are kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.errors import InputError, KwhatifError, UsageError
from kwhatif.fleet import executors as here
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executor_selection import executor_of
from kwhatif.fleet.executors import Executor, FatalError, LocalExecutor, LostError, WorkerPool
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import BatchResult, FailedTask, Study, answer_batch
from tests.fleet.squares import Base, Square, squares


def expected(numbers: int = 40, **failed: str) -> list[Square | FailedTask]:
    """All squares, but for the numbers that ``_7="7 is bad"`` names."""
    rows: list[Square | FailedTask] = [Square(n * n, tuple(map(int, str(n * n)))) for n in range(numbers)]
    for name, error in failed.items():
        rows[int(name[1:])] = FailedTask(int(name[1:]), error)
    return rows


def rows_of(study: Study[Any, Any, Any], back: Executor, kept: RowsFile | None = None) -> list[Any]:
    return list(run(study, back, kept))


# --- processes


@pytest.mark.long
@pytest.mark.posix
def test_rows_and_files_are_the_same_from_one_process_and_from_two_of_which_one_is_killed(tmp_path: Path) -> None:
    files = []
    for processes in (1, 2):
        marks = tmp_path / str(processes)
        marks.mkdir()
        files.append(tmp_path / f"{processes}.jsonl")
        base = Base(marks, bad=frozenset({7}), kills_once=frozenset({20} if processes == 2 else ()))
        rows = rows_of(squares(base), LocalExecutor(processes), RowsFile(str(files[-1])))
        assert rows == expected(_7="7 is bad")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_study_that_takes_long_gets_a_process_for_each_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = []

    def processes(study: Study[Any, Any, Any], cores: int) -> AbstractContextManager[WorkerPool]:
        opened.append(cores)
        return nullcontext(Scripted(study))

    monkeypatch.setattr(here, "_processes", processes)
    monkeypatch.setattr(here, "cores_here", lambda: 3)
    assert rows_of(squares(Base(tmp_path)), LocalExecutor()) == expected()
    assert opened == []
    monkeypatch.setattr(here, "_ALONE", 0.0)
    monkeypatch.setattr(here, "_WORTH_IT", 0.0)
    assert rows_of(squares(Base(tmp_path)), LocalExecutor()) == expected()
    assert opened == [3]


@pytest.mark.parametrize(
    ("cores", "worlds", "processes"),
    [(2, 3, 3), (2, 4, 2), (2, 40, 2), (8, 3, 3), (1, 3, None)],
    ids=["a few more worlds than cores", "twice as many", "many", "fewer", "one core"],
)
def test_few_worlds_of_a_heavy_study_have_a_process_each(
    cores: int, worlds: int, processes: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened = []

    def start(study: Study[Any, Any, Any], number: int) -> AbstractContextManager[WorkerPool]:
        opened.append(number)
        return nullcontext(Scripted(study))

    monkeypatch.setattr(here, "_processes", start)
    monkeypatch.setattr(here, "cores_here", lambda: cores)
    monkeypatch.setattr(here, "can_fork", lambda: True)
    study = msgspec.structs.replace(squares(Base(tmp_path), worlds), heavy=True)
    assert rows_of(study, LocalExecutor()) == expected(worlds)
    assert opened == ([] if processes is None else [processes])


def test_a_program_without_python_asks_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert rows_of(squares(Base(tmp_path)), LocalExecutor()) == expected()
    with pytest.raises(UsageError, match="--workers 2: this program has no Python"):
        rows_of(squares(Base(tmp_path)), LocalExecutor(2))


# --- the course


class Scripted:
    """Two workers who ask when they are told to: batches end last in, first out. Some come to what ``script`` says."""

    width = 2

    def __init__(self, study: Study[Any, Any, Any], script: Sequence[tuple[int, type[Exception]]] = ()) -> None:
        self._study, self._script = study, list(script)
        self.handed: list[tuple[list[int], str | None]] = []
        self.renewed = 0
        self._waiting: list[tuple[Future[BatchResult], Sequence[Any], str]] = []

    def workers(self, study: Study[Any, Any, Any], left: int) -> AbstractContextManager[WorkerPool]:
        return nullcontext(self)

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        found: Future[BatchResult] = Future()
        self.handed.append(([world.value for world in worlds], avoid))
        self._waiting.append((found, worlds, f"worker-{len(self._waiting)}"))
        if len(self._waiting) == self.width or worlds[-1] == self._study.tasks[-1] or avoid or self.renewed:
            while self._waiting:
                self._end(*self._waiting.pop())
        return found

    def _end(self, found: Future[BatchResult], worlds: Sequence[Any], worker: str) -> None:
        for place, (number, accident) in enumerate(self._script):
            if number in [world.value for world in worlds]:
                del self._script[place]
                found.set_exception(accident())
                return
        found.set_result(answer_batch(self._study.ask, self._study.base, worlds, worker))

    def verdict(self, error: BaseException) -> Exception:
        assert isinstance(error, Exception)
        return error

    def renew(self) -> None:
        self.renewed += 1


def test_a_world_that_fails_is_tried_again_elsewhere_and_rows_keep_their_order(tmp_path: Path) -> None:
    study = squares(Base(tmp_path, bad=frozenset({0}), bad_once=frozenset({2})), 6)
    pool = Scripted(study)
    assert rows_of(study, pool) == expected(6, _0="0 is bad")
    assert {(numbers[0], avoid) for numbers, avoid in pool.handed if avoid} == {(0, "worker-0"), (2, "worker-0")}


def test_worlds_under_way_when_a_worker_died_go_one_by_one_and_then_alone(tmp_path: Path) -> None:
    study = squares(Base(tmp_path), 2)
    pool = Scripted(study, [(0, LostError), (0, LostError), (0, LostError)])
    assert rows_of(study, pool) == expected(2, _0="")
    assert pool.renewed == 3


def test_a_batch_that_kills_every_worker_is_taken_apart(tmp_path: Path) -> None:
    study = squares(Base(tmp_path), 12)
    pool = Scripted(study, [(11, FatalError), (11, FatalError)])
    rows = rows_of(study, pool)
    assert rows[:11] == expected(12)[:11]
    assert rows[11] in (FailedTask(11, ""), expected(12)[11])
    assert pool.renewed == 0


def test_what_is_neither_ends_the_study(tmp_path: Path) -> None:
    study = squares(Base(tmp_path), 4)
    with pytest.raises(UsageError):
        rows_of(study, Scripted(study, [(3, UsageError)]))


# --- rows that are kept


def test_a_study_that_was_cut_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = str(tmp_path / "squares.jsonl")
    whole = tmp_path / "whole.jsonl"
    assert rows_of(squares(Base(tmp_path)), LocalExecutor(1), RowsFile(str(whole))) == expected()
    first = run(squares(Base(tmp_path, bad=frozenset({3}))), LocalExecutor(1), RowsFile(path))
    for _ in range(10):
        next(first)
    first.close()
    with open(path, "ab") as file:
        file.write(b'{"study":"')
    kept = {json.loads(line)["index"] for line in Path(path).read_bytes().splitlines()[:-1]} - {3}
    assert kept >= set(range(10)) - {3}
    again = Base(tmp_path)
    assert rows_of(squares(again), LocalExecutor(1), RowsFile(path, resume=True)) == expected()
    assert sorted(again.tried) == sorted(set(range(40)) - kept)
    assert Path(path).read_bytes() == whole.read_bytes()


def test_a_line_is_the_world_and_its_row_or_error(tmp_path: Path) -> None:
    path, study = tmp_path / "squares.jsonl", squares(Base(tmp_path, bad=frozenset({1})), 2)
    rows_of(study, LocalExecutor(1), RowsFile(str(path)))
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"study": study.digest, "index": 0, "world": {"value": 0}, "row": {"square": 0, "digits": [0]}},
        {"study": study.digest, "index": 1, "world": {"value": 1}, "error": "1 is bad"},
    ]


def test_rows_of_another_study_are_not_taken_over(tmp_path: Path) -> None:
    path = str(tmp_path / "squares.jsonl")
    rows_of(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path))
    before = Path(path).read_bytes()
    with pytest.raises(InputError, match=r"squares.jsonl: the rows are of another study"):
        rows_of(squares(Base(tmp_path), 3, of="others"), LocalExecutor(1), RowsFile(path, resume=True))
    assert Path(path).read_bytes() == before


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    rows_of(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(path)))
    path.write_bytes(b"oh no\n" + path.read_bytes())
    with pytest.raises(InputError, match=r"squares.jsonl line 1"):
        rows_of(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(path), resume=True))


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "squares.jsonl").write_text("mine")
    with pytest.raises(UsageError, match="--resume continues it"):
        RowsFile(str(tmp_path / "squares.jsonl"))


# --- words


@pytest.mark.parametrize(
    ("on", "workers", "told"),
    [
        ("spark://host:1", None, r"--on spark://host:1: expected dask://HOST:PORT, ray or ray://HOST:PORT"),
        ("dask://host", None, "expected dask"),
        (None, 0, "--workers 0"),
    ],
)
def test_a_back_that_there_is_not(on: str | None, workers: int | None, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        executor_of(on, workers)


@pytest.mark.parametrize(("package", "on"), [("distributed", "dask://h:1"), ("ray", "ray")])
def test_a_cluster_that_nothing_is_installed_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, on: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    extra = on.partition(":")[0]
    path = tmp_path / "rows.jsonl"
    with pytest.raises(KwhatifError, match=rf"pip install 'kwhatif\[{extra}\]'"):
        rows_of(squares(Base(tmp_path)), executor_of(on, None), RowsFile(str(path)))
    assert not path.exists(), "there is nothing to go on with"


def test_parquet_that_nothing_is_installed_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(KwhatifError, match=r"pip install 'kwhatif\[parquet\]'"):
        RowsFile(str(tmp_path / "rows.parquet"))
