"""Points around the front, found by optuna's tree-structured Parzen estimator.

It learns from all points that were tried where good ones lie, setting by setting, and draws more from there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.errors import UsageError
from kwhatif.results.sweep import Objective
from kwhatif.whatif.sweep.measuring import MAX
from kwhatif.whatif.sweep.pareto import Values
from kwhatif.whatif.sweep.space_document import Axis, Point, Space

BATCH = 16
"""So many points are suggested at a time, whatever the number of workers: results are to be the same for all."""

_MOST_DRAWN = 20
"""Draws for each point that is wanted; where nearly all have been tried, few of them are new."""


class Refiner:
    """Suggests points, and learns what came of them. Raises UsageError where optuna is missing."""

    def __init__(self, space: Space, objectives: Sequence[Objective], seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError("--search is done by optuna: pip install 'kwhatif[sweep]'") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self._space, self._objectives = optuna, space, objectives
        self._distributions = {axis.setting: self._distribution(axis) for axis in space.axes}
        goals = ["maximize" if each.goal == MAX else "minimize" for each in objectives]
        with warnings.catch_warnings():
            # Of what may change in later releases.
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=0, constant_liar=True)
            self._study: Any = optuna.create_study(directions=goals, sampler=sampler)
        self._open: dict[tuple[Any, ...], Any] = {}
        self._known: dict[tuple[Any, ...], Values] = {}

    def _distribution(self, axis: Axis) -> Any:
        """Levels by their places: numbers in order are near each other."""
        of = self._optuna.distributions
        last = len(axis.levels) - 1
        return of.IntDistribution(0, last) if axis.ordered else of.CategoricalDistribution(list(range(last + 1)))

    def learn(self, point: Point, values: Values) -> None:
        """What a point came to."""
        key = _key(point)
        self._known[key] = values
        trial, found = self._open.pop(key, None), [values[each.measure] for each in self._objectives]
        if trial is not None:
            self._study.tell(trial, found)
            return
        places = {
            axis.setting: axis.levels.index(point[axis.setting]) for axis in self._space.axes if axis.setting in point
        }
        known = {setting: self._distributions[setting] for setting in places}
        self._study.add_trial(self._optuna.trial.create_trial(params=places, distributions=known, values=found))

    def suggest(self, number: int) -> list[Point]:
        """So many points that nobody has tried; fewer where hardly any are left."""
        points: list[Point] = []
        for _ in range(_MOST_DRAWN * number):
            if len(points) == number:
                break
            trial = self._study.ask(self._distributions)
            point = self._space.point([axis.levels[trial.params[axis.setting]] for axis in self._space.axes])
            key = _key(point)
            if key in self._known:
                self._study.tell(trial, [self._known[key][each.measure] for each in self._objectives])
            elif key in self._open:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            else:
                self._open[key] = trial
                points.append(point)
        return points

    def forget(self, point: Point) -> None:
        """A point failed."""
        trial = self._open.pop(_key(point), None)
        if trial is not None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)


def _key(point: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(point.items())
