"""The rows of a study in a file: written as they come, and taken over by a study that goes on where one was cut off.

While a study is under way the file is lines of JSON, each with its study, its world and its row or error; what a run
that was killed leaves is whole but for the last line. In the end the lines are put in the order of the worlds, and
become Parquet if the file's name says so: a column for each number, text and truth value of world and row, and one with
the line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError, UsageError
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.snapshot.format.atomic_files import AppendOnlyFile, draft_of
from kwhatif.snapshot.read.files import lines_that_begin

PARQUET = ".parquet"
ENDINGS = (".jsonl", PARQUET)


_NOTHING = msgspec.Raw(b"null")


class _Line(msgspec.Struct, omit_defaults=True):
    study: str
    index: int
    world: msgspec.Raw = _NOTHING
    row: msgspec.Raw = _NOTHING
    error: str | None = None


class RowsFile:
    """Rows at ``path``, which ends in ``.jsonl`` or ``.parquet``. ``resume`` goes on with those that are there.

    Raises UsageError for another ending, for a file that is there although nothing is to be resumed, and where Parquet
    cannot be written.
    """

    def __init__(self, path: str, *, resume: bool = False) -> None:
        if not path.endswith(ENDINGS):
            raise UsageError(f"--out {path}: expected a name that ends in {' or '.join(ENDINGS)}")
        if path.endswith(PARQUET):
            _pyarrow()
        self._path, self._resume = path, resume
        # Parquet cannot be added to: until the end its rows are beside it.
        self._journal = f"{path}.jsonl" if path.endswith(PARQUET) else path
        if not resume and (there := next(filter(os.path.lexists, (path, self._journal)), "")):
            raise UsageError(f"{there} is there already: --resume goes on with it; or name another file")
        self._study: Study[Any, Any, Any] | None = None
        self._file: AppendOnlyFile | None = None
        self._lines: dict[int, bytes] = {}

    def sibling_from(self, first: int) -> RowsFile:
        """A file for the rows of a study that goes on from this one, from row ``first`` on, which is in its name."""
        stem, dot, ending = self._path.rpartition(".")
        return RowsFile(f"{stem}-{first}{dot}{ending}", resume=self._resume)

    def begin(self, study: Study[Any, Any, Any]) -> Mapping[int, Any]:
        """Be ready for rows of this study, and say which there are. Raises InputError for those of another one."""
        self._study = study
        kept: dict[int, Any] = {}
        for line, text in self._read_complete_lines():
            if line.row != _NOTHING:
                kept[line.index] = self._row(line.row)
                self._lines[line.index] = text
        try:
            # What a killed run wrote of its last line is dropped, and so are errors, which are found again or not.
            with draft_of(self._journal, private=True) as file:
                file.writelines(self._lines.values())
            self._file = AppendOnlyFile(self._journal, sum(map(len, self._lines.values())))
        except OSError as error:
            raise self._unwritable(error) from None
        return kept

    def add(self, found: Iterable[tuple[int, Any]]) -> None:
        """Write rows, which are on the disk then. Raises UsageError where that cannot be."""
        assert self._study is not None
        assert self._file is not None
        encode, added = msgspec.json.encode, {}
        for index, row in found:
            world = msgspec.Raw(encode(self._study.tasks[index]))
            line = _Line(self._study.digest, index, world)
            if isinstance(row, FailedTask):
                line.error = row.error
            else:
                line.row = msgspec.Raw(encode(row))
            added[index] = encode(line) + b"\n"
        try:
            self._file.append(b"".join(added.values()))
        except OSError as error:
            raise self._unwritable(error) from None
        self._lines |= added

    def close(self) -> None:
        """Nothing more is added; what there is takes its final form, if there is anything. Raises UsageError."""
        file, self._file = self._file, None
        if file is None:
            return
        if not self._lines:
            file.remove()
            return
        file.close()
        lines = [self._lines[index] for index in sorted(self._lines)]
        try:
            with draft_of(self._path, private=True) as whole:
                if self._path.endswith(PARQUET):
                    _write_parquet(lines, whole)
                else:
                    whole.writelines(lines)
            if self._journal != self._path:
                with suppress(FileNotFoundError):
                    os.unlink(self._journal)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._path}: cannot be written: {error.strerror or error}")

    # --- what is there

    def _read_complete_lines(self) -> Iterator[tuple[_Line, bytes]]:
        """The lines that can be gone on with; the last one of a run that was killed may be cut off."""
        assert self._study is not None
        texts = list(self._texts()) if self._resume else []
        for number, text in texts:
            try:
                line = decode_json(text, _Line)
            except InputError as error:
                if number == texts[-1][0]:
                    return
                raise error.with_source(f"{self._path} line {number}") from None
            if line.study != self._study.digest:
                raise InputError(
                    f"the rows are of another study ({line.study}; this one is {self._study.digest}): the cluster, the "
                    "manifests or the options were others",
                    source=self._path,
                )
            yield line, text + b"\n"

    def _texts(self) -> Iterable[tuple[int, bytes]]:
        if not os.path.exists(self._journal) and os.path.exists(self._path):
            return _lines_in_parquet(self._path)
        return lines_that_begin(self._journal, lambda head: True) or ()

    def _row(self, row: msgspec.Raw) -> Any:
        assert self._study is not None
        try:
            return decode_json(row, self._study.row)
        except InputError as error:
            raise error.with_source(self._path) from None


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet is written by pyarrow: pip install 'kwhatif[parquet]'") from None
    return pyarrow


def _lines_in_parquet(path: str) -> list[tuple[int, bytes]]:
    pyarrow = _pyarrow()
    try:
        found = pyarrow.parquet.read_table(path, columns=["line"])["line"].to_pylist()
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise InputError(f"no rows of a study in Parquet: {error}", source=path) from None
    return [(number, line.encode()) for number, line in enumerate(found, 1)]


def _write_parquet(lines: list[bytes], file: IO[bytes]) -> None:
    pyarrow = _pyarrow()
    table = [{**dict(_flat("", decode_json(line, Any))), "line": line[:-1].decode()} for line in lines]
    names = dict.fromkeys(name for entry in table for name in entry)
    columns = {name: pyarrow.array([entry.get(name) for entry in table]) for name in names}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """``row.pending`` and the like: what stands in lists is in the line alone."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif not isinstance(value, list):
        yield name, value
