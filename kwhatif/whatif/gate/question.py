"""``gate`` as a question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import cast

from kwhatif.errors import UsageError
from kwhatif.results.gate import GateResult
from kwhatif.results.parts import Fidelity
from kwhatif.scheduling.driver import Options
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.gathering import gathered
from kwhatif.whatif.gate.excerpts import with_excerpts
from kwhatif.whatif.gate.gate_policy import ReadPolicy, find_policy, read_policy, rules_of
from kwhatif.whatif.gate.registry import all_rules
from kwhatif.whatif.gate.run import Proposal, Terms, begin, gate
from kwhatif.whatif.stages.expansion import expanded, insist_on_pods
from kwhatif.whatif.stages.inputs import NO_CLUSTER, Engine, Files, Inputs
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class Gate(Question[GateResult]):
    """May this change go into the cluster?

    ``base`` are the manifests as they were. The rules are those of the file ``config``, else of the nearest
    ``.kwhatif.yaml``, at the levels of ``rule`` (``NAME=LEVEL``).
    """

    tells_merged = False

    base: Files | None = None
    config: str | None = None
    rule: Sequence[str] = ()
    exemptions: bool = True
    recursive: bool = True
    with_pending: bool = False
    seed: int | None = None

    def case(self, inputs: Inputs, engine: Engine) -> Proposal:
        """What to ask of which cluster, where the rules file stands for what is not said."""
        # Rules that make no sense are refused before anything else is looked at.
        tuple(self.terms.rules)
        told = self._read.policy
        snapshot = inputs.snapshot or told.snapshot
        if not snapshot:
            raise UsageError(NO_CLUSTER)
        version = engine.kubernetes_version or told.kubernetes_version
        return Proposal(
            replace(
                inputs,
                snapshot=snapshot,
                now=inputs.now or datetime.now(UTC),
                autoscale=inputs.autoscale or told.autoscale or (),
            ),
            replace(engine, policy=engine.policy or told.policy, kubernetes_version=version),
        )

    def named_cluster(self) -> Sequence[str] | None:
        """What the rules file says of the cluster, once its rules make sense."""
        tuple(self.terms.rules)
        return self._read.policy.snapshot

    @cached_property
    def _read(self) -> ReadPolicy:
        return read_policy(self.config or find_policy(os.curdir))

    @cached_property
    def terms(self) -> Terms:
        """How to judge. Raises InputError for a rules file, UsageError for a level, that makes no sense."""
        known = all_rules()
        return Terms(
            rules_of(self._read, known, self.rule),
            known=frozenset(known),
            exemptions=self.exemptions and self._read.policy.exemptions == "allowed",
            seed=self.seed or 0,
            policy=f"{self._read.called}{', --rule ' + ' '.join(self.rule) if self.rule else ''}",
        )

    def load(self, case: Case) -> None:
        """Read the manifests as they are to be, and as they were."""
        files, namespace = case.inputs.manifests, case.inputs.namespace
        # With a base, a head without manifests is a change, too: all of them go.
        case.manifests = load_manifests(self._gathered(files, may_be_empty=self.base is not None), namespace)
        if self.base is not None:
            proposal = cast("Proposal", case)
            proposal.base = load_manifests(self._gathered(self.base, may_be_empty=True), namespace)

    def _gathered(self, files: Files, *, may_be_empty: bool) -> Files:
        paths = gathered(
            [each for each in files if isinstance(each, str)], recursive=self.recursive, may_be_empty=may_be_empty
        )
        return [*paths, *(each for each in files if not isinstance(each, str))]

    def expand(self, case: Case) -> None:
        proposal = cast("Proposal", case)
        begin(proposal)
        version = case.engine.kubernetes_version
        case.expanded = expanded(case.snapshot, proposal.found.apply, case.inputs.reading, version)
        if proposal.base is None and not case.expanded.refusals:
            insist_on_pods(case.inputs.manifests, case.manifests, case.inputs.reading)

    def options(self, case: Case) -> Options:
        detailed = any(rule.scores and rule.given.level != "off" for rule in self.terms.rules)
        return {"seed": self.seed, "detailed": detailed, "observer": cast("Proposal", case).cycles}

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[GateResult]:
        (case,) = cases
        assert case.inputs.now is not None
        answer = gate(cast("Proposal", case), self.terms, case.inputs.now)

        def result(fidelity: Fidelity) -> GateResult:
            result = answer.result(fidelity)
            for text in result.warnings:
                notes.warn(text)
            if case.inputs.mapped:
                with_excerpts(result)
            return result

        return replace(answer, result=result)
