"""The base class of the gate's rules: a name, a purpose, parameters with defaults, and ``check``.

    class Spread(Rule[SpreadParameters]):
        name = "spread"
        purpose = "The pods of a workload lie evenly over zones."
        parameters = SpreadParameters

        def check(self, context: Context) -> Iterator[Finding]: ...

A rule is instantiated for one run. It counts what it looks at in ``checked``, sets ``summary``, and makes its findings
with ``finding``. Rules are found in ``rules/`` and in the entry-point group ``kwhatif.gate_rules``, and checked at
registration.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from kwhatif.api.selectors import SelectorError, parse_selector
from kwhatif.cel.globs import matches_any
from kwhatif.commands.gate import rules
from kwhatif.errors import InputError, PluginError, UsageError
from kwhatif.results.gate import Finding, Location, Subject

if TYPE_CHECKING:
    from kwhatif.commands.gate.context import Context
    from kwhatif.commands.gate.units import Unit
    from kwhatif.simulation.explanation.workload_changes import WorkloadChange


LEVELS = ("error", "warn", "off")

Level = Literal["error", "warn", "off"]


class Parameters(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of every rule: the level of its findings, and the workloads it looks at.

    ``files`` are those fields that name files.
    """

    files: ClassVar[tuple[str, ...]] = ()

    level: Annotated[
        Level, Meta(description="What a finding is: error fails the gate, warn is reported, off turns the rule off.")
    ] = "error"
    namespaces: Annotated[tuple[str, ...], Meta(description="Only workloads of these (* matches anything).")] = ()
    kinds: Annotated[tuple[str, ...], Meta(description='Only workloads of these kinds, such as "Deployment".')] = ()
    selector: Annotated[
        str, Meta(description="Only workloads whose labels, or those of their pods, match this label selector.")
    ] = ""

    def verify(self) -> None:
        """Raise InputError, its place a path from ``$``, for an invalid value."""
        try:
            parse_selector(self.selector)
        except SelectorError as error:
            raise InputError(str(error), place="$.selector") from None

    @property
    def scope(self) -> str:
        """The workloads that the rule is limited to, ``namespace shop``; empty if it is not limited."""
        parts = [f"namespace{'s' * (len(self.namespaces) > 1)} {', '.join(self.namespaces)}"] if self.namespaces else []
        parts += [", ".join(self.kinds)] if self.kinds != type(self)().kinds else []
        parts += [self.selector] if self.selector else []
        return "; ".join(parts)

    def selects(self, unit: Unit) -> bool:
        """Whether the rule looks at a workload."""
        return (
            (not self.namespaces or matches_any(unit.subject.namespace, self.namespaces))
            and (not self.kinds or unit.subject.kind in self.kinds)
            and (not self.selector or parse_selector(self.selector).matches(unit.labels))
        )


P = TypeVar("P", bound=Parameters)


class Rule(Generic[P]):
    """Base of all rules."""

    name: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    details: ClassVar[str] = ""
    """What it counts and what it leaves out, for the reference."""
    parameters: ClassVar[type[Any]] = Parameters
    scores: ClassVar[bool] = False
    """Whether it needs the scores of the nodes, which take time to keep."""
    kinds_without_pods: ClassVar[frozenset[str]] = frozenset()
    """The kinds of objects without pods that it looks at: a change of such an object alone is something to judge."""

    def __init__(self, parameters: P) -> None:
        self.given = parameters
        self.checked = 0
        self.summary = ""

    def threshold(self) -> str:
        """The rule's threshold in words."""
        return ""

    def check(self, context: Context) -> Iterator[Finding]:
        """The findings."""
        raise NotImplementedError

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """Changes that might leave nothing to find, the mildest first: one that was tried and helps is the hint."""
        return iter(())

    def widen(self, finding: Finding, change: WorkloadChange, tried: Context) -> WorkloadChange | None:
        """A change that goes further than one which did not help; ``tried`` is the outcome with that one."""
        return None

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
        """A finding. ``about`` distinguishes it from others of the rule about the same subject, the same in
        every run.
        """
        text = "\0".join((self.name, str(subject or ""), about))
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
            fingerprint=sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        )

    def finding_about(
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


GROUP = "kwhatif.gate_rules"

RuleClass = type[Rule[Any]]

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@cache
def in_tree() -> dict[str, RuleClass]:
    """Rule name -> class, of the rules that come with the gate."""
    classes: dict[str, RuleClass] = {}
    for info in sorted(pkgutil.iter_modules(rules.__path__), key=lambda info: info.name):
        module = import_module(f"{rules.__name__}.{info.name}")
        for known in _defined_in(module):
            register(classes, known, module.__name__)
    return classes


def all_rules() -> dict[str, RuleClass]:
    """Those and the ones from outside. Raises UsageError or PluginError for one that is not a rule."""
    classes = dict(in_tree())
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        where = f"entry point {entry.name}"
        try:
            known = entry.load()
        except Exception as error:
            raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
        register(classes, known, where)
    return classes


def _defined_in(module: Any) -> Iterator[RuleClass]:
    for known in vars(module).values():
        if isinstance(known, type) and issubclass(known, Rule) and known.__module__ == module.__name__:
            yield known


def register(classes: dict[str, RuleClass], rule: object, where: str) -> None:
    """Add a rule to those ``found``. Raises UsageError if it is no rule, PluginError if it is invalid."""
    if not isinstance(rule, type):
        raise UsageError(f"{where}: expected a class, found {rule!r}")
    name = getattr(rule, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f'{where}: class {rule.__name__} has no name such as "max-pods" (a class attribute), found {name!r}'
        )
    if name in classes:
        raise UsageError(f"{where}: rule {name} is given twice")
    problem = _problem(rule)
    if problem:
        raise PluginError(name, "registration", problem)
    classes[name] = rule


def _problem(rule: type) -> str:
    """Why a class is no valid rule, or an empty text."""
    if not issubclass(rule, Rule):
        return f"class {rule.__name__} is no subclass of kwhatif.commands.gate.rule.Rule"
    if not isinstance(rule.purpose, str) or not rule.purpose.strip():
        return "purpose does not say what the rule is for"
    given = rule.parameters
    if not isinstance(given, type) or not issubclass(given, Parameters):
        return f"parameters should be a subclass of Parameters, found {given!r}"
    needed = [field.name for field in msgspec.structs.fields(given) if field.required]
    if needed:
        return f"parameters need defaults, which {', '.join(needed)} lack"
    if rule.check is Rule.check:
        return "check(context) is missing"
    taken = list(inspect.signature(rule.check).parameters)
    if len(taken) != 2:
        return f"check({', '.join(taken[1:])}) should take (context)"
    if inspect.iscoroutinefunction(rule.check) or inspect.isasyncgenfunction(rule.check):
        return "check(context) should not be async"
    return ""
