"""The rows of a study in a file: written as they come, and reused by a study that resumes an interrupted one.

While a study is under way the file is lines of JSON, each with its study, its world and its row or error; after a
killed run all but the last line are complete. In the end the lines are sorted in the order of the worlds, and converted
to Parquet if the file's name says so (``fleet/rows_parquet.py``).

Reused rows are not checked, so they have to be what this very study would write: of the same study by its digest, for
worlds that the study has at that place. Anything else is refused, and the file is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import decode_json
from kwhatif.api.quantity import INT64_MAX
from kwhatif.errors import InputError, UsageError
from kwhatif.fleet.rows_parquet import read_lines, require_pyarrow, write_parquet
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.snapshot.format.atomic_files import AppendOnlyFile, draft_of

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
    """Rows at ``path``, which ends in ``.jsonl`` or ``.parquet``. ``resume`` reuses those that are there.

    Raises UsageError for another ending, for an existing file without ``resume``, and where Parquet cannot be written.
    """

    def __init__(self, path: str, *, resume: bool = False) -> None:
        if not path.endswith(ENDINGS):
            raise UsageError(f"--out {path}: expected a name that ends in {' or '.join(ENDINGS)}")
        if path.endswith(PARQUET):
            require_pyarrow()
        self._path, self._resume = path, resume
        # Parquet cannot be added to: until the end its rows are beside it.
        self._journal = f"{path}.jsonl" if path.endswith(PARQUET) else path
        if not resume and (there := next(filter(os.path.lexists, (path, self._journal)), "")):
            raise self._exists(there)
        self._study: Study[Any, Any, Any] | None = None
        self._file: AppendOnlyFile | None = None
        self._lines: dict[int, bytes] = {}

    def sibling_from(self, first: int) -> RowsFile:
        """A file for the rows of a study that continues this one, from row ``first`` on, which is in its name."""
        stem, dot, ending = self._path.rpartition(".")
        return RowsFile(f"{stem}-{first}{dot}{ending}", resume=self._resume)

    def begin(self, study: Study[Any, Any, Any]) -> Mapping[int, Any]:
        """Prepare for rows of this study, and return those that exist.

        Raises InputError for those of another one and for a file of another kind, UsageError where another run is
        writing.
        """
        self._study = study
        kept: dict[int, Any] = {}
        try:
            resumed = self._resume and os.path.lexists(self._journal)
            self._file = file = AppendOnlyFile(self._journal, resume=resumed)
            try:
                for line, text in self._read_complete_lines(file, resumed=resumed):
                    if line.row != _NOTHING:
                        kept[line.index] = self._row(line.row)
                        self._lines[line.index] = text
                if not resumed and self._lines:
                    file.append(b"".join(self._lines.values()))
            except BaseException:
                self._file = None
                if resumed:
                    file.close()
                else:
                    file.remove()
                raise
        except FileExistsError:
            raise self._exists(self._journal) from None
        except OSError as error:
            raise self._unwritable(error) from None
        return kept

    def add(self, rows: Iterable[tuple[int, Any]]) -> None:
        """Write rows to the disk. Raises UsageError where that fails."""
        assert self._study is not None
        assert self._file is not None
        encode, added = msgspec.json.encode, {}
        for index, row in rows:
            line = _Line(self._study.digest, index, self._world(index))
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
        """Bring the rows into their final form, if there are any. Raises UsageError."""
        file, self._file = self._file, None
        if file is None:
            return
        if not self._lines:
            file.remove()
            return
        if not file.is_locked:
            file.close()
        lines = [self._lines[index] for index in sorted(self._lines)]
        try:
            with draft_of(self._path, private=True) as whole:
                if self._path.endswith(PARQUET):
                    write_parquet(lines, whole)
                else:
                    whole.writelines(lines)
            if self._journal != self._path:
                with suppress(FileNotFoundError):
                    os.unlink(self._journal)
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            # The lock is held until now, so that no other run resumes a file that is about to be replaced.
            file.close()

    def _exists(self, path: str) -> UsageError:
        return UsageError(f"{path} already exists: --resume continues it; or name another file")

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._path}: cannot be written: {error.strerror or error}")

    def _world(self, index: int) -> msgspec.Raw:
        assert self._study is not None
        return msgspec.Raw(msgspec.json.encode(self._study.tasks[index]))

    # --- what is there

    def _read_complete_lines(self, file: AppendOnlyFile, *, resumed: bool) -> Iterator[tuple[_Line, bytes]]:
        """The complete lines; the last one of a killed run may be cut off.

        Raises InputError for lines that this study did not write, and OSError.
        """
        assert self._study is not None
        source, texts, size = self._journal, file.read_lines(bounds.ROWS_BYTES), 0
        if not resumed and self._resume and os.path.lexists(self._path):
            source, texts = self._path, read_lines(self._path, len(self._study.tasks))
        for number, text in enumerate(texts, 1):
            if not text.endswith(b"\n"):
                self._check_fragment(text, f"{source} line {number}")
                break
            try:
                line = decode_json(text, _Line)
                self._check(line)
            except InputError as error:
                raise error.with_source(f"{source} line {number}") from None
            size += len(text)
            yield line, text
        if resumed:
            file.cut(size)

    def _check_fragment(self, text: bytes, source: str) -> None:
        """The incomplete last line of a killed run has to begin as every line does."""
        assert self._study is not None
        head = b'{"study":"%b","index":' % self._study.digest.encode()
        if not text.startswith(head) and not head.startswith(text):
            raise InputError("no line of this study, nor the beginning of one: nothing was changed", source=source)

    def _check(self, line: _Line) -> None:
        assert self._study is not None
        if line.study != self._study.digest:
            raise InputError(
                f"the rows are of another study ({line.study}; this one is {self._study.digest}): the cluster, the "
                "manifests or the options were others",
                source=self._path,
            )
        worlds = len(self._study.tasks)
        if not 0 <= line.index < worlds:
            raise InputError(f"expected a number from 0 to {worlds - 1}, found {line.index}", place="$.index")
        if bytes(line.world) != bytes(self._world(line.index)):
            raise InputError(f"this is not world {line.index} of this study", place="$.world")

    def _row(self, row: msgspec.Raw) -> Any:
        assert self._study is not None
        try:
            _check_numbers(decode_json(row, Any), "$.row")
            return decode_json(row, self._study.row)
        except InputError as error:
            raise error.with_source(self._path) from None


def _check_numbers(value: Any, place: str) -> None:
    """Raises InputError for a whole number that no row has: one that is no int64."""
    if isinstance(value, dict):
        for key, element in value.items():
            _check_numbers(element, f"{place}.{key}")
    elif isinstance(value, list):
        for number, element in enumerate(value):
            _check_numbers(element, f"{place}[{number}]")
    elif isinstance(value, int) and not -INT64_MAX <= value <= INT64_MAX:
        raise InputError("expected a number of 64 bits, found one that is larger", place=place)
