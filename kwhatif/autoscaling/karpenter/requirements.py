"""Requirements on several labels: one for each key. They are values: adding one makes new requirements.

Upstream: pkg/scheduling/requirements.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.api.core import NodeSelectorRequirement
from kwhatif.autoscaling.karpenter.known_labels import RESTRICTED
from kwhatif.autoscaling.karpenter.requirement import Requirement

Requirements = Mapping[str, Requirement]

NONE: Requirements = {}


def both(requirements: Requirements, *others: Requirement) -> Requirements:
    """The requirements and others besides."""
    found = dict(requirements)
    for other in others:
        there = found.get(other.key)
        found[other.key] = other if there is None else other.and_(there)
    return found


def of_labels(labels: Mapping[str, str] | None) -> Requirements:
    """That each label has its value."""
    return both(NONE, *(Requirement.of(key, "In", (value,)) for key, value in (labels or {}).items()))


def of_expressions(expressions: Iterable[NodeSelectorRequirement] | None) -> Requirements:
    """What the expressions of a node selector term ask for."""
    return both(NONE, *(Requirement.of(each.key, each.operator, each.values or ()) for each in expressions or ()))


def wanted(requirements: Requirements, key: str) -> Requirement:
    """The requirement on a key; any value where there is none."""
    return requirements.get(key) or Requirement(key, True)


def incompatible(mine: Requirements, others: Requirements, undefined: frozenset[str] = frozenset()) -> list[str]:
    """What keeps ``others`` from being met by what meets ``mine``: nothing if they are compatible.

    A label that ``mine`` does not define must not be insisted on, unless it is one of ``undefined``.
    """
    for key in sorted(others):
        if key not in undefined and key not in mine and not others[key].negative:
            return [f'label "{key}" does not have known values{_hint(mine, key, undefined)}']
    return conflicts(mine, others)


def conflicts(mine: Requirements, others: Requirements) -> list[str]:
    """The keys on which both insist and no value suits both."""
    return [
        f"key {key}, {others[key]} not in {mine[key]}"
        for key in sorted(mine.keys() & others.keys())
        if not agree(mine[key], others[key])
    ]


def agree(mine: Requirement, other: Requirement) -> bool:
    """Whether some value suits both, or none needs to."""
    return mine.meets(other) or (mine.negative and other.negative)


def _hint(mine: Requirements, key: str, undefined: frozenset[str]) -> str:
    for known in (*sorted(undefined), *sorted(mine)):
        if key in known or known.endswith(key.partition("/")[2] or key):
            return f' (typo of "{known}"?)'
    return ""


def spelt(requirements: Requirements) -> str:
    """The requirements as messages have them; names of machines that are not there yet are left out."""
    return ", ".join(sorted(str(each) for each in requirements.values() if each.key not in RESTRICTED))
