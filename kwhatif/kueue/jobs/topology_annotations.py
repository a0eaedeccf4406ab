"""What annotations of a pod template want of the topology, and what is wrong with them.

Upstream: pkg/controller/jobframework/tas.go and tas_validation.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kwhatif.api.decode import convert
from kwhatif.api.kueue import PodSetTopologyRequest, SliceConstraint, WorkloadPodSet
from kwhatif.errors import InputError
from kwhatif.golang.field_validation import Path, qualified_name
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.parsing import parse_int_error
from kwhatif.versions.gates import BOOLEANS

_PREFIX = "kueue.x-k8s.io/podset-"
REQUIRED, PREFERRED = f"{_PREFIX}required-topology", f"{_PREFIX}preferred-topology"
UNCONSTRAINED = f"{_PREFIX}unconstrained-topology"
SLICE_TOPOLOGY, SLICE_SIZE = f"{_PREFIX}slice-required-topology", f"{_PREFIX}slice-size"
CONSTRAINTS = f"{_PREFIX}slice-required-topology-constraints"
GROUP_NAME = f"{_PREFIX}group-name"

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_LAYERS = 3
_WRONG_COUNT = "topology constraints must contain between 1 and 3 entries"


def topology_request(annotations: Mapping[str, str], pod_index_label: str | None) -> PodSetTopologyRequest | None:
    """The request, of annotations with which nothing is wrong; None where nothing is said."""
    required, preferred = annotations.get(REQUIRED), annotations.get(PREFERRED)
    unconstrained = None
    if required is not None:
        preferred = None
    elif preferred is None and UNCONSTRAINED in annotations:
        unconstrained = BOOLEANS.get(annotations[UNCONSTRAINED])
    has_slices = (SLICE_TOPOLOGY in annotations and SLICE_SIZE in annotations) or CONSTRAINTS in annotations
    named = required is not None or preferred is not None
    if not named and unconstrained is None and not has_slices and pod_index_label is None:
        return None
    layers, slice_topology, size = None, None, None
    if CONSTRAINTS in annotations:
        layers = _read_layers(annotations[CONSTRAINTS])
    elif has_slices:
        slice_topology, size = annotations[SLICE_TOPOLOGY], _int32(annotations[SLICE_SIZE])
    return PodSetTopologyRequest(
        required=required,
        preferred=preferred,
        unconstrained=unconstrained,
        pod_index_label=pod_index_label,
        pod_set_group_name=annotations.get(GROUP_NAME) if named else None,
        pod_set_slice_required_topology=slice_topology,
        pod_set_slice_size=size,
        slice_required_topology_constraints=layers,
    )


def _int32(text: str) -> int | None:
    """As ParseInt reads it."""
    if not _INTEGER.fullmatch(text) or len(text) > 20:
        return None
    number = int(text)
    return number if -(2**31) <= number < 2**31 else None


def _read_layers(text: str) -> list[SliceConstraint] | None:
    try:
        return convert(json.loads(text) if text.strip() != "null" else [], list[SliceConstraint])
    except (ValueError, InputError):
        return None


def request_error(annotations: Mapping[str, str]) -> str:
    """Why no request can be made of annotations, in Go's words; empty if one can."""
    unconstrained = annotations.get(UNCONSTRAINED)
    is_read = unconstrained is not None and REQUIRED not in annotations and PREFERRED not in annotations
    if is_read and unconstrained not in BOOLEANS:
        return f"strconv.ParseBool: parsing {go_quote(unconstrained or '')}: invalid syntax"
    if CONSTRAINTS in annotations:
        layers = _read_layers(annotations[CONSTRAINTS])
        if layers is None:
            return "failed to parse multi-layer topology constraints annotation"
        return "" if 1 <= len(layers) <= _MOST_LAYERS else f"{_WRONG_COUNT}: got {len(layers)}"
    size = annotations.get(SLICE_SIZE)
    if SLICE_TOPOLOGY in annotations and size is not None and _int32(size) is None:
        return parse_int_error(size, "ParseInt")
    return ""


