"""``rightsize`` as a question: what if requests were what pods really use?

``rightsize`` as a function, for programs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack

from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Path, ask, build_scenario, paths_of
from kwhatif.commands.rightsize.advice import advise
from kwhatif.commands.rightsize.advice_files import FORMS, PATCHES, write_advice
from kwhatif.commands.rightsize.advised_resources import resources_of
from kwhatif.commands.rightsize.consequence import Consequence, SizingTrial
from kwhatif.commands.rightsize.findings import Findings
from kwhatif.commands.rightsize.horizontal import scalings
from kwhatif.commands.rightsize.limit_ranges import LimitRanges
from kwhatif.commands.rightsize.policy_document import RightsizingPolicy, default_policy, read_rightsizing_policy
from kwhatif.commands.rightsize.prices import price_by
from kwhatif.commands.rightsize.relaxation import find_bounds
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.commands.rightsize.rightsize_result import rightsize_result
from kwhatif.commands.rightsize.steady_state import LARGE
from kwhatif.commands.rightsize.steps import steps_of
from kwhatif.commands.rightsize.usage_sources import PrometheusOptions, UsageOptions
from kwhatif.commands.rightsize.workload_pods import WorkloadPods
from kwhatif.commands.sweep.measures import Prices, read_prices
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import LoadedScenario, PendingResult, PreparedScenario, Question, RunEnd, Scenario

MOST_STEPS = 8


@dataclass(frozen=True)
class Rightsize(Question[RightsizeResult]):
    """What if requests were what pods really use, by a ``policy``?

    With ``steps`` also: which few workloads bring most? What is advised is written below the folder ``write``, if one
    is named, as ``written_as``.
    """

    with_pending = True
    several_runs: ClassVar[bool] = True

    usage: UsageOptions
    policy: RightsizingPolicy | None = None
    prices: Prices | None = None
    steps: bool = False
    most_steps: int = MOST_STEPS
    write: str = ""
    written_as: str = PATCHES

    def needs_pods(self, case: LoadedScenario) -> bool:
        return False

    def check(self, case: Scenario) -> None:
        if self.written_as not in FORMS:
            raise UsageError(f"--write-as {self.written_as}: expected one of {', '.join(FORMS)}")
        if self.write == "-":
            raise UsageError("--write -: standard output is for the answer; name a directory")

    def answer(self, cases: Sequence[PreparedScenario], notes: Notes) -> PendingResult[RightsizeResult]:
        (case,) = cases
        policy = self.policy or default_policy()
        findings = self._findings(case, policy, notes)
        asking = SizingTrial(case, price_by(self.prices, case.scaler))
        before = asking.ask({})
        after = asking.ask(findings.new, findings.scalings)
        _warn(before, after, notes)
        bounds = list(find_bounds(asking, findings.new, findings.scalings, after))
        steps = (
            list(steps_of(asking, findings.new, findings.changes, findings.scalings, self.most_steps))
            if self.steps
            else []
        )
        basis = RunRecord(after.state.first, after.state.asked, after.state.placements, case.unknown_kinds)

        def result(fidelity: Fidelity) -> RightsizeResult:
            if self.write:
                written = write_advice(self.write, self.written_as, findings.changes, findings.scalings)
                notes.note(f"{self.write}: {len(written)} files, of which edits.yaml is for --edits")
            return rightsize_result(case, policy, findings, before, after, bounds, steps, fidelity)

        return PendingResult(
            [basis],
            result,
            after.state.placements,
            ends=[RunEnd(after.state.session, case.snapshot)],
            beginning=before.state.session,
        )

    def _findings(self, case: PreparedScenario, policy: RightsizingPolicy, notes: Notes) -> Findings:
        snapshot = case.snapshot
        pods = WorkloadPods(snapshot)
        read = self.usage.read(snapshot, pods, policy.window, case.inputs.namespace, case.inputs.now, notes)
        advised = advise(pods, read.book, read.recommendations, policy, LimitRanges(snapshot))
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
    most_steps: int = MOST_STEPS,
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
    asked = None
    if prometheus:
        asked = PrometheusOptions(
            prometheus, prometheus_step, prometheus_timeout, prometheus_retries, os.fspath(prometheus_token_file)
        )
    question = Rightsize(
        usage=UsageOptions(paths_of(usage), asked),
        policy=None if sizing is None else read_rightsizing_policy(os.fspath(sizing)),
        prices=None if prices is None else read_prices(os.fspath(prices)),
        steps=steps,
        most_steps=most_steps,
        write=os.fspath(write),
        written_as=write_as,
    )
    return ask(question, build_scenario((), snapshot, options))
