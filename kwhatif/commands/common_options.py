"""Options that several commands have, each as the annotation of a field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from kwhatif.simulation.flag import Flag

Seed = Annotated[
    int | None,
    Flag(
        "--seed",
        metavar="N",
        help="Leave to chance, by this seed, which of equal nodes is taken: drawn until 1.34, by racing workers since. "
        "Default: the first by name until 1.34, the one that one worker takes since.",
    ),
]
Replay = Annotated[
    Sequence[str],
    Flag(
        "--replay",
        metavar="pending|namespace=NAME|all",
        help="Schedule the snapshot's pending pods, too; or take pods of a namespace, or all, "
        "off their nodes and schedule them again, in the order they started (repeatable).",
    ),
]
PricesFile = Annotated[
    str, Flag("--prices", metavar="FILE", help="An InstanceTypes catalogue, or a table of instance types' prices.")
]
