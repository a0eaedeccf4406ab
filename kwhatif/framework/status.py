"""What a plugin can answer. Verdicts are values: a pod that does not fit is not an exception.

Upstream: kube-scheduler/framework/interface.go (Code, Status).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from kwhatif.cluster.types import BoolArray

S = TypeVar("S")

EXTENDER = "Extender"
"""What upstream calls whatever an extender rejected: no plugin has this name."""


class Code(StrEnum):
    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class Skip:
    """The plugin has nothing to say about this pod."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP: Final = Skip()


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal (or an error) with its reasons and, once the runner has seen it, the plugin that spoke."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Refused, though evicting pods might help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Refused, and evicting pods would not help."""
        return cls(Code.UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        return cls(Code.ERROR, reasons)

    @property
    def rejected(self) -> bool:
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


@dataclass(frozen=True, slots=True)
class PermitWait:
    """Permit says: hold the pod, for at most so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Narrowed:
    """PreFilter's answer when only nodes of these names come into question; ``state`` goes to Filter."""

    names: frozenset[str]
    state: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """One reason, and the nodes of the view it holds for.

    where          bool[n]
    unresolvable   one answer for all of them, or bool[n]: evicting pods would not help there
    detail         place in the view -> the arithmetic behind the reason, for people
    short          place in the view -> how much of what the pod asks for is missing there, as a share
    error          not a verdict but an accident: a cycle that comes upon such a node ends there
    """

    where: BoolArray
    reason: str
    unresolvable: bool | BoolArray = False
    detail: Callable[[int], str] | None = None
    short: Callable[[int], float] | None = None
    error: bool = False
