"""Copies the package's samples to a directory of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from kwhatif.errors import UsageError
from kwhatif.snapshot.format.atomic_files import draft_of, draft_of_directory, make_directory

PACKAGE = "kwhatif.samples"

_OF_THE_PACKAGE = ("__init__.py", "__pycache__")
"""What Python needs and no example names."""


def copy_samples(directory: str) -> int:
    """Copy the samples to a directory that is not there yet, all or none of them; how many files these are.

    Raises UsageError if something has the name already, and if nothing can be written there.
    """
    count = 0
    try:
        with as_file(files(PACKAGE)) as samples, draft_of_directory(directory) as draft:
            for path in _list_files(samples):
                copy = os.path.join(draft, path.relative_to(samples))
                make_directory(os.path.dirname(copy))
                with draft_of(copy) as file:
                    file.write(path.read_bytes())
                count += 1
    except FileExistsError:
        raise UsageError(f"{directory}: already exists; expected the name of a new directory") from None
    except OSError as error:
        raise UsageError(f"{directory}: cannot be written: {error.strerror or error}") from None
    return count


def _list_files(samples: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(samples):
        folders[:] = sorted(set(folders) - set(_OF_THE_PACKAGE))
        for name in sorted(set(names) - set(_OF_THE_PACKAGE)):
            yield Path(folder, name)
