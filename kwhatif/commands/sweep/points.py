"""The points of a space that are tried: a grid or a sample, and refinement around the front by optuna's tree-structured
Parzen estimator, which learns from all points tried, setting by setting.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kwhatif.commands.sweep.measures import MAX, Values
from kwhatif.commands.sweep.result import Level, Objective
from kwhatif.commands.sweep.space_document import Axis, Point, Space
from kwhatif.errors import UsageError


def points_of(space: Space, seed: int | None) -> tuple[list[Point], int]:
    """The points to try, each once, and how many came again. Raises UsageError where a seed is needed, or scipy."""
    method, number = space.sample.method, space.sample.points
    if method == "grid":
        return distinct(space.grid())
    if seed is None and method != "sobol":
        raise UsageError(f"a sample by {method} is random: name a --seed")
    if method == "random":
        chance = random.Random(seed)
        drawn: Sequence[Sequence[float]] = [[chance.random() for _ in space.axes] for _ in range(number)]
    else:
        drawn = _quasi_random(method, len(space.axes), number, seed)
    return distinct(
        space.point(
            [axis.levels[int(share * len(axis.levels))] for axis, share in zip(space.axes, numbers, strict=True)]
        )
        for numbers in drawn
    )


def distinct(points: Iterable[Point]) -> tuple[list[Point], int]:
    """Each point once, in the order in which they come first, and how many came again."""
    all_ = list(points)
    unique: dict[tuple[tuple[str, Level], ...], Point] = {}
    for point in all_:
        unique.setdefault(tuple(point.items()), point)
    return list(unique.values()), len(all_) - len(unique)


def _quasi_random(method: str, axes: int, number: int, seed: int | None) -> Sequence[Sequence[float]]:
    """float[number][axes] in [0, 1). A Sobol sequence without a seed is the plain one."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise UsageError(f"a sample by {method} is drawn by scipy: pip install 'kwhatif[sweep]'") from None
    with warnings.catch_warnings():
        # That a Sobol sequence is best balanced where its length is a power of two.
        warnings.simplefilter("ignore", UserWarning)
        if method == "sobol":
            sampler = qmc.Sobol(axes, scramble=seed is not None, rng=seed)
        else:
            sampler = qmc.LatinHypercube(axes, rng=seed)
        drawn: Sequence[Sequence[float]] = sampler.random(number).tolist()
    return drawn


BATCH = 16
"""How many points are suggested at a time, whatever the number of workers, so that results do not depend on it."""

_MOST_DRAWN = 20
"""Draws for each point that is wanted; where nearly all have been tried, few of them are new."""


class Refiner:
    """Suggests points, and learns from their outcomes. Raises UsageError where optuna is missing."""

    def __init__(self, space: Space, objectives: Sequence[Objective], seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError("--search is done by optuna: pip install 'kwhatif[sweep]'") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self._space, self._objectives = optuna, space, objectives
        self._distributions = {axis.setting: self._distribution(axis) for axis in space.axes}
        goals = ["maximize" if objective.goal == MAX else "minimize" for objective in objectives]
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
        trial, figures = self._open.pop(key, None), [values[objective.measure] for objective in self._objectives]
        if trial is not None:
            self._study.tell(trial, figures)
            return
        places = {
            axis.setting: axis.levels.index(point[axis.setting]) for axis in self._space.axes if axis.setting in point
        }
        known = {setting: self._distributions[setting] for setting in places}
        self._study.add_trial(self._optuna.trial.create_trial(params=places, distributions=known, values=figures))

    def suggest(self, number: int) -> list[Point]:
        """A number of points that were not tried yet; fewer where hardly any are left."""
        points: list[Point] = []
        for _ in range(_MOST_DRAWN * number):
            if len(points) == number:
                break
            trial = self._study.ask(self._distributions)
            point = self._space.point([axis.levels[trial.params[axis.setting]] for axis in self._space.axes])
            key = _key(point)
            if key in self._known:
                self._study.tell(trial, [self._known[key][objective.measure] for objective in self._objectives])
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
