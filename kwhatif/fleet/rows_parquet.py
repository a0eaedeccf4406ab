"""Rows of a study as Parquet: a column for each number, text and boolean of world and row, and one with the line.

To resume such a file its lines are read back. A few bytes of Parquet can stand for gigabytes, by compression or by
references to one value, so the lines are not compressed, and few are read at a time: what is read at once is never more
than a fixed multiple of the file's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

from kwhatif import bounds
from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.read.files import regular_file

_LINE = "line"
_AT_ONCE = 1024
_ROOM = 64 * bounds.MIB
"""So much all lines that are read at once may take, whatever they refer to."""


def require_pyarrow() -> Any:
    """The library. Raises UsageError where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet is written by pyarrow: pip install 'kwhatif[parquet]'") from None
    return pyarrow


def read_lines(path: str, most: int) -> Iterator[bytes]:
    """The lines of a file, ``most`` of them. Raises InputError for what is no study, or larger than it may be."""
    pyarrow = require_pyarrow()
    with regular_file(path) as (file, size):
        if size > bounds.ROWS_BYTES:
            raise InputError(f"larger than the limit of {bounds.ROWS_BYTES:,} bytes", source=path)
        try:
            whole = pyarrow.parquet.ParquetFile(file, read_dictionary=[_LINE])
            _check_columns(whole, most)
            total = 0
            for batch in whole.iter_batches(batch_size=max(1, min(_AT_ONCE, _ROOM // (size + 1))), columns=[_LINE]):
                for value in batch.column(0):
                    text = value.as_py()
                    if not isinstance(text, str):
                        raise InputError("a row without its line")
                    total += len(text)
                    if total > size:
                        raise InputError(f"stands for more than the {size:,} bytes that it has, as no study does")
                    yield text.encode() + b"\n"
        except InputError as error:
            raise error.with_source(path) from None
        except (OSError, KeyError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(f"no rows of a study in Parquet: {error}", source=path) from None


def _check_columns(whole: Any, most: int) -> None:
    """Raises InputError for what ``write_parquet`` does not write: lines that are packed, or too many of them."""
    names = whole.schema_arrow.names
    if names.count(_LINE) != 1:
        raise InputError("no rows of a study in Parquet: there is no column of lines")
    if whole.metadata.num_rows > most:
        raise InputError(f"expected rows of no more than {most:,} worlds, found {whole.metadata.num_rows:,}")
    for number in range(whole.metadata.num_row_groups):
        group = whole.metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            if column.path_in_schema != _LINE:
                continue
            if column.physical_type != "BYTE_ARRAY" or column.compression != "UNCOMPRESSED":
                format_ = f"{column.physical_type}, {column.compression}"
                raise InputError(f"expected lines as texts that are not packed, found {format_}")


def write_parquet(lines: Sequence[bytes], file: IO[bytes]) -> None:
    """Write lines of JSON as rows. Raises OSError."""
    pyarrow = require_pyarrow()
    table = [{**dict(_flat("", decode_json(line, Any))), _LINE: line[:-1].decode()} for line in lines]
    names = dict.fromkeys(name for entry in table for name in entry)
    columns = {name: pyarrow.array([entry.get(name) for entry in table]) for name in names}
    others = [name for name in names if name != _LINE]
    pyarrow.parquet.write_table(
        pyarrow.table(columns),
        file,
        compression={**dict.fromkeys(others, "snappy"), _LINE: "none"},
        use_dictionary=others,
    )


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """``row.pending`` and the like: what stands in lists is in the line alone."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif not isinstance(value, list):
        yield name, value
