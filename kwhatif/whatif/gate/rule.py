"""What a rule of the gate is: a name, what it is for, parameters with defaults, and ``check``.

    class Spread(Rule[SpreadParameters]):
        name = "spread"
        purpose = "The pods of a workload lie evenly over zones."
        parameters = SpreadParameters

        def check(self, context: Context) -> Iterator[Finding]: ...

A rule is made for one run. It counts what it looks at in ``checked``, says in ``summary`` what it saw, and makes its
findings with ``finding``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from kwhatif.api.selector_text import parse_selector
from kwhatif.api.selectors import SelectorError
from kwhatif.errors import InputError
from kwhatif.results.gate import Finding, Location, Subject

if TYPE_CHECKING:
    from kwhatif.whatif.gate.context import Context
    from kwhatif.whatif.gate.unit import Unit

LEVELS = ("error", "warn", "off")

Level = Literal["error", "warn", "off"]


class Parameters(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every rule can be told: how much a finding counts, and which workloads it looks at."""

    level: Annotated[Level, Meta(description="What a finding is: it fails the gate, it warns, or nobody looks.")] = (
        "error"
    )
    namespaces: Annotated[tuple[str, ...], Meta(description="Only workloads of these, * standing for anything.")] = ()
    kinds: Annotated[tuple[str, ...], Meta(description='Only workloads of these kinds, such as "Deployment".')] = ()
    selector: Annotated[
        str, Meta(description="Only workloads whose labels, or those of their pods, match this label selector.")
    ] = ""

    def verify(self) -> None:
        """Raise InputError, its place a path from ``$``, for a value that no rule can work with."""
        try:
            parse_selector(self.selector)
        except SelectorError as error:
            raise InputError(str(error), place="$.selector") from None

    def selects(self, unit: Unit) -> bool:
        """Whether the rule looks at a workload."""
        return (
            (not self.namespaces or any(fnmatchcase(unit.subject.namespace, name) for name in self.namespaces))
            and (not self.kinds or unit.subject.kind in self.kinds)
            and (not self.selector or parse_selector(self.selector).matches(unit.labels))
        )


P = TypeVar("P", bound=Parameters)


class Rule(Generic[P]):
    """Base of all rules."""

    name: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    parameters: ClassVar[type[Any]] = Parameters
    scores: ClassVar[bool] = False
    """Whether it needs the scores of the nodes, which take time to keep."""

    def __init__(self, given: P) -> None:
        self.given = given
        self.checked = 0
        self.summary = ""

    def threshold(self) -> str:
        """What the rule wants, as a person reads it."""
        return ""

    def check(self, context: Context) -> Iterator[Finding]:
        """What does not pass."""
        raise NotImplementedError

    def units(self, context: Context) -> Iterator[Unit]:
        """The workloads that the rule is about; each counts as looked at."""
        for unit in context.units:
            if self.given.selects(unit):
                self.checked += 1
                yield unit

    def finding(
        self,
        subject: Subject | None,
        title: str,
        message: str,
        *,
        location: Location | None = None,
        about: str = "",
        numbers: dict[str, int | float | str] | None = None,
        hint: str = "",
        pod: str = "",
    ) -> Finding:
        """A finding. ``about`` tells it from others of the rule about the same subject, in every run alike."""
        told = "\0".join((self.name, str(subject or ""), about))
        return Finding(
            rule=self.name,
            level=self.given.level,
            subject=subject,
            location=location,
            title=title,
            message=message,
            numbers=numbers or {},
            hint=hint,
            pod=pod,
            fingerprint=sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        )

    def about(
        self,
        unit: Unit,
        title: str,
        message: str,
        *,
        about: str = "",
        numbers: dict[str, int | float | str] | None = None,
        hint: str = "",
        pod: str = "",
    ) -> Finding:
        """A finding about a workload, with the place of its manifest, and about a pod of it, if there is one."""
        return self.finding(
            unit.subject, title, message, location=unit.location, about=about, numbers=numbers, hint=hint, pod=pod
        )
