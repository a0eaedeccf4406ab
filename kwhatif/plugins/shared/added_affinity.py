"""What is refused in NodeAffinity's ``addedAffinity``.

Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go and
apimachinery/pkg/labels/selector.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.api.core import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm
from kwhatif.golang.field_errors import Path
from kwhatif.golang.label_syntax import label_value, qualified_name

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


def validate_added_affinity(path: Path, affinity: NodeAffinity) -> Iterator[str]:
    """Every reason to refuse the affinity; preferred terms of weight zero are not looked at."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        at = path.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        for index, term in enumerate(required.node_selector_terms or ()):
            yield from _term(at.index(index), term)
    at = path.child("preferredDuringSchedulingIgnoredDuringExecution")
    for index, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        if preferred.weight:
            # Upstream leaves ".preference" out of the path.
            yield from _term(at.index(index), preferred.preference)


def _term(path: Path, term: NodeSelectorTerm) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions or ()):
        yield from _expression(path.child("matchExpressions").index(index), requirement)
    for index, requirement in enumerate(term.match_fields or ()):
        at = path.child("matchFields").index(index)
        if requirement.operator not in _FIELD_OPERATORS:
            yield at.child("operator").unsupported(requirement.operator, _FIELD_OPERATORS)
        elif len(requirement.values or ()) != 1:
            yield at.child("values").invalid(requirement.values, "must have one element")


def _expression(path: Path, requirement: NodeSelectorRequirement) -> Iterator[str]:
    operator, values = requirement.operator, requirement.values
    if operator not in _OPERATORS:
        yield path.child("operator").unsupported(operator, _OPERATORS)
        return
    wrong = qualified_name(requirement.key)
    if wrong:
        yield path.child("key").invalid(requirement.key, "; ".join(wrong))
    at = path.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield at.invalid(values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield at.invalid(values, "values set must be empty for exists and does not exist")
    else:
        yield from _comparison(at, values)
    for index, value in enumerate(values or ()):
        wrong = label_value(value)
        if wrong:
            yield at.index(index).index(requirement.key).invalid(value, "; ".join(wrong))


def _comparison(path: Path, values: Sequence[str] | None) -> Iterator[str]:
    if len(values or ()) != 1:
        yield path.invalid(values, "for 'Gt', 'Lt' operators, exactly one value is required")
    for index, value in enumerate(values or ()):
        if not _is_int64(value):
            yield path.index(index).invalid(value, "for 'Gt', 'Lt' operators, the value must be an integer")


def _is_int64(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > 19:
        return False
    return -(2**63) <= int(text) < 2**63
