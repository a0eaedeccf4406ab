"""RightsizingPolicy: a document that says how requests follow from usage.

    apiVersion: kwhatif.dev/v1
    kind: RightsizingPolicy
    cpu: {percentile: 90, margin: 15, floor: 10m}
    memory: {percentile: max, margin: 15}
    window: 8d
    exclude:
    - {namespaces: [kube-system]}
    floors:
    - {selector: runtime=java, memory: 512Mi}

Defaults are those of VPA's recommender: the 90th percentile of CPU, the peak of memory, and 15% on top, from eight
days. Its own minimum of 25m and 250Mi a pod has to be set explicitly. The schema of the format is
``schemas/rightsizing-policy.schema.json``. Upstream: vertical-pod-autoscaler/pkg/recommender/logic/recommender.go.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.decode import describe_value
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import Selector, SelectorError, parse_selector
from kwhatif.errors import InputError
from kwhatif.golang.parsing import SECOND, Duration
from kwhatif.results.amounts import format_ordinal
from kwhatif.snapshot.format.documents import read_only

KIND = "RightsizingPolicy"

Percent = Annotated[float, Meta(gt=0, le=100)]
Margin = Annotated[float, Meta(ge=0, le=1000, description="Percent on top of what is used.")]

_DAYS = re.compile(r"(\d{1,5})([dw])")
_EIGHT_DAYS = "8d"


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document."""


class ResourceRule(_Part, frozen=True, kw_only=True):
    """How the request of one resource follows from its use; it is a multiple of ``step``, no less than ``floor``."""

    percentile: Annotated[
        Percent | Literal["max"] | None, Meta(description="Of all samples of a workload's pods; max is their peak.")
    ] = None
    margin: Margin = 15.0
    floor: Quantity | None = None
    ceiling: Quantity | None = None
    step: Quantity | None = None


class Exclusion(_Part, frozen=True, kw_only=True):
    """Workloads that stay as they are: all those that each part that is named is true of."""

    namespaces: list[str] | None = None
    workloads: Annotated[list[str] | None, Meta(description="As Kind/namespace/name.")] = None
    selector: Annotated[str | None, Meta(description="A label selector of their pods.")] = None


class Floor(_Part, frozen=True, kw_only=True):
    """The least that containers of some pods may ask for, such as those of a runtime that takes its heap at once."""

    selector: str
    cpu: Quantity | None = None
    memory: Quantity | None = None


class PolicyFile(_Part, frozen=True, kw_only=True):
    """How requests follow from usage."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    cpu: ResourceRule | Literal["max"] = ResourceRule()
    memory: ResourceRule | Literal["max"] = ResourceRule()
    window: Annotated[str, Meta(description="How far back samples count, such as 8d or 36h.")] = _EIGHT_DAYS
    controlled_values: Annotated[
        Literal["RequestsAndLimits", "RequestsOnly"],
        Meta(description="Whether limits follow requests in proportion, or are only raised to them."),
    ] = "RequestsAndLimits"
    keep_guaranteed: Annotated[bool, Meta(description="Whether Guaranteed pods stay so: their limits follow.")] = True
    exclude: list[Exclusion] | None = None
    floors: list[Floor] | None = None


class Rule(msgspec.Struct, frozen=True):
    """How one resource is sized: in millicores or bytes. ``percentile`` is None for the peak."""

    percentile: float | None
    margin: float
    floor: int
    ceiling: int | None
    step: int

    @property
    def words(self) -> str:
        """``90th percentile and 15%``."""
        what = "peak" if self.percentile is None else f"{format_ordinal(self.percentile)} percentile"
        return f"{what} and {self.margin:g}%"


class RightsizingPolicy(msgspec.Struct, frozen=True):
    """A policy that has been read. ``window`` is in seconds; floors are by selector, in millicores and bytes."""

    rules: dict[str, Rule]
    window: float
    with_limits: bool
    keep_guaranteed: bool
    exclude: tuple[tuple[Exclusion, Selector | None], ...]
    floors: tuple[tuple[Selector, dict[str, int]], ...]
    source: str = ""

    @property
    def words(self) -> str:
        """The policy in one line."""
        return "; ".join(f"{name}: {rule.words}" for name, rule in self.rules.items())

    def excludes(self, workload: str, namespace: str, labels: dict[str, str]) -> bool:
        """Whether a workload stays as it is."""
        return any(
            (exclusion.namespaces is None or namespace in exclusion.namespaces)
            and (exclusion.workloads is None or workload in exclusion.workloads)
            and (selector is None or selector.matches(labels))
            for exclusion, selector in self.exclude
        )

    def floor_of(self, resource: str, labels: dict[str, str]) -> int:
        """The least that a container of a pod with these labels may ask for."""
        floors = [
            amounts[resource] for selector, amounts in self.floors if resource in amounts and selector.matches(labels)
        ]
        return max([self.rules[resource].floor, *floors])


def read_rightsizing_policy(path: str) -> RightsizingPolicy:
    """The policy of a file. Raises InputError with the place of a mistake."""
    file, source = read_only(path, KIND, PolicyFile)
    try:
        return policy_of(file, source)
    except InputError as error:
        raise error.with_source(source) from None


def default_policy() -> RightsizingPolicy:
    """That of VPA's recommender."""
    return policy_of(PolicyFile(api_version="", kind=KIND))


