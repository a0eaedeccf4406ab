"""Standard input, output and error, and files that appear complete or not at all: what goes in and out of a command.

How a report for people is to look: as wide as the terminal, and in colour if there is one that shows it.

``--report FORMAT=FILE``: the answer once more, in files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn

import typer

from kwhatif.errors import UnreadError, UsageError
from kwhatif.progress import clear, report_start
from kwhatif.render.escape import clean, in_text
from kwhatif.snapshot.format.atomic_files import new_file

if TYPE_CHECKING:
    import msgspec

    from kwhatif.render.blocks import Block
    from kwhatif.render.screen import Screen
    from kwhatif.results.base import Result


class ColorMode(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


_asked = ContextVar("_asked", default=ColorMode.auto)


def remember(mode: ColorMode) -> None:
    """What ``--color`` says."""
    _asked.set(ColorMode(mode))


def screen(otherwise: int | None = None) -> Screen:
    """The terminal that is printed to; ``otherwise`` is how wide a file is to be, whatever the terminal."""
    from kwhatif.render.screen import Screen

    looked_at = sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if looked_at else otherwise
    return Screen(width, _colourful(looked_at))


def _colourful(looked_at: bool) -> bool:
    """As ``--color`` asks, else as NO_COLOR and FORCE_COLOR do, else on a terminal that is not ``dumb``."""
    if (mode := _asked.get()) is not ColorMode.auto:
        return mode is ColorMode.always
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (looked_at and os.environ.get("TERM") != "dumb")


def program() -> str:
    """What the user called: ``kwhatif``, or ``kubectl whatif``."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return name.replace("__main__.py", "kwhatif").replace("kubectl-", "kubectl ")


def check_stdin(*paths: object) -> None:
    """Raises UsageError if standard input would be read more than once; of paths, and of several in a list."""
    paths_of_options = [path for one in paths for path in (one if isinstance(one, list) else [one])]
    if paths_of_options.count("-") > 1:
        raise UsageError("'-' is given more than once: standard input can be read only once")


def render_result(result: msgspec.Struct, output: str, blocks: Callable[[], list[Block]], *, everything: bool) -> str:
    """A result as ``json``, ``yaml``, ``markdown`` or, under any other name, as text for a reader.

    Markdown and text have long tables in groups, unless ``everything`` is asked for.
    """
    report_start("Writing the answer")
    match output:
        case "json":
            from kwhatif.render.formats import as_json

            return as_json(result)
        case "yaml":
            from kwhatif.render.formats import as_yaml

            return as_yaml(result)
        case "markdown":
            from kwhatif.render.blocks import flatten_blocks, inline_gaps
            from kwhatif.render.formats import markdown_of
            from kwhatif.render.grouping import shorten_tables

            shown = inline_gaps(blocks(), whole=all_gaps_are_shown())
            return markdown_of(shown if everything else shorten_tables(flatten_blocks(shown)))
        case _:
            from kwhatif.render.blocks import inline_gaps
            from kwhatif.render.tables import text_of

            shown = inline_gaps(blocks(), whole=all_gaps_are_shown())
            return text_of(shown, screen(), everything=everything, wide=output == "wide")


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


_TONES = {"warning": "warn", "error": "error", "internal error": "error"}


def tell(text: str) -> None:
    """A line on standard error, whatever characters a foreign name brings into it; nothing if that is closed.

    A terminal has it on as many lines as it takes to break no word.
    """
    # Without a file to print to, ``print`` would take standard output.
    clear()
    if sys.stderr is not None:
        lines = [clean(text)]
        if sys.stderr.isatty():
            from kwhatif.render.screen import Screen

            medium = Screen(shutil.get_terminal_size().columns, _colourful(True))
            lines = medium.wrap(text, "  ")
            word = lines[0].partition(":")[0]
            if word in _TONES:
                lines[0] = medium.paint(word, _TONES[word]) + lines[0].removeprefix(word)
        with contextlib.suppress(OSError):
            print(in_text("\n".join(lines)), file=sys.stderr, flush=True)


def say(notes: Iterable[str]) -> None:
    """Print what is worth knowing on standard error. It is said only with an answer: an error stands alone."""
    for text in notes:
        tell(text)


_always_good = ContextVar("_always_good", default=False)


def answer_is_always_good(is_set: bool) -> None:
    """With ``--exit-zero`` a "no" ends as a "yes" does; errors do not."""
    _always_good.set(is_set)


_gaps_shown = ContextVar("_gaps_shown", default=False)


def all_gaps_are_shown(is_set: bool | None = None) -> bool:
    """With ``--gaps`` every gap of an answer is told; whether that is so, once it was said."""
    if is_set is not None:
        _gaps_shown.set(is_set)
    return _gaps_shown.get()


def finish(text: str, exit_code: int, notes: Iterable[str] = ()) -> NoReturn:
    """Print the notes and the answer, on a terminal the notes last, and end with its exit code.

    If the answer is not read to its end (``| head``), the exit code still tells a "no", and never a "yes".
    """
    if exit_code == 1 and _always_good.get():
        exit_code = 0
    on_terminal = bool(sys.stderr) and sys.stdout.isatty() and sys.stderr.isatty()
    if not on_terminal:
        say(notes)
    try:
        write(text)
    except UnreadError:
        if not exit_code:
            raise
    if on_terminal:
        # What comes with nearly every answer stands below it, not between the question and the answer.
        say(notes)
    raise typer.Exit(exit_code)


HTML = "html"
Reports = Sequence[tuple[str, str]]
"""Format and file of each."""


def reports_of(names: Sequence[str] | None, formats: Collection[str]) -> Reports:
    """The reports asked for. Raises UsageError."""
    reports: list[tuple[str, str]] = []
    for text in names or ():
        name, equals, path = text.partition("=")
        if name not in formats or not equals or not path:
            raise UsageError(f"--report {text}: expected FORMAT=FILE with a format out of {', '.join(formats)}")
        if path in [other for _, other in reports]:
            raise UsageError(f"--report {text}: another report is to be written there")
        reports.append((name, path))
    return reports


def is_mapped(reports: Reports) -> bool:
    """Whether the answer has to come with a map of the cluster."""
    return any(name == HTML for name, _ in reports)


def page(result: Result) -> str:
    from kwhatif.commands.page import html_page

    report_start("Writing the page")
    return html_page(result)


def write_reports(reports: Reports, text: Callable[[str], str]) -> None:
    """Write a text of each format. All of them are made before any is written."""
    texts = [(path, text(name)) for name, path in reports]
    for path, content in texts:
        with new_file(path) as file:
            file.write(content.encode("utf-8", "backslashreplace"))
