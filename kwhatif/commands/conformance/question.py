"""The task of ``conformance``: replay recorded decisions of a real kube-scheduler or autoscaler and compare."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import IO, TYPE_CHECKING, Annotated, ClassVar

from kwhatif.commands.conformance.result import ConformanceResult
from kwhatif.simulation.command import FILES, Task
from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import KUBERNETES_VERSION, Notes, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.versions import Features

_VERSION = replace(
    KUBERNETES_VERSION,
    help="The Kubernetes whose rules apply. Default: the minor that the file's name begins with, "
    "as in 1.34-volumes.jsonl.gz, else the newest; 1.22 for scenarios with a legacy Policy.",
)


@dataclass(frozen=True, kw_only=True)
class Conformance(Task[ConformanceResult]):
    """Replay scenarios, and compare the answers with what a real kube-scheduler was recorded to do.

    Scenarios with nodeGroups are of cluster-autoscaler, those with nodePools of Karpenter, those with a
    DeschedulerPolicy of the descheduler, and those with Kueue's Configuration of Kueue.
    """

    takes = SchedulerOptions
    lacks = {field.name for field in fields(SchedulerOptions)} - {
        *("kubernetes_version", "feature_gates", "plugins", "skip_unknown_plugins")
    }
    renames: ClassVar = {"kubernetes_version": _VERSION}
    prints = FILES
    exit_1_when = "something differs"
    examples = ("samples/scenario.jsonl",)

    files: Annotated[
        Sequence[str],
        Argument(
            metavar="FILE",
            file="in",
            repeats=True,
            required=True,
            help="Scenarios: JSON Lines, or one JSON object a file, packed or not; directories; '-' for stdin.",
        ),
    ] = ()
    answers: Annotated[
        str | None,
        Flag(
            "--answers",
            metavar="OUT",
            file="out",
            help="Write the answers here, a line a scenario; packed if it ends in .gz or .zst.",
        ),
    ] = None
    show: Annotated[
        int, Flag("--show", metavar="N", least=0, shows_default=True, help="Differences to print for each file.")
    ] = 5

    def answer(self, options: SchedulerOptions, notes: Notes) -> ConformanceResult:
        import msgspec

        from kwhatif.commands.conformance.compare import Tally
        from kwhatif.commands.conformance.scenario_files import (
            pods_in,
            read_scenarios,
            replay_scenario,
            scenario_files,
        )
        from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
        from kwhatif.framework.outside import load_outside
        from kwhatif.progress import track
        from kwhatif.simulation.scheduler_setup import choose_minor, minor_in_name
        from kwhatif.snapshot.format.atomic_files import compress_file, new_file
        from kwhatif.snapshot.read.files import display_path
        from kwhatif.versions.minors import LEGACY_MINOR

        version, outside = options.kubernetes_version, load_outside(options.plugins or ())
        encoder = msgspec.json.Encoder()
        by_minor: dict[str, Features] = {}
        results = []
        with contextlib.ExitStack() as stack:
            out: IO[bytes] | None = None
            if self.answers is not None:
                out = stack.enter_context(compress_file(stack.enter_context(new_file(self.answers)), self.answers))
            for file in scenario_files(self.files):
                tally = Tally(display_path(file), self.show)
                named = "" if version else minor_in_name(file)
                replaying = track(read_scenarios(file), f"Replaying {display_path(file)}", "scenarios")
                for where, scenario in replaying:
                    legacy = isinstance(scenario, SchedulerScenario) and scenario.policy is not None
                    minor = LEGACY_MINOR if legacy and not version else named
                    if minor not in by_minor:
                        by_minor[minor] = choose_minor(
                            version, options.feature_gates, notes, otherwise=minor, legacy=True
                        )
                    got = replay_scenario(
                        scenario,
                        source=where,
                        features=by_minor[minor],
                        outside=outside,
                        skip_unknown=options.skip_unknown_plugins,
                    )
                    if out is not None:
                        out.write(encoder.encode(got) + b"\n")
                    partly = isinstance(scenario, SchedulerScenario) and scenario.ties is not None
                    tally.add(scenario.name, scenario.expected, got, pods=pods_in(scenario), partly=partly)
                results.append(tally.result())
        return ConformanceResult(files=tuple(results))
