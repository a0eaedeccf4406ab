"""``gate`` as a question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from kwhatif.api.kinds import IDLE
from kwhatif.errors import UsageError
from kwhatif.results.gate import GateResult
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.gathering import gathered
from kwhatif.whatif.expand.expand import Expanded
from kwhatif.whatif.gate.policy import ReadPolicy, find_policy, read_policy, rules_of
from kwhatif.whatif.gate.registry import all_rules
from kwhatif.whatif.gate.rule import Rule
from kwhatif.whatif.gate.run import Request, Terms, gate
from kwhatif.whatif.stages.expansion import admission_plugins, insist_on_pods, template_paths
from kwhatif.whatif.stages.inputs import Engine, Files, Inputs
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question

__all__ = ["Gate"]


@dataclass(frozen=True)
class Gate(Question[GateResult]):
    """May this change go into the cluster?

    ``base`` are the manifests as they were. The rules are those of the file ``config``, else of the nearest
    ``.kwhatif.yaml``, at the levels of ``rule`` (``NAME=LEVEL``).
    """

    tells_merged: ClassVar[bool] = False

    base: Files | None = None
    config: str | None = None
    rule: Sequence[str] = ()
    exemptions: bool = True
    recursive: bool = True
    with_pending: bool = False
    seed: int | None = None

    def case(self, inputs: Inputs, engine: Engine) -> Case:
        """What to ask of which cluster, where the rules file stands for what is not said."""
        # Rules that make no sense are refused before anything else is looked at.
        tuple(self._rules)
        told = self._read.policy
        snapshot = inputs.snapshot or told.snapshot
        if not snapshot:
            raise UsageError("name the cluster with --snapshot, KWHATIF_SNAPSHOT, or snapshot in .kwhatif.yaml")
        version = engine.kubernetes_version or told.kubernetes_version
        return Case(
            replace(inputs, snapshot=snapshot, now=inputs.now or datetime.now(UTC)),
            replace(engine, policy=engine.policy or told.policy, kubernetes_version=version),
        )

    @cached_property
    def _read(self) -> ReadPolicy:
        return read_policy(self.config or find_policy(os.curdir))

    @cached_property
    def _rules(self) -> Sequence[Rule[Any]]:
        return rules_of(self._read, all_rules(), self.rule)

    def load(self, case: Case) -> None:
        """Read the manifests as they are to be, and as they were."""
        files, namespace = case.inputs.manifests, case.inputs.namespace
        # With a base, a head without manifests is a change, too: all of them go.
        case.manifests = load_manifests(self._gathered(files, may_be_empty=self.base is not None), namespace)
        if self.base is not None:
            case.aside = load_manifests(self._gathered(self.base, may_be_empty=True), namespace)
        else:
            insist_on_pods(files, case.manifests, case.inputs.reading)

    def _gathered(self, files: Files, *, may_be_empty: bool) -> Files:
        paths = gathered(
            [each for each in files if isinstance(each, str)], recursive=self.recursive, may_be_empty=may_be_empty
        )
        return [*paths, *(each for each in files if not isinstance(each, str))]

    def expand(self, case: Case) -> None:
        case.expanded = Expanded()

    def session(self, case: Case) -> None:
        """What is removed leaves before there is one."""

    def answer(self, cases: Sequence[Case], notes: Notes) -> GateResult:
        (case,) = cases
        reading, now = case.inputs.reading, case.inputs.now
        unread = {each.obj.kind or "" for each in case.manifests} if reading.ignore_unknown else IDLE
        request = Request(
            case.snapshot,
            case.manifests,
            None if self.base is None else case.aside,
            asked=case.asked,
            pending=self.with_pending,
            covered=case.edited.covered,
            templates=template_paths(reading),
            admission=admission_plugins(reading),
            unread=frozenset(unread),
            seed=self.seed,
        )
        assert now is not None
        terms = Terms(
            self._rules,
            known=frozenset(all_rules()),
            now=now,
            exemptions=self.exemptions and self._read.policy.exemptions == "allowed",
            policy=f"{self._read.called}{', --rule ' + ' '.join(self.rule) if self.rule else ''}",
        )
        result = gate(request, case.setup, terms)
        for text in result.warnings:
            notes.warn(text)
        return result
