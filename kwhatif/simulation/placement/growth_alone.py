"""The effect of growth alone: the run of a question repeated from the same state with autoscalers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kwhatif.api.core import Pod
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.autoscalers.scaler import Autoscaler, Scaler
from kwhatif.simulation.inputs import PROVISION_SECONDS
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot


class Growing:
    """The cluster of a scenario before a run, to repeat the run once it is known whether pods wait.

    New nodes come up after ``provision`` seconds.
    """

    def __init__(
        self, scenario: PreparedScenario, autoscalers: Sequence[Autoscaler], provision: float = PROVISION_SECONDS
    ) -> None:
        self._case, self._autoscalers, self._provision = scenario, autoscalers, provision
        self._beginning = scenario.session.fork()

    def after(self, run: Run) -> Run:
        """The outcome once the autoscalers have helped, where the ``run`` without them leaves pods waiting."""
        if run.good and not run.victims:
            none = ScaleUp(autoscalers=tuple(each.name for each in self._autoscalers))
            return dataclasses.replace(run, scale_up=none)
        scenario = self._case
        scaler = Scaler(
            self._autoscalers,
            self._later,
            observation_time_of(scenario.snapshot, scenario.inputs.now),
            float(self._provision),
        )
        return place_pods(
            self._beginning,
            scenario.pods_to_schedule,
            rollouts=scenario.new_rollouts(),
            others=scenario.unknown_kinds,
            scaler=scaler,
        )

    def _later(self, session: Session, waiting: Sequence[Pod]) -> Snapshot:
        return snapshot_after_run(
            session.snapshot, self._case.edited.covered, self._case.expanded, Run(session, left=waiting)
        )
