"""Standard input, output and error, and files that appear complete or not at all: what goes in and out of a command."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, NoReturn

import typer

from kwhatif.cli.terminal import screen
from kwhatif.errors import UnreadError, UsageError
from kwhatif.progress import begun, clear
from kwhatif.report.escape import clean, in_text
from kwhatif.snapshot.format.drafts import draft_of, packed

if TYPE_CHECKING:
    import msgspec

    from kwhatif.report.blocks import Block

__all__ = [
    "answer_is_always_good",
    "check_stdin",
    "finish",
    "give_up_output",
    "new_file",
    "packed",
    "program",
    "rendered",
    "say",
    "tell",
    "write",
]


def program() -> str:
    """What the user called: ``kwhatif``, or ``kubectl whatif``."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return name.replace("__main__.py", "kwhatif").replace("kubectl-", "kubectl ")


def check_stdin(*paths: object) -> None:
    """Raises UsageError if standard input would be read more than once; of paths, and of several in a list."""
    each = [path for one in paths for path in (one if isinstance(one, list) else [one])]
    if each.count("-") > 1:
        raise UsageError("'-' is given more than once: standard input can be read only once")


def rendered(result: msgspec.Struct, output: str, blocks: Callable[[], list[Block]], *, everything: bool) -> str:
    """A result as ``json``, ``yaml``, ``markdown`` or, under any other name, as text for whoever looks at it.

    Markdown and text have long tables in groups, unless ``everything`` is asked for.
    """
    begun("Writing the answer")
    match output:
        case "json":
            from kwhatif.report.structured import as_json

            return as_json(result)
        case "yaml":
            from kwhatif.report.structured import as_yaml

            return as_yaml(result)
        case "markdown":
            from kwhatif.report.blocks import flat
            from kwhatif.report.grouping import shortened
            from kwhatif.report.markdown import markdown_of

            return markdown_of(blocks() if everything else shortened(flat(blocks())))
        case _:
            from kwhatif.report.tables import text_of

            return text_of(blocks(), screen(), everything=everything, wide=output == "wide")


def write(text: str) -> None:
    """Print an answer as UTF-8, whatever the locale.

    Raises UsageError if there is no room for it, as on a disk that is full, UnreadError if the reader went away.
    """
    clear()
    try:
        raw = getattr(sys.stdout, "buffer", None)
        if raw is None:
            sys.stdout.write(text)
        else:
            raw.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise UnreadError(str(error)) from None
    except OSError as error:
        raise UsageError(f"standard output cannot be written: {error.strerror or error}") from None


def give_up_output() -> None:
    """What is left in a buffer that cannot be written would be tried again at the end, and complained of."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell(text: str) -> None:
    """A line on standard error, whatever characters a foreign name brings into it; nothing if that is closed.

    A terminal has it on as many lines as it takes to break no word.
    """
    # Without a file to print to, ``print`` would take standard output.
    clear()
    if sys.stderr is not None:
        lines = [clean(text)]
        if sys.stderr.isatty():
            from kwhatif.report.screen import Screen

            lines = Screen(shutil.get_terminal_size().columns).wrapped(text, "  ")
        with contextlib.suppress(OSError):
            print(in_text("\n".join(lines)), file=sys.stderr, flush=True)


def say(notes: Iterable[str]) -> None:
    """Print what is worth knowing on standard error. It is said only with an answer: an error stands alone."""
    for text in notes:
        tell(text)


_always_good = ContextVar("_always_good", default=False)


def answer_is_always_good(wanted: bool) -> None:
    """With ``--exit-zero`` a "no" ends as a "yes" does; errors do not."""
    _always_good.set(wanted)


def finish(text: str, exit_code: int, notes: Iterable[str] = ()) -> NoReturn:
    """Print the notes and the answer, and end with its exit code.

    If nobody reads the answer to its end (``| head``), the exit code still tells a "no", and never a "yes".
    """
    if exit_code == 1 and _always_good.get():
        exit_code = 0
    say(notes)
    try:
        write(text)
    except UnreadError:
        if not exit_code:
            raise
    raise typer.Exit(exit_code)


@contextlib.contextmanager
def new_file(path: str, *, private: bool = False) -> Iterator[IO[bytes]]:
    """``draft_of`` for a file that the command line names. Raises UsageError if it cannot be written."""
    if path == "-":
        raise UsageError("'-' is no file to write to: standard output is for the answer")
    try:
        with draft_of(path, private=private) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
