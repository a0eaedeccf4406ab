"""The bounds of one item of a limit range, held against one set of requests and limits.

Upstream: plugin/pkg/admission/limitranger/admission.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.plugins.container_amounts import Amounts, amounts
from kwhatif.api.quantity import Quantity

_MAX_MILLI = (2**63 - 1) // 1000
_NOTHING = Quantity.from_units(0)


def broken_rules(limit: Object, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """What is wrong, minima first, then maxima, then ratios, each by name. ``limits`` is None for a claim."""
    kind = limit["type"]
    for name, bound in sorted(amounts(limit.get("min")).items()):
        yield from _below(kind, name, bound, requests.get(name), (limits or {}).get(name))
    for name, bound in sorted(amounts(limit.get("max")).items()):
        if limits is None:
            yield from _request_above(kind, name, bound, requests.get(name))
        else:
            yield from _above(kind, name, bound, requests.get(name), limits.get(name))
    if limits is not None:
        for name, bound in sorted(amounts(limit.get("maxLimitRequestRatio")).items()):
            yield from _ratio(kind, name, bound, requests.get(name), limits.get(name))


def _below(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {bound}"
    asked, capped, least = _comparable(request, limit, bound)
    if request is None:
        yield f"{said}.  No request is specified"
    elif asked < least:
        yield f"{said}, but request is {request}"
    elif limit is not None and capped < least:
        yield f"{said}, but limit is {limit}"


def _above(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {bound}"
    asked, capped, most = _comparable(request, limit, bound)
    if limit is None:
        yield f"{said}.  No limit is specified"
    elif capped > most:
        yield f"{said}, but limit is {limit}"
    elif request is not None and asked > most:
        yield f"{said}, but request is {request}"


def _request_above(kind: str, name: str, bound: Quantity, request: Quantity | None) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {bound}"
    asked, _, most = _comparable(request, None, bound)
    if request is None:
        yield f"{said}.  No request is specified"
    elif asked > most:
        yield f"{said}, but request is {request}"


def _ratio(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"{name} max limit to request ratio per {kind} is {bound}"
    asked, capped, _ = _comparable(request, limit, bound)
    if request is None or not asked:
        yield f"{said}, but no request is specified or request is 0"
        return
    if limit is None or not capped:
        yield f"{said}, but no limit is specified or limit is 0"
        return
    ratio = capped / asked
    fine = bound.value() <= _MAX_MILLI
    if (ratio * 1000 > bound.milli_value()) if fine else (ratio > bound.value()):
        yield f"{said}, but provided ratio is {ratio:f}"


def _comparable(*quantities: Quantity | None) -> tuple[int, ...]:
    """Thousandths, or whole units if one of them is too large for that."""
    given = [_NOTHING if quantity is None else quantity for quantity in quantities]
    units = tuple(quantity.value() for quantity in given)
    return tuple(quantity.milli_value() for quantity in given) if max(units) <= _MAX_MILLI else units
