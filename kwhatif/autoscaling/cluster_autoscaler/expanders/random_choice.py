"""random: any of the options.

Upstream: cluster-autoscaler/expander/random/random.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option


def random_choice(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """A random option if there is a random generator; else the first."""
    place = 0 if choice.chance is None or not options else choice.chance.randrange(len(options))
    return options[place : place + 1]
