"""``kwhatif backtest``: do the decisions of a recording come out again?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import EngineOptions, Tables, TablesOutput, argument
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.whatif.stages.inputs import Inputs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def backtest(
    file: Annotated[
        str,
        argument(
            metavar="FILE",
            help="A recording: JSON Lines of lists and watch events, packed or not, '-' for stdin; or a snapshot.",
        ),
    ],
    need: Annotated[
        float,
        typer.Option(
            "--need", metavar="PERCENT", min=0, max=100, help="Exit with 1 if less of any sort of decision agrees."
        ),
    ] = 0,
    last: Annotated[
        int,
        typer.Option("--last", metavar="N", min=1, help="How many pods of a snapshot are asked about."),
    ] = 100,
    output: TablesOutput = Tables.table,
    *,
    engine: EngineOptions,
) -> None:
    """Ask again for every pod that a recording shows bound, refused or preempting, and compare.

    Of a snapshot, the pods that were bound last are taken off and asked for again, the newest first.

    Exit codes: 0 as much agrees as --need says, 1 less does, 2 usage or input error.
    """
    from kwhatif.report.backtest_text import backtest_blocks
    from kwhatif.snapshot.load import is_recorded, load_recording, load_snapshot
    from kwhatif.whatif.backtest.last_bound import LastBound
    from kwhatif.whatif.backtest.question import Backtest
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    check_stdin(file, engine.policy)
    if is_recorded(file):
        recording, start = load_recording(file)
        result = ask(Backtest(recording, need), Case(Inputs(start), engine))
    else:
        result = ask(LastBound(last, need), Case(Inputs(load_snapshot([file])), engine))
    finish(rendered(result, output, lambda: backtest_blocks(result)), result.exit_code, result.notes)
