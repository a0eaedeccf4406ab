"""The command line: which file a command lives in, and how errors end.

Commands are imported when they are called, so that ``kwhatif --help`` costs no more than it must.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import sys
from typing import Any

import typer

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.bounds import pods_to_make
from kwhatif.cli.common import LazyGroup
from kwhatif.cli.output import finish, give_up_output, program, tell
from kwhatif.cli.progress_line import ReadProgress, progress
from kwhatif.cli.wrong_words import WrongWords
from kwhatif.errors import KwhatifError, UnreadError
from kwhatif.progress import use_listener
from kwhatif.snapshot.format.atomic_files import note_replaced_links


class _Commands(LazyGroup):
    path = ""


app = typer.Typer(
    cls=_Commands,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_set: bool) -> None:
    if is_set:
        from kwhatif import __version__

        finish(f"kwhatif {__version__}\n", 0)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """What would kube-scheduler do? Place, explain and compare pods offline, from files.

    Exit codes: 0 the answer is good, 1 it is not (help of a command says what that means), 2 usage or input error.
    """
    if ctx.invoked_subcommand is None:
        finish(f"{ctx.get_help()}\n", 0)


def main() -> None:
    """Run the command line; every error of ours is one line on stderr and exit code 2."""
    # Modules and what is read from files are hardly ever garbage: to look for some as often as is usual, and once more
    # at the end, takes a tenth of a short command's time.
    gc.set_threshold(300_000, 20, 20)
    atexit.register(gc.freeze)
    code = _run()
    if code == INTERRUPTED:
        tell("kwhatif: interrupted")
    give_up_output()
    sys.exit(code)


def _run() -> int:
    """The exit code, once everything is said."""
    if sys.stdout is None:  # type: ignore[redundant-expr, unused-ignore]
        _complain("standard output is closed: there is nowhere to answer to")
        return 2
    try:
        with pods_to_make(), use_listener(progress(), ReadProgress), note_replaced_links() as notes:
            code = app(prog_name=program(), standalone_mode=False)
            for note in notes:
                tell(note)
    except UnreadError as error:
        return error.exit_code
    except KwhatifError as error:
        _complain(str(error))
        return error.exit_code
    except WrongWords as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 2
        _complain(_describe_error(error))
        if error.ctx is not None:
            tell(f"See '{error.ctx.command_path} --help' for usage.")
        return 2
    except SystemExit as ended:
        # What the library makes of a reader of its help that went away; or a shell was helped to complete a word.
        return UnreadError.exit_code if ended.code == 1 else int(ended.code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        # CPython 3.13.0 makes a SystemError of a working directory that is gone.
        if isinstance(error, OSError | SystemError) and (problem := _describe_system_error(error)):
            _complain(problem)
            return 2
        # A mistake of ours. It must not look like the answer "no", whose exit code is 1.
        if os.environ.get("KWHATIF_DEBUG"):
            raise
        _complain(
            f"internal error: {type(error).__name__}: {error}; please report it with the traceback that "
            "KWHATIF_DEBUG=1 prints"
        )
        return 2
    return code if isinstance(code, int) else 0


INTERRUPTED = 130


def _describe_system_error(error: OSError | SystemError) -> str:
    """What the system refuses us, empty if that is no answer to what we asked for."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return f"too few files may be open at a time: {error.strerror} (see 'ulimit -n')"
    try:
        os.getcwd()
    except OSError as gone:
        return f"the working directory cannot be read: {gone.strerror}"
    # Help is written by typer itself, without a file name in its errors.
    if isinstance(error, SystemError) or error.filename is not None:
        return ""
    return f"standard output cannot be written: {error.strerror or error}"


def _complain(text: str) -> None:
    """One line on standard error, whatever characters a foreign name brings into it."""
    tell(f"kwhatif: {' '.join(text.split())}")


def _describe_error(error: Any) -> str:
    """What is wrong with the words, and which was meant."""
    option = getattr(error, "option_name", None)
    if option is not None and error.ctx is not None and hasattr(error, "possibilities"):
        return f"no such option: {option}{_suggest_option(option, error.ctx.command.params)}"
    text = _lower_first(error.format_message().replace("Value error, ", ""))
    extra = _OPTION_AS_ARGUMENT.search(text)
    if extra is not None and error.ctx is not None:
        meant = any(f"--{extra[1]}" in param.opts for param in error.ctx.command.params)
        text += f"; did you mean --{extra[1]} {extra[2]}?" if meant else ""
    elif "unexpected extra argument" in text and any("--usage" in param.opts for param in error.ctx.command.params):
        text += "; what containers used is named with --usage"
    choice = _CHOICE.search(text)
    return text.rstrip(".") + suggest_spelling(choice[1], _WORD.findall(choice[2])) if choice else text


_OPTION_AS_ARGUMENT = re.compile(r"unexpected extra argument.*\(([a-z-]+)=(\S+)\)")
_SAME = {"metrics": "usage", "prometheus-url": "prometheus", "to": "new-version", "file": "filename", "target": "pool"}
"""What others call an option."""


def _suggest_option(option: str, params: Any) -> str:
    """Which option was meant, or argument."""
    word = option.lstrip("-")
    names = [name for param in params for name in (*param.opts, *param.secondary_opts)]
    known = [name.removeprefix("--") for name in names if name.startswith("--")]
    if word == "snapshot" and word not in known and word in names:
        return ": name the file without it"
    meant = _SAME.get(word, word)
    if meant != word and meant in known:
        return f"; did you mean --{meant}?"
    # Dashes are no part of what is alike.
    return suggest_spelling(word, known).replace("you mean ", "you mean --")


_CHOICE = re.compile(r"'([^']*)' is not one of (.*)")
_WORD = re.compile(r"'([^']*)'")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
