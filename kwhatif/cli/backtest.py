"""``kwhatif backtest``: do the decisions of a recording come out again?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Renamed, expand_groups
from kwhatif.cli.options import argument
from kwhatif.cli.output import check_stdin
from kwhatif.commands.backtest.options import RECORDED_POLICY, BacktestOptions
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def backtest(
    file: Annotated[
        str,
        argument(
            metavar="FILE",
            help="A recording: JSON Lines of lists and watch events, packed or not, '-' for stdin; or a snapshot.",
        ),
    ],
    *,
    options: BacktestOptions,
    answer: AnswerOptions,
    scheduler: Annotated[SchedulerOptions, Renamed(policy=RECORDED_POLICY)],
) -> None:
    """Ask again for every pod that a recording shows bound, refused or preempting, and compare.

    Of a snapshot, the pods that were bound last are taken off and asked for again, the newest first.

    With --policy the whole day is simulated twice instead, with the recorded scheduler's configuration and with another
    one: which pods move, how long they wait, whom they preempt, how full and how balanced the nodes are over time.

    Exit codes: 0 the answer is good, 1 it is not: less agrees than --need says (with --policy: something differs),
    2 usage or input error.
    """
    from kwhatif.commands.backtest.day_diff import DayDiff
    from kwhatif.commands.backtest.diff_text import backtest_diff_blocks
    from kwhatif.commands.backtest.run import question_about
    from kwhatif.commands.backtest.text import backtest_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.scenario import Scenario
    from kwhatif.snapshot.load import is_recorded, load_recording

    check_stdin(file, options.other, scheduler.policy)
    if options.other is None:
        question, start = question_about(file, options.last, options.need)
        result = ask(question, Scenario(Inputs(start), scheduler))
        answer.finish(result, lambda everything: backtest_blocks(result))
    if options.need or not is_recorded(file):
        raise UsageError(
            "--policy asks what another configuration would have made of a recorded day; which scheduler decided, "
            "for --need and for snapshots, is said by --recorded-policy"
        )
    recording, start = load_recording(file)
    days = DayDiff(recording, f"policy {options.other}")
    lived = ask(days, *days.build_sides(Inputs(start), scheduler, options.other))
    answer.finish(lived, lambda everything: backtest_diff_blocks(lived, everything=everything))
