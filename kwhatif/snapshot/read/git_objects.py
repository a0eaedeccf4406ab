"""Objects of git, read by ``git cat-file`` one after the other; nothing is checked out.

Nothing of the repository's own configuration that would run a program is used: no hooks, no filters, no pagers, no
fetching of what a partial clone lacks. Upstream: git (Documentation/git-cat-file.txt).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

from kwhatif.errors import InputError
from kwhatif.snapshot.read.program_words import GIT_OBJECTS, ProgramCall
from kwhatif.snapshot.read.programs import RunningProgram, start_program

_AT_ONCE = 200
"""Names of objects that fit into a pipe, whatever git does meanwhile."""


_folder: ContextVar[str] = ContextVar("repository_around", default="")


@contextmanager
def repository_around(path: str) -> Iterator[None]:
    """Revisions are meanwhile those of the repository around a path; an empty one is the working directory."""
    token = _folder.set(path if os.path.isdir(path) else os.path.dirname(path))
    try:
        yield
    finally:
        _folder.reset(token)


def current_repository() -> str:
    """The folder whose repository revisions are looked up in."""
    return _folder.get()


def git_environment() -> dict[str, str]:
    """The user's own environment but for git's part in it, of which only where the repository is counts."""
    kept = ("GIT_DIR", "GIT_WORK_TREE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in kept}
    return environment | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


@contextmanager
def object_reader() -> Iterator[ObjectReader]:
    """A reader of the objects of the repository in use. Raises InputError if there is no git."""
    call = ProgramCall(GIT_OBJECTS)
    with start_program(call, git_environment(), _folder.get(), with_input=True, isolated=False) as program:
        yield ObjectReader(program)


class ObjectReader:
    """Reads objects, each as often as it is asked for."""

    def __init__(self, program: RunningProgram) -> None:
        self._program = program

    def read(self, identities: Sequence[str], sort: bytes, most: int) -> Iterator[bytes | None]:
        """The contents of objects in their order, None for one that git lacks, or that is of another ``sort``.

        Raises InputError once they have more than ``most`` bytes together, before these are read.
        """
        ahead, room = iter(identities), most
        while some := list(islice(ahead, _AT_ONCE)):
            self._program.write("".join(f"{identity}\n" for identity in some).encode())
            for _ in some:
                head = self._program.read_line().split()
                if len(head) != 3:
                    if not head:
                        raise InputError("git cannot read this revision")
                    yield None
                    continue
                size = int(head[2])
                room -= size
                if room < 0:
                    raise InputError(f"more than the limit of {most:,} bytes")
                content = self._program.read(size + 1)
                if len(content) != size + 1:
                    raise InputError("git cannot read this revision")
                yield content[:-1] if head[1] == sort else None
