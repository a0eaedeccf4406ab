"""The question of ``rightsize``, and its Python function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Unpack

from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Path, ask, build_scenario, paths_of
from kwhatif.commands.rightsize.advice import advise
from kwhatif.commands.rightsize.advice_files import write_advice
from kwhatif.commands.rightsize.advised_resources import resources_of
from kwhatif.commands.rightsize.consequence import Consequence, SizingTrial
from kwhatif.commands.rightsize.findings import Findings
from kwhatif.commands.rightsize.horizontal import scalings
from kwhatif.commands.rightsize.limit_ranges import LimitRanges
from kwhatif.commands.rightsize.options import FORMS, PATCHES, RightsizeOptions
from kwhatif.commands.rightsize.policy_document import RightsizingPolicy, default_policy, read_rightsizing_policy
from kwhatif.commands.rightsize.prices import price_by
from kwhatif.commands.rightsize.relaxation import find_bounds
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.commands.rightsize.rightsize_result import rightsize_result
from kwhatif.commands.rightsize.steady_state import LARGE
from kwhatif.commands.rightsize.steps import steps_of
from kwhatif.commands.rightsize.usage_sources import gather_usage
from kwhatif.commands.rightsize.workload_pods import WorkloadPods
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity
from kwhatif.simulation.autoscalers.node_prices import Prices, read_prices
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario


@dataclass(frozen=True, kw_only=True)
class Rightsize(RightsizeOptions, Question[RightsizeResult]):
    """What if requests were what pods really use, by a policy of ``sizing``?

    With ``steps`` also: which few workloads bring most? What is advised is written below the folder ``write``, if one
    is named.
    """

    with_pending = True
    several_runs: ClassVar[bool] = True

    @cached_property
    def policy(self) -> RightsizingPolicy:
        return read_rightsizing_policy(self.sizing) if self.sizing else default_policy()

    @cached_property
    def known_prices(self) -> Prices | None:
        return read_prices(self.prices) if self.prices else None

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if self.prometheus_token_file and not self.prometheus:
            raise UsageError("--prometheus-token-file is about --prometheus URL")
        if self.write_as not in FORMS:
            raise UsageError(f"--write-as {self.write_as}: expected one of {', '.join(FORMS)}")
        if self.write == "-":
            raise UsageError("--write -: standard output is for the answer; name a directory")
        # What is wrong with these is said before anything else is read.
        _ = self.policy, self.known_prices

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[RightsizeResult]:
        (scenario,) = scenarios
        findings = self._findings(scenario, notes)
        asking = SizingTrial(scenario, price_by(self.known_prices, scenario.scaler))
        before = asking.ask({})
        after = asking.ask(findings.new, findings.scalings)
        _warn(before, after, notes)
        bounds = list(find_bounds(asking, findings.new, findings.scalings, after))
        steps = (
            list(steps_of(asking, findings.new, findings.changes, findings.scalings, self.most_steps))
            if self.steps
            else []
        )
        state = after.state
        basis = Run(state.first, state.asked, state.placements, scenario.unknown_kinds, after=state.session)

        def result(fidelity: Fidelity) -> RightsizeResult:
            if self.write:
                written = write_advice(self.write, self.write_as, findings.changes, findings.scalings)
                notes.note(f"{self.write}: {len(written)} files, of which edits.yaml is for --edits")
            return rightsize_result(scenario, self.policy, findings, before, after, bounds, steps, fidelity)

        return PendingResult(
            [basis],
            result,
            after.state.placements,
            beginning=before.state.session,
        )

    def _findings(self, scenario: PreparedScenario, notes: Notes) -> Findings:
        snapshot = scenario.snapshot
        pods = WorkloadPods(snapshot)
        read = gather_usage(
            self, snapshot, pods, self.policy.window, scenario.inputs.namespace, scenario.inputs.now, notes
        )
        advised = advise(pods, read.book, read.recommendations, self.policy, LimitRanges(snapshot))
        changes = advised.by_workload()
        scaled = list(scalings(snapshot, pods, read.book, changes))
        return Findings(
            read, advised, changes, resources_of(changes), [each for each in scaled if each.then != each.now]
        )


def _warn(before: Consequence, after: Consequence, notes: Notes) -> None:
    for text in after.failed:
        notes.warn(text)
    if after.unpriced and after.side.cost is not None:
        some = ", ".join(after.unpriced[:3])
        notes.warn(f"nobody knows the price of {len(after.unpriced)} nodes, such as {some}: they are in no cost")
    if before.state.removed is not None and before.side.nodes > LARGE:
        notes.note(
            f"more than {LARGE} nodes: all that one loop of cluster-autoscaler finds removable are drained one after "
            "the other before the next loop looks, and which resource binds is not proven by asking again"
        )
    if before.state.removed is None:
        notes.note("no autoscaler was asked which nodes could go: --autoscale FILE names one")


def rightsize(
    *,
    snapshot: ClusterSource,
    usage: Path | Sequence[Path] = (),
    prometheus: str = "",
    prometheus_step: int = 60,
    prometheus_timeout: float = 60.0,
    prometheus_retries: int = 2,
    prometheus_token_file: Path = "",
    sizing: Path | None = None,
    prices: Path | None = None,
    steps: bool = False,
    most_steps: int = 8,
    write: Path = "",
    write_as: str = PATCHES,
    **options: Unpack[AutoscaledKeywords],
) -> RightsizeResult:
    """What if requests were what pods really use?

    ``usage`` are files; a ``prometheus`` is asked by its URL, with samples ``prometheus_step`` seconds apart; without
    either, what the snapshot holds counts. ``sizing`` is a RightsizingPolicy, ``prices`` a catalogue or a table of
    prices. With ``steps`` also: which few workloads, no more than ``most_steps``, bring most? What is advised goes
    below the directory ``write``, as ``patches`` or as ``vpa``.
    """
    question = Rightsize(
        usage=paths_of(usage),
        prometheus=prometheus,
        prometheus_step=prometheus_step,
        prometheus_timeout=prometheus_timeout,
        prometheus_retries=prometheus_retries,
        prometheus_token_file=os.fspath(prometheus_token_file),
        sizing="" if sizing is None else os.fspath(sizing),
        prices="" if prices is None else os.fspath(prices),
        steps=steps,
        most_steps=most_steps,
        write=os.fspath(write),
        write_as=write_as,
    )
    return ask(question, build_scenario((), snapshot, options))
