"""What a label's value may be: one requirement on one key, as a set of values or all but a set, within bounds.

Upstream: pkg/scheduling/requirement.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kwhatif.autoscaling.karpenter.known_labels import NORMALIZED
from kwhatif.golang.integers import int64

_SHOWN = 5


@dataclass(frozen=True)
class Requirement:
    """The values in ``values``, or with ``complement`` all others, that as integers lie within ``least`` and ``most``.

    ``min_values`` is how many different values the machines that are left must have.
    """

    key: str
    complement: bool
    values: frozenset[str] = frozenset()
    least: int | None = None
    most: int | None = None
    min_values: int | None = None

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
        """As a node selector spells it; bounds are kept as inclusive ones."""
        key = NORMALIZED.get(key, key)
        match operator:
            case "In":
                return cls(key, False, frozenset(values), min_values=min_values)
            case "NotIn":
                return cls(key, True, frozenset(values), min_values=min_values)
            case "DoesNotExist":
                return cls(key, False, min_values=min_values)
            case "Gt" | "Gte":
                least = int64(next(iter(values), "")) or 0
                return cls(key, True, least=least + (operator == "Gt"), min_values=min_values)
            case "Lt" | "Lte":
                most = int64(next(iter(values), "")) or 0
                return cls(key, True, most=most - (operator == "Lt"), min_values=min_values)
        return cls(key, True, min_values=min_values)

    @cached_property
    def operator(self) -> str:
        """In, NotIn, Exists or DoesNotExist; bounds do not show."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @cached_property
    def negative(self) -> bool:
        """Whether a node without the label meets it."""
        return self.operator in ("NotIn", "DoesNotExist")

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """The values by name; of a complement, those left out."""
        return tuple(sorted(self.values))

    def has(self, value: str) -> bool:
        """Whether the label may have this value."""
        return (value in self.values) != self.complement and self._within(value)

    def _within(self, value: str) -> bool:
        if self.least is None and self.most is None:
            return True
        number = int64(value)
        if number is None:
            return False
        return not (self.least is not None and number < self.least) and not (
            self.most is not None and number > self.most
        )

    def and_(self, other: Requirement) -> Requirement:
        """What meets both."""
        least, most = _greater(self.least, other.least), _less(self.most, other.most)
        wanted = _greater(self.min_values, other.min_values)
        if least is not None and most is not None and least > most:
            return Requirement(self.key, False, min_values=wanted)
        complement = self.complement and other.complement
        if complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if least is not None or most is not None:
            bounds = Requirement(self.key, True, least=least, most=most)
            values = frozenset(value for value in values if bounds._within(value))
        if complement:
            return Requirement(self.key, True, values, least, most, wanted)
        return Requirement(self.key, False, values, min_values=wanted)

    def meets(self, other: Requirement) -> bool:
        """Whether some value suits both."""
        least, most = _greater(self.least, other.least), _less(self.most, other.most)
        if least is not None and most is not None and least > most:
            return False
        if self.complement and other.complement:
            return True
        if self.complement:
            return any(self.has(value) and other._within(value) for value in other.values)
        if other.complement:
            return any(other.has(value) and self._within(value) for value in self.values)
        return any(other._within(value) and self._within(value) for value in self.values & other.values)

    def spelt(self) -> list[dict[str, object]]:
        """As a NodeClaim has it; two bounds are two requirements."""
        told: dict[str, object] = {} if self.min_values is None else {"minValues": self.min_values}
        bounds = [("Gte", self.least), ("Lte", self.most)]
        within = [
            {"key": self.key, "operator": operator, "values": [str(bound)], **told}
            for operator, bound in bounds
            if bound is not None
        ]
        if within:
            return within
        values: dict[str, object] = {"values": list(self.ordered)} if self.values else {}
        return [{"key": self.key, "operator": self.operator, **values, **told}]

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = list(self.ordered)
            if len(shown) > _SHOWN:
                shown = [*shown[:_SHOWN], f"and {len(shown) - _SHOWN} others"]
            text += f" [{' '.join(shown)}]"
        text += f" >={self.least}" if self.least is not None else ""
        text += f" <={self.most}" if self.most is not None else ""
        return text + (f" minValues {self.min_values}" if self.min_values is not None else "")


def _greater(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _less(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
