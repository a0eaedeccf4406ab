"""The question of ``rightsize``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace

from kwhatif.commands.common_options import PricesFile
from kwhatif.commands.rightsize.options import FORMS, PATCHES, UsageOptions
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.commands.rightsize.rightsize_result import rightsize_result
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, InputFile
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.commands.rightsize.consequence import Consequence
    from kwhatif.commands.rightsize.policy_document import RightsizingPolicy
    from kwhatif.commands.rightsize.rightsize_result import Findings
    from kwhatif.simulation.autoscalers.node_prices import Prices


_USAGE = "samples/usage"


@dataclass(frozen=True, kw_only=True)
class Rightsize(UsageOptions, Question[RightsizeResult]):
    """Derive requests from usage, and show what they change: pods that wait, nodes that go, cost, what limits the rest.

    Both sides are compared at rest: every pod that fits has a node, and nodes that autoscalers remove are gone.
    """

    takes = AutoscaledOptions
    lacks = frozenset({"verb", "at", "recursive"})
    exit_1_when = "more pods are without a node than today"
    examples = (
        f"--snapshot {_USAGE}/saves-40/cluster.json --usage {_USAGE}/saves-40/usage.json "
        f"--autoscale {_USAGE}/saves-40/groups.yaml --steps",
        f"--snapshot {_USAGE}/pods-bind/cluster.json --usage {_USAGE}/pods-bind/usage.txt --write advice",
    )

    sizing: Annotated[
        str,
        InputFile(
            "--sizing",
            "A RightsizingPolicy: how requests are derived from usage. Default: the 90th percentile of CPU, the "
            "peak of memory, 15% on top, from eight days, as VPA's recommender has it.",
        ),
    ] = ""
    prices: PricesFile = ""
    steps: Annotated[bool, Flag("--steps", help="Also show which few workloads save most, and what each adds.")] = False
    most_steps: Annotated[
        int,
        Flag(
            "--most-steps",
            metavar="N",
            least=1,
            most=100,
            shows_default=True,
            help="With --steps: no more than N of them.",
        ),
    ] = 8
    write: Annotated[
        str,
        Flag(
            "--write",
            metavar="DIR",
            file="out",
            help="Write the advised requests: a file for each workload, and edits.yaml for --edits.",
        ),
    ] = ""
    write_as: Annotated[
        str,
        Flag(
            "--write-as",
            choices=FORMS,
            shows_default=True,
            help="With --write: strategic merge patches, or VerticalPodAutoscalers.",
        ),
    ] = PATCHES

    with_pending = True
    several_runs: ClassVar[bool] = True

    @cached_property
    def policy(self) -> RightsizingPolicy:
        from kwhatif.commands.rightsize.policy_document import default_policy, read_rightsizing_policy

        return read_rightsizing_policy(self.sizing) if self.sizing else default_policy()

    @cached_property
    def known_prices(self) -> Prices | None:
        from kwhatif.simulation.autoscalers.node_prices import read_prices

        return read_prices(self.prices) if self.prices else None

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if self.prometheus_token_file and not self.prometheus:
            raise UsageError("--prometheus-token-file needs --prometheus URL")
        if self.write_as not in FORMS:
            raise UsageError(f"--write-as {self.write_as}: expected one of {', '.join(FORMS)}")
        if self.write == "-":
            raise UsageError("--write -: standard output is for the answer; name a directory")
        # What is wrong with these is said before anything else is read.
        _ = self.policy, self.known_prices

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[RightsizeResult]:
        from kwhatif.commands.rightsize.advice_files import write_advice
        from kwhatif.commands.rightsize.consequence import SizingTrial, find_bounds, price_by
        from kwhatif.commands.rightsize.steps import steps_of
        from kwhatif.simulation.fidelity.assess import assess

        (scenario,) = scenarios
        findings = self._findings(scenario, notes)
        asking = SizingTrial(scenario, price_by(self.known_prices, scenario.scaler))
        before = asking.ask({})
        after = asking.ask(findings.new, findings.scalings)
        _warn(before, after, notes)
        binds = list(find_bounds(asking, findings.new, findings.scalings, before, after))
        steps = (
            list(steps_of(asking, findings.new, findings.changes, findings.scalings, self.most_steps))
            if self.steps
            else []
        )
        state = after.state
        basis = replace(state.run, after=state.session)
        fidelity = assess(basis)
        if self.write:
            written = write_advice(self.write, self.write_as, findings.changes, findings.scalings)
            notes.note(f"{self.write}: {len(written)} files, of which edits.yaml is for --edits")
        result = rightsize_result(scenario, self.policy, findings, before, after, binds, steps, fidelity)
        return Answer(result, [basis], state.run.placements, before.state.session)

    def _findings(self, scenario: PreparedScenario, notes: Notes) -> Findings:
        from kwhatif.commands.rightsize.advice import advise, resources_of
        from kwhatif.commands.rightsize.horizontal import scalings
        from kwhatif.commands.rightsize.limit_ranges import LimitRanges
        from kwhatif.commands.rightsize.rightsize_result import Findings
        from kwhatif.commands.rightsize.usage_sources import gather_usage
        from kwhatif.commands.rightsize.workload_pods import WorkloadPods

        snapshot = scenario.snapshot
        pods = WorkloadPods(snapshot)
        read = gather_usage(
            self, snapshot, pods, self.policy.window, scenario.inputs.namespace, scenario.inputs.now, notes
        )
        advised = advise(pods, read.book, read.recommendations, self.policy, LimitRanges(snapshot))
        changes = advised.by_workload()
        rescaled = list(scalings(snapshot, pods, read.book, changes))
        return Findings(read, advised, changes, resources_of(changes), rescaled)


def _warn(before: Consequence, after: Consequence, notes: Notes) -> None:
    from kwhatif.simulation.placement.scale_down import LARGE

    for text in after.failed:
        notes.warn(text)
    if before.state.removed is not None and before.side.nodes > LARGE:
        notes.note(
            f"more than {LARGE} nodes: all that one loop of cluster-autoscaler finds removable are drained one after "
            "the other before the next loop looks, and which resource binds is not proven by asking again"
        )
    if before.state.removed is None:
        notes.note("no autoscaler says which nodes could go: --autoscale FILE names one")
