"""The beta distribution with a given mean and deviation.

Upstream: pkg/trimaran/lowriskovercommitment/beta.go of scheduler-plugins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_MOST_TERMS = 500
_CLOSE, _TINY = 1e-16, 1e-300


@dataclass(frozen=True, slots=True)
class BetaDistribution:
    alpha: float
    beta: float

    @classmethod
    def matching(cls, mean: float, deviation: float) -> BetaDistribution | None:
        """The distribution of this mean and deviation; None where no beta distribution has them."""
        variance = (deviation * deviation + mean * mean) - mean * mean
        if not 0 <= mean <= 1 or variance < 0 or variance >= mean * (1 - mean):
            return None
        scale = math.inf if variance == 0 else mean * (1 - mean) / variance - 1
        scale = max(scale, 5e-324)
        return cls(mean * scale, (1 - mean) * scale)

    def below(self, x: float) -> float:
        """The probability of at most ``x``; 0 where it is undefined."""
        if not (self.alpha > 0 and self.beta > 0 and 0 <= x <= 1) or math.isinf(self.alpha + self.beta):
            return 0.0
        if x in (0.0, 1.0):
            return x
        if x < (self.alpha + 1) / (self.alpha + self.beta + 2):
            return _lower_tail(self.alpha, self.beta, x)
        return 1 - _lower_tail(self.beta, self.alpha, 1 - x)


def _lower_tail(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function by its continued fraction, which converges fast below the mean."""
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    total = d
    for m in range(1, _MOST_TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + numerator * d, 1 + numerator / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            total *= d * c
        if abs(d * c - 1) < _CLOSE:
            break
    return min(max(math.exp(front) * total / a, 0.0), 1.0)
