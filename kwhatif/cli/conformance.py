"""``kwhatif conformance``: replay recorded decisions of a real kube-scheduler and compare."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import IO, Annotated

import typer

from kwhatif.cli.options import Plugins, SkipUnknown, Tables
from kwhatif.cli.output import finish, new_file, packed, rendered

__all__ = ["app", "conformance"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def conformance(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Scenarios: JSON Lines, or one JSON object a file, packed or not; directories; '-' for stdin.",
            show_default=False,
        ),
    ],
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            metavar="OUT",
            help="Write the answers here, a line a scenario; packed if it ends in .gz or .zst.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[int, typer.Option("--show", metavar="N", min=0, help="Differences to print for each file.")] = 5,
    output: Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")] = Tables.table,
    plugin: Plugins = None,
    skip_unknown_plugins: SkipUnknown = False,
) -> None:
    """Replay scenarios, and compare the answers with what a real kube-scheduler was recorded to do.

    Exit codes: 0 everything agrees (or nothing was expected), 1 something differs, 2 usage or input error.
    """
    import msgspec

    from kwhatif.framework.outside import load_outside
    from kwhatif.report.conformance_text import conformance_blocks
    from kwhatif.results import ConformanceResult
    from kwhatif.snapshot.files import called
    from kwhatif.whatif.conformance import answer
    from kwhatif.whatif.conformance_compare import Tally
    from kwhatif.whatif.scenario_files import read_scenarios, scenario_files

    outside = load_outside(plugin or ())
    progress = _Progress()
    encoder = msgspec.json.Encoder()
    results = []
    with contextlib.ExitStack() as stack:
        out: IO[bytes] | None = None
        if answers is not None:
            out = stack.enter_context(packed(stack.enter_context(new_file(answers)), answers))
        stack.callback(progress.clear)
        for file in scenario_files(files):
            tally = Tally(called(file), show)
            for number, (where, scenario) in enumerate(read_scenarios(file), 1):
                progress.show(f"{file}: scenario {number}")
                got = answer(scenario, source=where, outside=outside, skip_unknown=skip_unknown_plugins)
                if out is not None:
                    out.write(encoder.encode(got) + b"\n")
                tally.add(scenario.name, scenario.expected, got)
            results.append(tally.result())
    result = ConformanceResult(files=tuple(results))
    finish(rendered(result, output, lambda: conformance_blocks(result)), result.exit_code)


class _Progress:
    """One line on standard error that keeps changing, if somebody looks at it."""

    def __init__(self) -> None:
        self._wanted = sys.stderr.isatty()
        self._next = 0.0
        self._width = 0

    def show(self, text: str) -> None:
        if self._wanted and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            sys.stderr.write(f"\r{text:<{self._width}}")
            sys.stderr.flush()
            self._width = len(text)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write(f"\r{'':<{self._width}}\r")
            sys.stderr.flush()
