"""The spec of ``kwhatif backtest``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec, ResultSpec

SPECS = (
    CommandSpec(
        name="backtest",
        module="backtest",
        purpose="Do the decisions of a recorded day come out again?",
        position=140,
        may_be_no=True,
        has_gaps=True,
        functions=(
            "run:backtest",
            "run:backtest_diff",
        ),
        examples=(
            "day.jsonl.gz",
            "day.jsonl.gz --need 99",
        ),
        results=(
            ResultSpec(
                "result:BacktestResult",
                "backtest-result",
                "How far the decisions of a recording come out again",
                page="text:PAGE",
            ),
            ResultSpec(
                "diff_result:BacktestDiff",
                "backtest-diff",
                "What another configuration would have made of a recorded day",
                page="diff_text:PAGE",
            ),
        ),
        package=__package__,
    ),
)
