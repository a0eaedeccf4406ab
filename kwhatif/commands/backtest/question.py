"""The question of ``backtest``: does a recorded day come out again, or what would another scheduler make of it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kwhatif.commands.backtest.options import (
    RECORDED_POLICY,
    AgreementOptions,
    OtherPolicyOptions,
    OtherQueuesOptions,
)
from kwhatif.commands.backtest.queue_day_result import QueueDayDiff
from kwhatif.commands.backtest.result import BacktestDiff, BacktestResult
from kwhatif.errors import UsageError
from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import Flag, values_of
from kwhatif.simulation.inputs import SchedulerOptions


@dataclass(frozen=True, kw_only=True)
class _AskAgain(AgreementOptions, Command[BacktestResult]):
    """Decide again for each pod that a recording shows bound, refused or preempting, and compare.

    Of a snapshot, the pods that were bound last are taken off their nodes and scheduled again, the newest first.
    """

    takes = SchedulerOptions
    renames: ClassVar[Mapping[str, Flag]] = {"policy": RECORDED_POLICY}

    def choose(self) -> Command[Any]:
        from kwhatif.commands.backtest.run import LastBound, RecordedDecisions
        from kwhatif.snapshot.load import is_recording_file

        question = RecordedDecisions if is_recording_file(self.recording) else LastBound
        return question(**values_of(AgreementOptions, self))


@dataclass(frozen=True, kw_only=True)
class Backtest(
    _AskAgain, OtherPolicyOptions, OtherQueuesOptions, Command[BacktestResult | BacktestDiff | QueueDayDiff]
):
    """Decide again for each pod that a recording shows bound, refused or preempting, and compare.

    Of a snapshot, the pods that were bound last are taken off their nodes and scheduled again, the newest first.

    With --policy the whole day is simulated twice instead, with the recorded scheduler's configuration and with another
    one: which pods move, how long they wait, whom they preempt, how full and how balanced the nodes are over time.

    With --queues Kueue's day is simulated twice, with the recorded queues and with these: who is admitted, who waits
    how long, and who is preempted.
    """

    exit_1_when = "less than --need is reproduced (with --policy: something differs)"
    examples = ("day.jsonl.gz", "day.jsonl.gz --need 99")
    functions: ClassVar[Mapping[str, str]] = {
        "backtest": "question:_AskAgain",
        "backtest_diff": "day_diff:DayDiff",
        "backtest_queues": "queue_day:QueueDay",
    }

    @classmethod
    def has_gaps(cls) -> bool:
        return True

    def choose(self) -> Command[Any]:
        if self.queues:
            return self._choose_queues()
        if self.other is None:
            return super().choose()
        from kwhatif.commands.backtest.day_diff import DayDiff
        from kwhatif.snapshot.load import is_recording_file

        if self.need or not is_recording_file(self.recording):
            raise UsageError(
                "--policy asks what another configuration would have made of a recorded day; which scheduler decided, "
                "for --need and for snapshots, is said by --recorded-policy"
            )
        return DayDiff(recording=self.recording, other=self.other)

    def _choose_queues(self) -> Command[Any]:
        from kwhatif.commands.backtest.queue_day import QueueDay
        from kwhatif.snapshot.load import is_recording_file

        if self.other is not None or self.need or not is_recording_file(self.recording):
            raise UsageError("--queues asks about a recorded day, without --policy and --need")
        return QueueDay(recording=self.recording, queues=self.queues)
