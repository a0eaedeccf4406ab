"""Options of ``kwhatif backtest``: what is asked again, and what another scheduler is to make of the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from kwhatif.simulation.flag import Argument, Flag, InputFile
from kwhatif.simulation.inputs import Files

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.recording import Recording

RECORDED_POLICY = InputFile(
    "--recorded-policy",
    "The KubeSchedulerConfiguration of the scheduler that was recorded; 'default' is kube-scheduler's own. Default: "
    "the cluster's if the recording has it, else 'default'.",
    type=str | None,
)


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """A recording; who decided there."""

    recording: Annotated[
        str,
        Argument(
            metavar="FILE",
            file="in",
            help="A recording: JSON Lines of lists and watch events, packed or not, '-' for stdin; or a snapshot.",
        ),
    ]

    @cached_property
    def recording_and_start(self) -> tuple[Recording, Snapshot]:
        """The recording, and the cluster it begins with. Raises InputError."""
        from kwhatif.snapshot.load import load_recording

        return load_recording(self.recording)


@dataclass(frozen=True, kw_only=True)
class AgreementOptions(RecordingOptions):
    """How much of what is asked again has to agree."""

    need: Annotated[
        float,
        Flag(
            "--need",
            metavar="PERCENT",
            least=0,
            most=100,
            shows_default=True,
            help="Exit with 1 if a smaller percentage of any kind of decision is reproduced.",
        ),
    ] = 0
    last: Annotated[
        int,
        Flag("--last", metavar="N", least=1, shows_default=True, help="Judge the last N pods of a snapshot."),
    ] = 100


@dataclass(frozen=True, kw_only=True)
class OtherPolicyOptions(RecordingOptions):
    """What another scheduler is to make of the day."""

    other: Annotated[
        str | Mapping[str, Any] | None,
        Flag(
            "--policy",
            type=str | None,
            metavar="FILE[@VERSION]",
            file="in",
            help="Replay the day with this KubeSchedulerConfiguration, or 'default'; the Kubernetes whose rules apply "
            "may follow, as in default@1.31.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class OtherQueuesOptions(RecordingOptions):
    """Which objects of Kueue are to take the place of the recorded ones."""

    queues: Annotated[
        Files,
        Flag(
            "--queues",
            metavar="DIR|FILE",
            file="manifests",
            help="Replay the day with these ClusterQueues, Cohorts, ResourceFlavors and the like in place of the "
            "recorded ones (repeatable).",
        ),
    ] = ()
