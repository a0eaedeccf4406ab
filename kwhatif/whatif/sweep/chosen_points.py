"""The points that are tried of a space: all of a grid, or a sample."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Sequence

from kwhatif.errors import UsageError
from kwhatif.results.sweep import Level
from kwhatif.whatif.sweep.space_document import Point, Space


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
        space.point([axis.levels[int(share * len(axis.levels))] for axis, share in zip(space.axes, each, strict=True)])
        for each in drawn
    )


def distinct(points: Iterable[Point]) -> tuple[list[Point], int]:
    """Each point once, in the order in which they come first, and how many came again."""
    all_ = list(points)
    found: dict[tuple[tuple[str, Level], ...], Point] = {}
    for point in all_:
        found.setdefault(tuple(point.items()), point)
    return list(found.values()), len(all_) - len(found)


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