def topology_problems(path: Path, annotations: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the annotations of a template, in Kueue's words. ``path`` is that of its metadata."""
    path = path.child("annotations")
    if sum(name in annotations for name in (REQUIRED, PREFERRED, UNCONSTRAINED)) > 1:
        names = ", ".join(map(go_quote, (REQUIRED, PREFERRED, UNCONSTRAINED)))
        yield f"{path.text}: Invalid value: must not contain more than one topology annotation: [{names}]"
    for name in (REQUIRED, PREFERRED, SLICE_TOPOLOGY):
        if name in annotations:
            yield from _label_problems(path.index(name), annotations[name])
    yield from _group_problems(path, annotations)
    if UNCONSTRAINED in annotations and annotations[UNCONSTRAINED] not in BOOLEANS:
        yield path.index(UNCONSTRAINED).invalid(annotations[UNCONSTRAINED], "must be a boolean value")
    if SLICE_SIZE in annotations:
        text = annotations[SLICE_SIZE]
        size = _int32(text)
        if size is None:
            yield path.index(SLICE_SIZE).invalid(text, "must be a numeric value")
        elif size < 1:
            yield path.index(SLICE_SIZE).invalid(text, "must be greater than or equal to 1")
    if SLICE_TOPOLOGY in annotations and SLICE_SIZE not in annotations:
        yield path.index(SLICE_SIZE).required(f"must be set when '{SLICE_TOPOLOGY}' is specified")
    if SLICE_SIZE in annotations and SLICE_TOPOLOGY not in annotations:
        yield path.index(SLICE_SIZE).forbidden(f"may not be set when '{SLICE_TOPOLOGY}' is not specified")
    if CONSTRAINTS in annotations:
        yield from _layer_problems(path, annotations)


def _label_problems(path: Path, name: str) -> Iterator[str]:
    return (path.invalid(name, problem) for problem in qualified_name(name))


def _group_problems(path: Path, annotations: Mapping[str, str]) -> Iterator[str]:
    name = annotations.get(GROUP_NAME)
    if name is None:
        return
    where = path.index(GROUP_NAME)
    if name.isascii() and name.isdigit() and len(name.lstrip("0")) <= 20 and int(name[-20:]) < 2**64:
        yield where.invalid(name, "must not be a number")
    for other in (SLICE_SIZE, SLICE_TOPOLOGY):
        if other in annotations:
            yield where.forbidden(f"may not be set when '{other}' is specified")
    if PREFERRED not in annotations and REQUIRED not in annotations:
        yield where.forbidden(f"may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified")


def _layer_problems(path: Path, annotations: Mapping[str, str]) -> Iterator[str]:
    where, text = path.index(CONSTRAINTS), annotations[CONSTRAINTS]
    for other in (SLICE_TOPOLOGY, SLICE_SIZE):
        if other in annotations:
            yield where.forbidden(f"may not be set when '{other}' is specified")
    if GROUP_NAME in annotations:
        yield path.index(GROUP_NAME).forbidden(f"may not be set when '{CONSTRAINTS}' is specified")
    layers = _read_layers(text)
    if layers is None:
        yield where.invalid(text, "must be a valid JSON array")
        return
    if not 1 <= len(layers) <= _MOST_LAYERS:
        yield where.invalid(text, _WRONG_COUNT)
        return
    yield from _each_layer_problems(where, layers)


def _each_layer_problems(where: Path, layers: Sequence[SliceConstraint]) -> Iterator[str]:
    for k, layer in enumerate(layers):
        yield from _label_problems(where.index(k).child("topology"), layer.topology)
        if layer.size < 1:
            yield where.index(k).child("size").invalid(layer.size, "must be greater than or equal to 1")
    first: dict[str, int] = {}
    for k, layer in enumerate(layers):
        if layer.topology in first:
            said = f"{layer.topology} (also at index {first[layer.topology]})"
            yield where.index(k).child("topology").duplicate(said)
        first.setdefault(layer.topology, k)
    for k, (above, below) in enumerate(pairwise(layers), start=1):
        if below.size > 0 and above.size % below.size:
            detail = f"must evenly divide the parent layer size {above.size}"
            yield where.index(k).child("size").invalid(below.size, detail)


def slice_size_problems(path: Path, annotations: Mapping[str, str], count: int) -> Iterator[str]:
    """Slices that are larger than the pod set."""
    path = path.child("annotations")
    detail = f"must not be greater than pod set count {count}"
    size = _int32(annotations.get(SLICE_SIZE, ""))
    if size is not None and size > count:
        yield path.index(SLICE_SIZE).invalid(annotations[SLICE_SIZE], detail)
    layers = _read_layers(annotations[CONSTRAINTS]) if CONSTRAINTS in annotations else None
    if layers and layers[0].size > count:
        yield path.index(CONSTRAINTS).invalid(layers[0].size, detail)


def grouping_problems(pod_sets: Sequence[WorkloadPodSet], paths: Mapping[str, Path]) -> Iterator[str]:
    """Pod sets that cannot be placed together. ``paths`` are those of the annotations of each."""
    groups: dict[str, list[WorkloadPodSet]] = {}
    for pod_set in pod_sets:
        if pod_set.topology_request is not None and pod_set.topology_request.pod_set_group_name is not None:
            groups.setdefault(pod_set.topology_request.pod_set_group_name, []).append(pod_set)
    for name, members in groups.items():
        where = [paths[member.name] for member in members]
        if len(members) != 2:
            detail = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
            yield from (path.index(GROUP_NAME).invalid(name, detail) for path in where)
            continue
        first, second = members
        if first.count != 1 and second.count != 1:
            detail = (
                "can only define groups where at least one pod set has only 1 replica, got: "
                f"{first.count} replica(s) and {second.count} replica(s) in the group"
            )
            yield from (path.index(GROUP_NAME).invalid(name, detail) for path in where)
        if _place_of(first) != _place_of(second):
            either = f"must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with"
            for path, other in zip(where, reversed(where), strict=True):
                yield f"{path.text}: Invalid value: {either} '{other.text}' in group '{name}'"


def _place_of(pod_set: WorkloadPodSet) -> tuple[str | None, str | None]:
    request = pod_set.topology_request
    return (None, None) if request is None else (request.required, request.preferred)