def policy_of(file: PolicyFile, source: str = "") -> RightsizingPolicy:
    """A policy with every default filled in. Raises InputError for what makes no sense."""
    exclude = []
    for number, exclusion in enumerate(file.exclude or ()):
        if exclusion.namespaces is None and exclusion.workloads is None and exclusion.selector is None:
            problem = "expected namespaces, workloads or a selector, found none: it would exclude everything"
            raise InputError(problem, place=f"$.exclude[{number}]")
        exclude.append(
            (exclusion, _selector(exclusion.selector, f"$.exclude[{number}].selector") if exclusion.selector else None)
        )
    floors = []
    for number, floor in enumerate(file.floors or ()):
        given = {"cpu": floor.cpu, "memory": floor.memory}
        amounts = {name: amount.amount_of(name) for name, amount in given.items() if amount is not None}
        floors.append((_selector(floor.selector, f"$.floors[{number}].selector"), amounts))
    return RightsizingPolicy(
        rules={
            "cpu": _rule("cpu", file.cpu, 90.0, 1),
            "memory": _rule("memory", file.memory, None, 1024**2),
        },
        window=_seconds(file.window),
        with_limits=file.controlled_values == "RequestsAndLimits",
        keep_guaranteed=file.keep_guaranteed,
        exclude=tuple(exclude),
        floors=tuple(floors),
        source=source,
    )


def _rule(resource: str, resource_rule: ResourceRule | Literal["max"], usual: float | None, step: int) -> Rule:
    rule = ResourceRule(percentile="max") if resource_rule == "max" else resource_rule
    assert isinstance(rule, ResourceRule)
    percentile = usual if rule.percentile is None else None if rule.percentile == "max" else rule.percentile
    floor = rule.floor.amount_of(resource) if rule.floor is not None else 0
    ceiling = rule.ceiling.amount_of(resource) if rule.ceiling is not None else None
    if ceiling is not None and ceiling < floor:
        problem = f"expected no less than the floor, {rule.floor}, found {rule.ceiling}"
        raise InputError(problem, place=f"$.{resource}.ceiling")
    step = rule.step.amount_of(resource) if rule.step is not None else step
    if step < 1:
        raise InputError(f"expected more than 0, found {rule.step}", place=f"$.{resource}.step")
    return Rule(percentile, rule.margin, floor, ceiling, step)


def _selector(text: str, place: str) -> Selector:
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise InputError(str(error), place=place) from None


def _seconds(text: str) -> float:
    match = _DAYS.fullmatch(text)
    if match:
        return int(match[1]) * (86_400.0 if match[2] == "d" else 7 * 86_400.0)
    try:
        length = Duration.parse(text) / SECOND
    except ValueError:
        length = 0.0
    if length <= 0:
        raise InputError(f"expected a length of time such as 8d or 36h, found {describe_value(text)}", place="$.window")
    return length
