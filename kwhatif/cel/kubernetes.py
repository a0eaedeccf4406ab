"""Functions that Kubernetes adds: quantities, semantic versions, addresses, sets, lists, patterns.

Upstream: apiserver/pkg/cel/library and apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface, ip_network
from itertools import islice, pairwise
from math import ceil
from typing import Any

from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.cel.faults import Fault
from kwhatif.cel.kinds import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Kind,
    list_of,
)
from kwhatif.cel.operators import BINARY, contains, equal
from kwhatif.cel.overloads import Overload, Table, one, per_character, regex_cost, runs_over
from kwhatif.cel.patterns import found_all
from kwhatif.cel.values import Address, Network, Semver

__all__ = ["kubernetes_functions"]

_ANYTHING = list_of(A)


def _member(params: tuple[Kind, ...], result: Kind, run: Any, cost: Any = one) -> Overload:
    return Overload(params, result, run, member=True, cost=cost)


def _can(read: Callable[..., object]) -> Callable[..., bool]:
    """Whether something can be read."""

    def ask(*args: Any) -> bool:
        try:
            read(*args)
        except Fault:
            return False
        return True

    return ask


# --- quantities and versions


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError:
        problem = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        raise Fault(problem) from None


def _integer(quantity: Quantity) -> int:
    found = quantity.exact_int()
    if found is None:
        raise Fault("cannot convert value to integer")
    return found


def _order(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _semver(text: str, normalize: bool = False) -> Semver:
    if not normalize:
        return Semver.parse(text)
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            rest = part.lstrip("0")
            parts[i] = rest if rest[:1].isdigit() else "0" + rest
    # Where minor or patch are left out, what follows the last number moves behind them.
    if len(parts) < 3:
        if any(sign in parts[-1] for sign in "+-"):
            raise Fault("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return Semver.parse(".".join(parts))


# --- addresses


def _ip(text: str) -> Address:
    try:
        found = ip_address(text)
    except ValueError:
        raise Fault(f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}")') from None
    if "%" in text or (found.version == 6 and found.ipv4_mapped):
        raise Fault(f'IP address "{text}" with zone value or IPv4-mapped is not allowed')
    return found


def _cidr(text: str) -> Network:
    try:
        if "/" not in text:
            raise ValueError
        return ip_interface(text)
    except ValueError:
        raise Fault(f"network address parse error during conversion from string: {text}") from None


def _holds_address(cidr: Network, other: Address | str) -> bool:
    return (_ip(other) if isinstance(other, str) else other) in cidr.network


def _holds_network(cidr: Network, other: Network | str) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    if isinstance(cidr, IPv4Interface):
        return isinstance(inner, IPv4Interface) and inner.network.subnet_of(cidr.network)
    return isinstance(inner, IPv6Interface) and inner.network.subnet_of(cidr.network)


# --- lists


def _comparable(items: list[Any]) -> list[Any]:
    for left, right in pairwise(items):
        BINARY["_<_"](left, right)
    return items


def _extreme(pick: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise Fault(f"{pick.__name__} called on empty list")
        return pick(_comparable(items))

    return run


def _sum(items: list[Any]) -> Any:
    total: Any = 0
    for place, item in enumerate(items):
        total = BINARY["_+_"](total, item) if place else item
    return total


def _place(items: list[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_place(items: list[Any], wanted: Any) -> int:
    return next((i for i in reversed(range(len(items))) if equal(items[i], wanted)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise Fault(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flat(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise Fault("level must be non-negative")
    found: list[Any] = []
    for item in items:
        found += _flat(item, depth - 1) if isinstance(item, list) and depth else [item]
    return found


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not contains(item, found):
            found.append(item)
    return found


def _range(count: int) -> list[int]:
    if count > 1_000_000:
        raise Fault("lists.range: too long")
    return list(range(max(count, 0)))


def _within_all(outer: list[Any], inner: list[Any]) -> bool:
    return all(contains(item, outer) for item in inner)


def _product_of_sizes(*args: Any) -> int:
    return len(args[0]) * len(args[1])


def _find(text: str, pattern: str) -> str:
    return next(found_all(text, pattern), "")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return list(islice(found_all(text, pattern), most if most >= 0 else None))


def kubernetes_functions() -> Table:
    """Function -> overloads."""
    ordered = {QUANTITY: lambda value: value, SEMVER: lambda value: value.rank}
    table: Table = {
        "quantity": [Overload((STRING,), QUANTITY, _quantity, cost=per_character)],
        "isQuantity": [Overload((STRING,), BOOL, _can(_quantity), cost=per_character)],
        "sign": [_member((QUANTITY,), INT, lambda q: _order(q, Quantity.from_units(0)))],
        "asApproximateFloat": [_member((QUANTITY,), DOUBLE, float)],
        "asInteger": [_member((QUANTITY,), INT, _integer)],
        "isInteger": [_member((QUANTITY,), BOOL, lambda q: q.exact_int() is not None)],
        "add": [
            _member((QUANTITY, QUANTITY), QUANTITY, lambda left, right: left + right),
            _member((QUANTITY, INT), QUANTITY, lambda left, right: left + Quantity.from_units(right)),
        ],
        "sub": [
            _member((QUANTITY, QUANTITY), QUANTITY, lambda left, right: left - right),
            _member((QUANTITY, INT), QUANTITY, lambda left, right: left - Quantity.from_units(right)),
        ],
        "isGreaterThan": [_member((k, k), BOOL, lambda a, b, r=r: r(a) > r(b)) for k, r in ordered.items()],
        "isLessThan": [_member((k, k), BOOL, lambda a, b, r=r: r(a) < r(b)) for k, r in ordered.items()],
        "compareTo": [_member((k, k), INT, lambda a, b, r=r: _order(r(a), r(b))) for k, r in ordered.items()],
        "semver": [
            Overload((STRING,), SEMVER, _semver, cost=per_character),
            Overload((STRING, BOOL), SEMVER, _semver, cost=per_character),
        ],
        "isSemver": [
            Overload((STRING,), BOOL, _can(_semver), cost=per_character),
            Overload((STRING, BOOL), BOOL, _can(_semver), cost=per_character),
        ],
        "major": [_member((SEMVER,), INT, lambda version: version.major)],
        "minor": [_member((SEMVER,), INT, lambda version: version.minor)],
        "patch": [_member((SEMVER,), INT, lambda version: version.patch)],
        "find": [_member((STRING, STRING), STRING, _find, regex_cost)],
        "findAll": [
            _member((STRING, STRING), list_of(STRING), _find_all, regex_cost),
            _member((STRING, STRING, INT), list_of(STRING), _find_all, regex_cost),
        ],
        "sets.contains": [Overload((_ANYTHING, _ANYTHING), BOOL, _within_all, cost=_product_of_sizes)],
        "sets.equivalent": [
            Overload(
                (_ANYTHING, _ANYTHING),
                BOOL,
                lambda one, two: _within_all(one, two) and _within_all(two, one),
                cost=_product_of_sizes,
            )
        ],
        "sets.intersects": [
            Overload(
                (_ANYTHING, _ANYTHING),
                BOOL,
                lambda one, two: any(contains(item, two) for item in one),
                cost=_product_of_sizes,
            )
        ],
        "ip.isCanonical": [
            Overload((STRING,), BOOL, lambda text: str(_ip(text)) == text, cost=lambda text: ceil(len(text) / 5))
        ],
    }
    return table | _addresses() | _lists()


def _addresses() -> Table:
    return {
        "ip": [Overload((STRING,), IP, _ip, cost=per_character), _member((CIDR,), IP, lambda cidr: cidr.ip)],
        "isIP": [Overload((STRING,), BOOL, _can(_ip), cost=per_character)],
        "cidr": [Overload((STRING,), CIDR, _cidr, cost=per_character)],
        "isCIDR": [Overload((STRING,), BOOL, _can(_cidr), cost=per_character)],
        "family": [_member((IP,), INT, lambda address: address.version)],
        "isUnspecified": [_member((IP,), BOOL, lambda address: address.is_unspecified)],
        "isLoopback": [_member((IP,), BOOL, lambda address: address.is_loopback)],
        "isLinkLocalMulticast": [_member((IP,), BOOL, _link_local_multicast)],
        "isLinkLocalUnicast": [_member((IP,), BOOL, lambda address: address.is_link_local)],
        "isGlobalUnicast": [_member((IP,), BOOL, _global_unicast)],
        "prefixLength": [_member((CIDR,), INT, lambda cidr: cidr.network.prefixlen)],
        "masked": [_member((CIDR,), CIDR, lambda cidr: ip_interface(cidr.network))],
        "containsIP": [_member((CIDR, kind), BOOL, _holds_address) for kind in (IP, STRING)],
        "containsCIDR": [_member((CIDR, kind), BOOL, _holds_network) for kind in (CIDR, STRING)],
    }


def _link_local_multicast(address: Address) -> bool:
    return address in ip_network("224.0.0.0/24") if address.version == 4 else address in ip_network("ff02::/16")


def _global_unicast(address: Address) -> bool:
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )


_COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_SUMMABLE = (INT, UINT, DOUBLE, DURATION)


def _lists() -> Table:
    return {
        "isSorted": [
            _member((list_of(k),), BOOL, lambda items: not any(map(BINARY["_>_"], items, items[1:])), runs_over)
            for k in _COMPARABLE
        ],
        "sum": [_member((list_of(k),), k, _sum, runs_over) for k in _SUMMABLE],
        "max": [_member((list_of(k),), k, _extreme(max), runs_over) for k in _COMPARABLE],
        "min": [_member((list_of(k),), k, _extreme(min), runs_over) for k in _COMPARABLE],
        "indexOf": [_member((_ANYTHING, A), INT, _place, runs_over)],
        "lastIndexOf": [_member((_ANYTHING, A), INT, _last_place, runs_over)],
        "slice": [_member((_ANYTHING, INT, INT), _ANYTHING, _slice)],
        "flatten": [
            _member((_ANYTHING,), list_of(DYN), _flat),
            _member((_ANYTHING, INT), list_of(DYN), _flat),
        ],
        "sort": [_member((list_of(k),), list_of(k), lambda items: sorted(_comparable(items))) for k in _COMPARABLE],
        "distinct": [_member((_ANYTHING,), _ANYTHING, _distinct)],
        "reverse": [_member((_ANYTHING,), _ANYTHING, lambda items: items[::-1])],
        "lists.range": [Overload((INT,), list_of(INT), _range)],
    }
