"""SweepSpace: a document with the policies to try: settings that may differ from today's, and how points are chosen.

    apiVersion: kwhatif.dev/v1
    kind: SweepSpace
    sample: {method: sobol, points: 64}
    weights:
      NodeResourcesFit: {min: 0, max: 10}
      ImageLocality: [0, 1, 5]
    scoringStrategies:
      pack: {type: MostAllocated}
      spread: {type: LeastAllocated}
    percentageOfNodesToScore: [0, 30, 100]
    arguments:
      TargetLoadPacking: {targetUtilization: {min: 30, max: 80, step: 10}}
      NodeResourceTopologyMatch: {scoringStrategy.type: [LeastAllocated, LeastNUMANodes]}
    plugins: [InterPodAffinity]

The schema of the format is ``schemas/sweep-space.schema.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.decode import step
from kwhatif.api.document_numbers import Count, Measure, Number, PositiveCount
from kwhatif.commands.sweep.result import Level
from kwhatif.errors import InputError
from kwhatif.snapshot.format.documents import own_document, read_only
from kwhatif.snapshot.read.objects import Document, Origin

KIND = "SweepSpace"

WEIGHT, STRATEGY, PERCENTAGE, PLUGIN = ".weight", "scoringStrategy", "percentageOfNodesToScore", ".enabled"
ARGUMENT = ".args."
"""What settings are called: those of a plugin begin with its name."""

MOST_POINTS = 100_000


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document."""


class Range(_Part, frozen=True, kw_only=True):
    """Whole numbers from ``min`` to ``max``, every one or every ``step`` of them."""

    min: Count
    max: Count
    step: PositiveCount = 1


Numbers = Range | Annotated[list[Count], Meta(min_length=1)]
Values = Range | Annotated[list[Number | Measure | str | bool], Meta(min_length=1)]


class Sample(_Part, frozen=True, kw_only=True):
    """How points are chosen: all of them, or a sample."""

    method: Literal["grid", "random", "sobol", "latinHypercube"] = "grid"
    points: Annotated[int, Meta(ge=1, le=MOST_POINTS)] = 64


