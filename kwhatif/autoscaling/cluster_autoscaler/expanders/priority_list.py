"""priority: the groups of the highest priority in a ConfigMap, by patterns of their names.

Upstream: cluster-autoscaler/expander/priority/priority.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault
from kwhatif.errors import InputError
from kwhatif.snapshot.read.yaml_reader import read_yaml

CONFIG_MAP = "cluster-autoscaler-priority-expander"
KEY = "priorities"


def priority(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """All options, where the ConfigMap is missing, cannot be read or names none of the groups."""
    patterns = _patterns(choice.world.priorities)
    ranked = [(_rank(option.group.name, patterns), option) for option in options]
    best = max((rank for rank, _ in ranked if rank is not None), default=None)
    if best is None or best < 0:
        return options
    return [option for rank, option in ranked if rank == best]


def _rank(group: str, patterns: Sequence[tuple[int, Sequence[str]]]) -> int | None:
    found = (rank for rank, some in patterns if any(search(group, pattern) for pattern in some))
    return max(found, default=None)


def _patterns(text: str | None) -> list[tuple[int, list[str]]]:
    """Priorities with their patterns; none if the ConfigMap is invalid anywhere."""
    try:
        documents = [document.value for document in read_yaml((text or "").encode(), CONFIG_MAP)]
        found = [(int(rank), [str(each) for each in some]) for rank, some in documents[0].items()]
        for _, some in found:
            for pattern in some:
                search("", pattern)
    except (InputError, Fault, IndexError, AttributeError, TypeError, ValueError):
        return []
    return found
