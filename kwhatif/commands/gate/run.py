"""The question of ``gate``, and its Python function."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Unpack, cast

from kwhatif.commands.api_options import (
    AutoscaledKeywords,
    ClusterSource,
    Manifests,
    Path,
    ask,
    build_scenario,
    files_of,
    python_names,
)
from kwhatif.commands.gate.excerpts import with_excerpts
from kwhatif.commands.gate.gate_policy import rules_of
from kwhatif.commands.gate.judgement import GateScenario, GateSettings, apply_change, judge_change
from kwhatif.commands.gate.options import GateOptions
from kwhatif.commands.gate.revisions import sides_of
from kwhatif.commands.gate.rule import all_rules
from kwhatif.commands.gate.scaled_out import ScaledOutChange, place_scaled_out
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.gate import GateResult
from kwhatif.scheduling.driver import DriverOptions
from kwhatif.simulation.expansion.pods import expand_manifests, require_pods
from kwhatif.simulation.inputs import NO_CLUSTER, Files, Inputs, Notes, Rendering, SchedulerOptions
from kwhatif.simulation.manifest_loading import describe_alternatives, note_report, reading_options
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.repository_policy import ReadPolicy, find_policy, read_policy
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, ReadManifests, Scenario
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.reading_report import ReadingReport


@dataclass(frozen=True, kw_only=True)
class Gate(GateOptions, Question[GateResult]):
    """May this change go into the cluster?

    ``base`` are the manifests as they were. The rules are those of the file ``config``, else of the nearest
    ``.kwhatif.yaml``, at the ``levels`` that are given besides.
    """

    tells_merged = False

    def build_scenario(self, inputs: Inputs, engine: SchedulerOptions) -> Scenario:
        """The scenario, with defaults from the rules file."""
        # Rules that make no sense are refused before anything else is looked at.
        tuple(self.terms.rules)
        told = self._read.policy
        snapshot = inputs.snapshot or told.snapshot
        if not snapshot:
            raise UsageError(NO_CLUSTER)
        version = engine.kubernetes_version or told.kubernetes_version
        reading = inputs.manifest_options
        excluded = [*(reading.exclude or ()), *(told.exclude or ())]
        # Whoever proposes a change need not be trusted with programs that run here.
        render = reading.render or Rendering.never
        return Scenario(
            replace(
                inputs,
                snapshot=snapshot,
                manifest_options=replace(reading, exclude=excluded, render=render),
                autoscale=inputs.autoscale or told.autoscale or (),
            ),
            replace(engine, policy=engine.policy or told.policy, kubernetes_version=version),
        )

    def named_cluster(self) -> Sequence[str]:
        """The cluster that the rules file names, once its rules are valid."""
        tuple(self.terms.rules)
        return self._read.policy.snapshot or ()

    @cached_property
    def _read(self) -> ReadPolicy:
        return read_policy(self.config or find_policy(os.curdir))

    @cached_property
    def terms(self) -> GateSettings:
        """The settings of the judgement. Raises InputError for an invalid rules file, UsageError for an
        invalid level.
        """
        known = all_rules()
        return GateSettings(
            rules_of(self._read, known, self.levels),
            known_rules=frozenset(known),
            exemptions=self.exemptions and self._read.policy.exemptions == "allowed",
            seed=self.seed or 0,
            policy=f"{self._read.description}{', --rule ' + ' '.join(self.levels) if self.levels else ''}",
        )

    def load(self, scenario: Scenario, notes: Notes) -> ReadManifests:
        """Read the manifests of head and base."""
        base, head = sides_of(self.base, scenario.inputs.manifests)
        # With a base, a head without manifests is a change, too: all of them go.
        manifests, report = self._read_side(scenario, head, is_compared=base is not None)
        known: set[bytes] = set()
        before: list[Manifest] | None = None
        if base is not None:
            before, of_base = self._read_side(scenario, base, is_compared=True)
            known = {file.data for file in of_base.unreadable}
            report.leave_out_known(of_base)
        for file in report.unreadable:
            # What nobody could read before says nothing of the change.
            if file.data not in known:
                raise file.error
            notes.warn(f"passed over, as it was in the base: {file.error}")
        gaps = [*note_report(report, notes), *_alternatives(manifests, before or ())]
        return ReadManifests(manifests, base=before, gaps=gaps)

    def _read_side(
        self, scenario: Scenario, files: Files, *, is_compared: bool
    ) -> tuple[list[Manifest], ReadingReport]:
        paths = gather_directories(
            [each for each in files if isinstance(each, str)], recursive=self.recursive, may_be_empty=is_compared
        )
        given: Files = [*paths, *(each for each in files if not isinstance(each, str))]
        options = replace(
            reading_options(scenario), may_be_empty=is_compared, with_unreadable=is_compared, recursive=self.recursive
        )
        report = ReadingReport()
        return load_manifests(given, scenario.inputs.namespace, options, report), report

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> GateScenario:
        before = scenario.snapshot
        changes, scenario = apply_change(scenario)
        as_asked = partial(
            expand_manifests,
            manifests=changes.apply,
            reading=scenario.inputs.manifest_options,
            version=scenario.scheduler_options.kubernetes_version,
            gates=scenario.gates,
        )
        expanded = as_asked(scenario.snapshot)
        more_than_once = scenario.snapshot.copy() if expanded.rollouts or expanded.scaled else None
        if scenario.read.base is None and not expanded.refusals:
            require_pods(scenario.inputs.manifests, scenario.manifests, scenario.inputs.manifest_options)
        return GateScenario.from_loaded(
            scenario,
            expanded,
            expand_again=None if more_than_once is None else partial(as_asked, more_than_once),
            changes=changes,
            before=before,
            before_change=more_than_once,
        )

    def options(self, scenario: PreparedScenario) -> DriverOptions:
        detailed = any(rule.scores and rule.given.level != "off" for rule in self.terms.rules)
        return {"seed": self.seed, "detailed": detailed, "observer": cast("GateScenario", scenario).cycles}

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[GateResult]:
        (scenario,) = scenarios
        proposal = cast("GateScenario", scenario)

        def scale_out() -> ScaledOutChange:
            before = proposal.before_change
            if before is None:
                return ScaledOutChange()
            return place_scaled_out(scenario, before, proposal.changes.apply, self.select_pods)

        answer = judge_change(proposal, self.terms, scale_out)

        def result(fidelity: Fidelity) -> GateResult:
            result = answer.result(fidelity)
            for text in result.warnings:
                notes.warn(text)
            if scenario.inputs.with_map:
                return with_excerpts(result)
            return result

        return replace(answer, result=result)


def _alternatives(manifests: Sequence[Manifest], base: Sequence[Manifest]) -> Iterator[Gap]:
    """Objects that the change defines more than once: it is not known which version the cluster gets."""
    before = {each.key: each for each in base}
    for manifest in manifests:
        text = describe_alternatives(manifest)
        known = before.get(manifest.key)
        if text and (known is None or known.instead_of is None or known.raw != manifest.raw):
            effect = "the last one is judged, and the other may be what the cluster gets"
            yield Gap(what=text, effect=effect, pods=("<input>",))


@python_names(GateOptions)
def gate(
    manifests: Manifests,
    *,
    snapshot: ClusterSource = (),
    base: Manifests | None = None,
    config: Path | None = None,
    levels: Mapping[str, str] | None = None,
    exemptions: bool = True,
    recursive: bool = True,
    with_pending: bool = False,
    seed: int | None = None,
    verb: str = "",
    at: str = "",
    **options: Unpack[AutoscaledKeywords],
) -> GateResult:
    """May this change go into the cluster? Rules look at what comes of it.

    ``base`` are the manifests as they were; without, everything is judged. The rules are those of the GatePolicy
    ``config``, unsaid of the nearest ``.kwhatif.yaml``, each at its level or at that of ``levels``: ``error``, ``warn``
    or ``off``. ``verb`` is as for ``expand``, ``at`` as for
    ``place``.
    """

    question = Gate(
        base=None if base is None else files_of(base),
        config=None if config is None else os.fspath(config),
        levels=[f"{name}={level}" for name, level in (levels or {}).items()],
        exemptions=exemptions,
        recursive=recursive,
        with_pending=with_pending,
        seed=seed,
    )
    scenario = build_scenario(manifests, snapshot, {**options, "verb": verb, "at": at})
    return ask(question, question.build_scenario(scenario.inputs, scenario.scheduler_options))
