"""``kwhatif backtest``: do the decisions of a recording come out again?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import argument, option
from kwhatif.cli.output import check_stdin
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
    policy: Annotated[
        str | None,
        option(
            "--policy",
            metavar="FILE[@VERSION]",
            help="What would this KubeSchedulerConfiguration, or 'default', have made of the recorded day? The "
            "Kubernetes whose rules hold may follow, as in default@1.31.",
        ),
    ] = None,
    recorded_policy: Annotated[
        str | None,
        option(
            "--recorded-policy",
            metavar="FILE",
            help="The KubeSchedulerConfiguration of the scheduler that was recorded. Default: the cluster's own if the "
            "recording has it, else kube-scheduler's defaults, which 'default' asks for in any case.",
        ),
    ] = None,
    *,
    answer: AnswerOptions,
    engine: Annotated[SchedulerOptions, Excluding("policy")],
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
    from kwhatif.commands.backtest.run import Backtest, LastBound
    from kwhatif.commands.backtest.text import backtest_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario
    from kwhatif.snapshot.load import is_recorded, load_recording, load_snapshot

    check_stdin(file, policy, recorded_policy)
    engine = replace(engine, policy=recorded_policy)
    if policy is not None:
        if need or not is_recorded(file):
            raise UsageError(
                "--policy asks what another configuration would have made of a recorded day; which scheduler decided, "
                "for --need and for snapshots, is said by --recorded-policy"
            )
        recording, start = load_recording(file)
        question = DayDiff(recording, f"policy {policy}")
        lived = ask(question, *question.cases(Inputs(start), engine, policy))
        answer.finish(lived, lambda everything: backtest_diff_blocks(lived, everything=everything))
    if is_recorded(file):
        recording, start = load_recording(file)
        result = ask(Backtest(recording, need), Scenario(Inputs(start), engine))
    else:
        result = ask(LastBound(last, need), Scenario(Inputs(load_snapshot([file])), engine))
    answer.finish(result, lambda everything: backtest_blocks(result))
