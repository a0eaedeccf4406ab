"""Arguments that several plugins take: resources with weights, and the curve of a score.

Upstream: scheduler/apis/config/v1/defaults.go and validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec.structs import replace

from kwhatif.golang.field_errors import Path
from kwhatif.golang.label_syntax import qualified_name
from kwhatif.golang.vocabulary import ConfigStruct, Int32, ResourceName
from kwhatif.versions import Features


class ResourceSpec(ConfigStruct):
    """A resource and its weight in a score, 1..100."""

    name: Annotated[ResourceName, msgspec.Meta(extra={"always": True})] = ""
    weight: int = 0


class UtilizationShapePoint(ConfigStruct):
    """A point of a score function: utilization 0..100, score 0..10."""

    utilization: Int32 = 0
    score: Int32 = 0


_CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


def weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """CPU and memory when none is named; a weight of zero counts as one."""
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources) or _CPU_AND_MEMORY


def weight_problems(path: Path, resources: tuple[ResourceSpec, ...]) -> Iterator[str]:
    for index, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            problem = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield path.index(index).child("weight").invalid(resource.weight, problem)


def shape_problems(path: Path, shape: tuple[UtilizationShapePoint, ...], features: Features) -> Iterator[str]:
    if not shape:
        yield path.required("at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            at = path.index(index).child("utilization")
            what = "values" if features.terse_shape_errors else "utilization values"
            yield at.invalid(shape[index].utilization, f"{what} must be sorted in increasing order")
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield path.index(index).child("utilization").invalid(point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield path.index(index).child("score").invalid(point.score, "not in valid range [0, 10]")


def label_problems(path: Path, name: str) -> Iterator[str]:
    """What keeps a text from being the name of a resource or the key of a label."""
    return (path.invalid(name, problem) for problem in qualified_name(name))
