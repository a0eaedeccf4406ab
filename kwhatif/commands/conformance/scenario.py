"""The ``expected`` parts of scenarios as types, as ``docs/contributing/conformance.md`` describes them, and the
objects of a scenario.

Answers are compared with these as plain values, in which absent and null are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kwhatif.api.document_numbers import Measure, Number
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.errors import InputError
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.objects import Document, Origin, inside, items_of, plain_of, resource_of

Names = list[str] | None
NameLists = dict[str, list[str]] | None
Texts = dict[str, str] | None


class _Camel(msgspec.Struct, rename="camel", omit_defaults=True):
    """A part of what was recorded."""


# --- cluster-autoscaler


class _Error(_Camel):
    type: str | None = None


class _Option(_Camel):
    group: str
    nodes: Number | None = None
    pods: Names = None
    similar: Names = None


class _Resize(_Camel):
    group: str
    from_: Number = msgspec.field(name="from")
    to: Number


class _Rejection(_Camel):
    code: str | None = None
    plugin: str | None = None
    reasons: Names = None


class _Remaining(_Camel):
    rejected: dict[str, _Rejection] | None = None
    skipped: NameLists = None


class _ScaleUp(_Camel):
    result: str | None = None
    healthy: bool | None = None
    error: _Error | None = None
    placed: Texts = None
    ignored: Names = None
    unschedulable: Names = None
    skipped_groups: NameLists = None
    options: list[_Option] | None = None
    chosen: str | None = None
    plan: list[_Resize] | None = None
    to_min_size: list[_Resize] | None = None
    triggered: Names = None
    awaiting: Names = None
    remaining: dict[str, _Remaining] | None = None
    events: Texts = None


class _Utilization(_Camel):
    cpu: Measure | None = None
    memory: Measure | None = None
    gpu: Measure | None = None
    dra: Measure | None = None
    resource: str | None = None
    utilization: Measure | None = None


class _Unremovable(_Camel):
    reason: str | None = None
    pod: str | None = None
    pod_reason: str | None = None


class _Nodes(_Camel):
    empty: Names = None
    drain: Names = None


class _ScaleDown(_Camel):
    result: str | None = None
    candidates: Names = None
    utilization: dict[str, _Utilization] | None = None
    unneeded: dict[str, Texts] | None = None
    unremovable: dict[str, _Unremovable] | None = None
    removable: _Nodes | None = None
    deleted: _Nodes | None = None


class _Template(_Camel):
    free: dict[str, Number] | None = None
    pods: Names = None
    taints: Names = None


class RecordedAutoscaler(_Camel):
    """What cluster-autoscaler did in a scenario."""

    templates: dict[str, _Template] | None = None
    scale_up: _ScaleUp | None = None
    scale_down: list[_ScaleDown] | None = None


# --- Karpenter


class _Requirement(_Camel):
    key: str
    operator: str
    values: Names = None
    min_values: Number | None = None


class _Offer(_Camel):
    instance_type: str
    zone: str
    capacity_type: str
    price: Measure


class _Claim(_Camel):
    node_pool: str
    pods: list[str]
    requirements: list[_Requirement]
    instance_types: list[str]
    requests: dict[str, Measure]
    labels: dict[str, str]
    cheapest: _Offer | None
    taints: Names = None
    startup_taints: Names = None
    min_values_relaxed: bool | None = None


class _GivenUp(_Camel):
    preferred_node_affinity: Number | None = None
    preferred_pod_affinity: Number | None = None
    preferred_pod_anti_affinity: Number | None = None
    required_node_affinity: Number | None = None
    spread: Number | None = None
    tolerate: bool | None = None


class _Candidate(_Camel):
    cost: Measure
    pods: Number
    price: Measure | None = None


class _Command(_Camel):
    decision: str | None = None
    nodes: Names = None
    placed: Texts = None
    savings: Measure | None = None
    replacements: list[_Claim] | None = None


class _Asked(_Camel):
    candidates: dict[str, _Candidate] | None = None
    budgets: dict[str, Number] | None = None
    command: _Command | None = None
    reasons: NameLists = None


class _Disruption(_Camel):
    empty: _Asked | None = None
    multi: _Asked | None = None
    single: _Asked | None = None


class RecordedKarpenter(_Camel):
    """What Karpenter did in a scenario."""

    error: str | None = None
    placed: Texts = None
    node_claims: list[_Claim] | None = None
    errors: NameLists = None
    relaxed: dict[str, _GivenUp] | None = None
    ignored: NameLists = None
    not_pending: Names = None
    skipped_pools: Texts = None
    disruption: _Disruption | None = None


def read_objects(stored: Sequence[msgspec.Raw]) -> Objects:
    """What the API server stores, as Structs. Raises InputError."""
    try:
        return decode_objects(stored)
    except InputError as error:
        raise inside(error, "", "$.objects") from None


def plain_objects(stored: Sequence[msgspec.Raw]) -> dict[str, list[dict[str, Any]]]:
    """The same as plain values, by kind: controllers and autoscalers look at fields that scheduling never reads.

    Raises InputError.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    nowhere = Origin("")
    for i, raw in enumerate(stored):
        for item in items_of(Document(nowhere, raw)):
            try:
                resource_of(item, Resource)
                plain = plain_of(item, checked=True)
            except InputError as error:
                raise inside(error, "", f"$.objects[{i}]") from None
            found.setdefault(item.kind, []).append(plain)
    return found
