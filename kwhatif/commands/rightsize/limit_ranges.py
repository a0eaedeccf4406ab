"""Bounds of LimitRanges for requests and limits, and quotas that would be full.

Upstream: plugin/pkg/admission/limitranger/admission.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.snapshot.format.model import Snapshot

CONTAINER, POD = "Container", "Pod"


class _Range(msgspec.Struct, frozen=True):
    """Bounds of one resource in one namespace, in millicores or bytes; ``ratio`` is the most of limit to request."""

    least: int | None
    most: int | None
    ratio: float | None


class LimitRanges:
    """The limits of ``Container`` and ``Pod`` type by namespace and resource; several of one namespace all hold."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._ranges: dict[tuple[str, str, str], list[_Range]] = {}
        for obj in snapshot.whole.get("LimitRange", ()):
            namespace = part_of(obj, "metadata").get("namespace") or "default"
            for limit in section(obj, "spec").get("limits") or ():
                if limit.get("type") in (CONTAINER, POD):
                    self._add(limit["type"], namespace, limit)

    def _add(self, kind: str, namespace: str, limit: Mapping[str, Any]) -> None:
        for resource in ("cpu", "memory"):
            ratio = amount_in(limit.get("maxLimitRequestRatio"), resource, plain=True)
            limits = _Range(
                amount_in(limit.get("min"), resource),
                amount_in(limit.get("max"), resource),
                None if ratio is None else ratio / 1000,
            )
            self._ranges.setdefault((kind, namespace, resource), []).append(limits)

    def request_within(self, namespace: str, resource: str, amount: int, limit: int | None, request: int | None) -> int:
        """The nearest request of a container that a namespace lets in, given the limit and the request of today.

        A limit that follows the request keeps its ratio.
        """
        for limits in self._ranges.get((CONTAINER, namespace, resource), ()):
            if limits.least is not None:
                amount = max(amount, limits.least)
            if limits.most is not None:
                of_limit = limits.most
                if limit and request and limit > request:
                    of_limit = limits.most * request // limit
                amount = min(amount, max(of_limit, limits.least or 0))
        return amount

    def limit_within(self, namespace: str, resource: str, limit: int | None) -> int | None:
        """The nearest limit of a container that a namespace lets in."""
        for limits in self._ranges.get((CONTAINER, namespace, resource), ()):
            if limit is not None and limits.most is not None:
                limit = min(limit, limits.most)
        return limit

    def request_beside(self, namespace: str, resource: str, request: int, limit: int | None) -> int:
        """The nearest request of a container beside a limit that ``maxLimitRequestRatio`` lets in."""
        return self._at_ratio(CONTAINER, namespace, resource, request, limit)

    def pod_request_within(self, namespace: str, resource: str, request: int, limit: int | None) -> int:
        """The nearest sum of a pod's requests that a namespace lets in, given the sum of its limits."""
        for limits in self._ranges.get((POD, namespace, resource), ()):
            request = request if limits.least is None else max(request, limits.least)
        request = self._at_ratio(POD, namespace, resource, request, limit)
        return self.pod_limit_within(namespace, resource, request) or request

    def pod_limit_within(self, namespace: str, resource: str, limit: int | None) -> int | None:
        """The nearest sum of a pod's limits that a namespace lets in."""
        for limits in self._ranges.get((POD, namespace, resource), ()):
            if limit is not None and limits.most is not None:
                limit = min(limit, limits.most)
        return limit

    def _at_ratio(self, kind: str, namespace: str, resource: str, request: int, limit: int | None) -> int:
        for limits in self._ranges.get((kind, namespace, resource), ()):
            if limit is not None and limits.ratio:
                request = max(request, math.ceil(round(limit / limits.ratio, 6)))
        return request


def amount_in(amounts: Mapping[str, Any] | None, resource: str, *, plain: bool = False) -> int | None:
    """An amount of plain values, in millicores or bytes; ``plain`` is in thousandths of whatever it is."""
    given = (amounts or {}).get(resource)
    if given is None:
        return None
    try:
        quantity = Quantity.from_json(given)
    except QuantityError:
        return None
    return quantity.milli_value() if plain or resource.endswith("cpu") else quantity.value()


def quota_bounds(snapshot: Snapshot) -> Iterator[tuple[str, str, str, int]]:
    """Each quota without scopes as (namespace/name, namespace, resource, hard): requests of CPU and memory, and pods.

    Amounts are in millicores, bytes and pieces.
    """
    names = {"requests.cpu": "cpu", "cpu": "cpu", "requests.memory": "memory", "memory": "memory", "pods": "pods"}
    for obj in snapshot.whole.get("ResourceQuota", ()):
        spec = section(obj, "spec")
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        namespace = part_of(obj, "metadata").get("namespace") or "default"
        for key, resource in names.items():
            hard = amount_in(spec.get("hard"), key)
            if hard is not None:
                yield f"{namespace}/{part_of(obj, 'metadata', 'name')}", namespace, resource, hard
