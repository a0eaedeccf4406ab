"""The rules of one Kubernetes minor with its gates, as a value: code asks ``features.X`` and compares no versions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kwhatif.errors import UsageError
from kwhatif.versions.gates import ALL, with_gates
from kwhatif.versions.minors import DEFAULT_MINOR, LEGACY_MINOR, SUPPORTED_MINORS
from kwhatif.versions.rule import VersionRule
from kwhatif.versions.rules.claims import DeviceRules, VolumeRules
from kwhatif.versions.rules.cycle import ApiServerRules, ConfigurationRules, CycleRules, PreemptionRules, QueueRules
from kwhatif.versions.rules.nodes import NodeRules, ResourceRules, TopologyRules
from kwhatif.versions.rules.pod_groups import PodGroupRules
from kwhatif.versions.rules.v1_22 import RulesOf122


class _Tables(
    ApiServerRules,
    ConfigurationRules,
    CycleRules,
    DeviceRules,
    NodeRules,
    PodGroupRules,
    PreemptionRules,
    QueueRules,
    ResourceRules,
    TopologyRules,
    VolumeRules,
    RulesOf122,
):
    """All tables as one."""


_ROWS: dict[str, VersionRule] = {
    name: row for table in _Tables.__bases__ for name, row in vars(table).items() if isinstance(row, VersionRule)
}


def rows() -> Mapping[str, VersionRule]:
    """Every row of the tables by the name under which ``Features`` has its value."""
    return _ROWS


class Features(_Tables):
    """What rules ask for: a bool for every row of the tables. It never changes.

    ``gates`` are those set by hand, sorted by name; all else follows from the minor.
    """

    __slots__ = ("gates", "minor", *_ROWS)

    minor: str
    gates: tuple[tuple[str, bool], ...]

    def __init__(self, minor: str, gates: Mapping[str, bool]) -> None:
        on = with_gates(minor, gates) if gates else {}
        for name, row in _ROWS.items():
            object.__setattr__(self, name, on.get(row.gate, row.by_default(minor)))
        object.__setattr__(self, "minor", minor)
        object.__setattr__(self, "gates", tuple(sorted(gates.items())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} cannot be set: Features never change")

    def __reduce__(self) -> tuple[Any, ...]:
        return features_of, (self.minor, dict(self.gates))

    def __str__(self) -> str:
        """``1.34``, or ``1.34 with StorageCapacityScoring=true``."""
        gates = ", ".join(f"{name}={str(value).lower()}" for name, value in self.gates)
        return f"{self.minor} with {gates}" if gates else self.minor

    def __repr__(self) -> str:
        return f"Features({self})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Features):
            return NotImplemented
        return self is other or all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.minor, self.gates))


def features_of(minor: str = DEFAULT_MINOR, gates: Mapping[str, bool] | None = None) -> Features:
    """The rules of a Kubernetes minor such as ``"1.36"``, with feature gates set other than by default.

    Raises UsageError for a minor that is not supported and for gates that kube-scheduler of that minor would refuse.
    """
    if minor not in (LEGACY_MINOR, *SUPPORTED_MINORS):
        known = f"{SUPPORTED_MINORS[0]} to {SUPPORTED_MINORS[-1]}"
        raise UsageError(f"Kubernetes {minor} is not supported; supported versions: {known}")
    return Features(minor, gates) if gates else _by_default(minor)


@cache
def _by_default(minor: str) -> Features:
    return Features(minor, {})


def unread_gates(gates: Mapping[str, bool]) -> list[str]:
    """Those of ``gates`` that no rule here asks for: setting them changes nothing."""
    read = {row.gate for row in _ROWS.values()}
    return sorted(name for name in gates if name not in read and name not in ALL)