class SweepSpace(_Part, frozen=True, kw_only=True):
    """What may differ from today's policy."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    profile: Annotated[
        str | None, Meta(description="The schedulerName of the profile that differs. Needed where there are several.")
    ] = None
    sample: Sample = Sample()
    weights: Annotated[
        dict[str, Numbers], Meta(description="Weights of plugins in scoring; with 0 a plugin does not score.")
    ] = {}
    scoring_strategies: Annotated[
        dict[str, dict[str, Any]], Meta(description="Scoring strategies of NodeResourcesFit, by names of your own.")
    ] = {}
    percentage_of_nodes_to_score: Annotated[
        Numbers | None, Meta(description="Percentages; 0 is by the size of the cluster.")
    ] = None
    arguments: Annotated[
        dict[str, dict[str, Values]],
        Meta(description="Arguments of plugins by field, such as scoringStrategy.type: numbers, words or booleans."),
    ] = {}
    plugins: Annotated[list[str], Meta(description="Plugins that are tried on and off.")] = []


Point = dict[str, Level]
"""Settings with their levels."""


class Axis(msgspec.Struct, frozen=True):
    """A setting and its levels; ``place`` is where the document has it. ``ordered``: they are numbers in order."""

    setting: str
    levels: tuple[Level, ...]
    place: str
    ordered: bool = False


class Space(msgspec.Struct, frozen=True):
    """What is tried: settings with their levels, and the strategies that levels of one of them are names of."""

    axes: tuple[Axis, ...]
    strategies: Mapping[str, Mapping[str, Any]]
    profile: str | None
    sample: Sample
    source: str

    @property
    def size(self) -> int:
        """How many different points there are."""
        size = 1
        for axis in self.axes:
            size *= len(axis.levels)
        return size

    def grid(self) -> Iterator[Point]:
        """All points, the last point changing first."""
        for levels in product(*(axis.levels for axis in self.axes)):
            yield self.point(levels)

    def point(self, levels: Sequence[Level]) -> Point:
        """The point with these levels, one for each axis. A plugin that is off has no weight and no arguments."""
        point = {axis.setting: level for axis, level in zip(self.axes, levels, strict=True)}
        off = [
            name.removesuffix(PLUGIN)
            for name, level in point.items()
            if level is False and name.endswith(PLUGIN) and argument_of(name) is None
        ]
        if not off:
            return point
        weights = {plugin + WEIGHT for plugin in off}
        arguments = tuple(plugin + ARGUMENT for plugin in off)
        return {name: level for name, level in point.items() if name not in weights and not name.startswith(arguments)}


def argument_of(setting: str) -> tuple[str, str] | None:
    """The plugin and the field of an argument, ``scoringStrategy.type``; None of any other setting."""
    plugin, separator, field = setting.partition(ARGUMENT)
    return (plugin, field) if separator else None


def read_space(document: str | Mapping[str, Any]) -> Space:
    """The space of a file, or of plain values. Raises InputError with the place of a mistake."""
    if isinstance(document, str):
        file, source = read_only(document, KIND, SweepSpace)
    else:
        source = "space"
        file = own_document(Document(Origin(source), dict(document)), KIND, SweepSpace, source)
    try:
        axes = tuple(_axes(file))
        space = Space(axes, file.scoring_strategies, file.profile, file.sample, source)
        _check(space)
    except InputError as error:
        raise error.with_source(source) from None
    return space


def _axes(file: SweepSpace) -> Iterator[Axis]:
    for plugin, numbers in file.weights.items():
        yield _numbers(plugin + WEIGHT, numbers, f"$.weights{step(plugin)}")
    if file.scoring_strategies:
        yield Axis(STRATEGY, tuple(file.scoring_strategies), "$.scoringStrategies")
    if file.percentage_of_nodes_to_score is not None:
        yield _numbers(PERCENTAGE, file.percentage_of_nodes_to_score, "$.percentageOfNodesToScore")
    for plugin, fields in file.arguments.items():
        for field, values in fields.items():
            yield _values(plugin + ARGUMENT + field, values, f"$.arguments{step(plugin)}{step(field)}")
    for number, plugin in enumerate(file.plugins):
        yield Axis(plugin + PLUGIN, (True, False), f"$.plugins[{number}]")


def _numbers(setting: str, numbers: Numbers, place: str) -> Axis:
    if isinstance(numbers, Range):
        if numbers.max < numbers.min:
            raise InputError(f"expected no less than min ({numbers.min}), found {numbers.max}", place=f"{place}.max")
        if (numbers.max - numbers.min) // numbers.step >= MOST_POINTS:
            raise InputError(f"expected no more than {MOST_POINTS:,} numbers", place=place)
        return Axis(setting, tuple(range(numbers.min, numbers.max + 1, numbers.step)), place, ordered=True)
    if len(set(numbers)) < len(numbers):
        raise InputError("a number is listed twice", place=place)
    return Axis(setting, tuple(sorted(numbers)), place, ordered=True)


def _values(setting: str, values: Values, place: str) -> Axis:
    """Numbers are in order, and come as they do for weights; words and booleans as they are listed."""
    if isinstance(values, Range):
        return _numbers(setting, values, place)
    if len(set(map(repr, values))) < len(values):
        raise InputError("a value is listed twice", place=place)
    if any(isinstance(value, bool | str) for value in values):
        return Axis(setting, tuple(values), place)
    return Axis(setting, tuple(sorted(values)), place, ordered=True)


def _check(space: Space) -> None:
    if not space.axes:
        choices = "weights, scoringStrategies, percentageOfNodesToScore, arguments or plugins"
        raise InputError(f"expected {choices}, found none", place="$")
    names = [axis.setting for axis in space.axes]
    for axis in space.axes:
        if names.count(axis.setting) > 1:
            raise InputError(f"{axis.setting.removesuffix(PLUGIN)} is listed twice", place=axis.place)
    if space.sample.method == "grid" and space.size > MOST_POINTS:
        problem = f"a grid of {space.size:,} points; expected no more than {MOST_POINTS:,}, or another method"
        raise InputError(problem, place="$.sample.method")
