"""The functions that Kubernetes adds: quantities, semantic versions, IP addresses, URLs, sets, lists, regular
expressions.

Upstream: apiserver/pkg/cel/library, apiserver/pkg/cel/environment/base.go; for URLs library/urls.go and Go's net/url.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_interface, ip_network
from itertools import islice, pairwise
from math import ceil
from operator import attrgetter, gt, lt
from typing import Any
from urllib.parse import parse_qsl, quote

from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.cel.declarations import Overload, define, per_character, regex_cost, runs_over, weight
from kwhatif.cel.operators import COMPARABLE, contains, equal, is_less, plus
from kwhatif.cel.patterns import find_all
from kwhatif.cel.values import Address, Fault, Network, Semver, Url


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
    number = quantity.exact_int()
    if number is None:
        raise Fault("cannot convert value to integer")
    return number


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
        address = ip_address(text)
    except ValueError:
        raise Fault(f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}")') from None
    if _mapped_or_zoned(text, address):
        raise Fault(f'IP address "{text}" with zone value or IPv4-mapped is not allowed')
    return address


def _mapped_or_zoned(text: str, address: Address) -> bool:
    return "%" in text or (address.version == 6 and address.ipv4_mapped is not None)


def _cidr(text: str) -> Network:
    try:
        if "/" not in text:
            raise ValueError
        network = ip_interface(text)
        if _mapped_or_zoned(text, network.ip):
            raise ValueError
        return network
    except ValueError:
        raise Fault(f"network address parse error during conversion from string: {text}") from None


def _holds_address(cidr: Network, other: Address | str) -> bool:
    return (_ip(other) if isinstance(other, str) else other) in cidr.network


def _holds_network(cidr: Network, other: Network | str) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).network
    return inner.version == cidr.version and inner.subnet_of(cidr.network)  # type: ignore[arg-type]


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


# --- lists


def _comparable(items: list[Any]) -> list[Any]:
    for left, right in pairwise(items):
        is_less(left, right)
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
        total = plus(total, item) if place else item
    return total


def _is_sorted(items: list[Any]) -> bool:
    return not any(is_less(right, left) for left, right in pairwise(items))


def _place(items: list[Any], element: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, element)), -1)


def _last_place(items: list[Any], item: Any) -> int:
    return next((i for i in reversed(range(len(items))) if equal(items[i], item)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise Fault(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flat(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise Fault("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        flat += _flat(item, depth - 1) if isinstance(item, list) and depth else [item]
    return flat


def _distinct(items: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if not contains(item, distinct):
            distinct.append(item)
    return distinct


def _range(count: int) -> list[int]:
    return list(range(max(count, 0)))


def _within_all(outer: list[Any], inner: list[Any]) -> bool:
    return all(contains(item, outer) for item in inner)


def _find(text: str, pattern: str) -> str:
    return next(find_all(text, pattern), "")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return list(islice(find_all(text, pattern), most if most >= 0 else None))


def _parse_twice(text: str) -> int:
    return ceil(len(text) / 5)


def _product_of_sizes(one: list[Any], two: list[Any]) -> int:
    return len(one) * len(two)


def _compare_with_self(items: list[Any]) -> int:
    return 1 + len(items) ** 2


def definitions() -> Iterator[tuple[str, Overload]]:
    """Functions that Kubernetes enables or adds."""
    yield from define("quantity(string) -> Quantity", _quantity, per_character)
    yield from define("isQuantity(string) -> bool", _can(_quantity), per_character)
    yield from define("Quantity.sign() -> int", lambda q: _order(q, Quantity.from_units(0)))
    yield from define("Quantity.asApproximateFloat() -> double", float)
    yield from define("Quantity.asInteger() -> int", _integer)
    yield from define("Quantity.isInteger() -> bool", lambda q: q.exact_int() is not None)
    yield from define("Quantity.add(Quantity) -> Quantity", lambda left, right: left + right)
    yield from define("Quantity.add(int) -> Quantity", lambda left, right: left + Quantity.from_units(right))
    yield from define("Quantity.sub(Quantity) -> Quantity", lambda left, right: left - right)
    yield from define("Quantity.sub(int) -> Quantity", lambda left, right: left - Quantity.from_units(right))
    for name, test in (("isGreaterThan", gt), ("isLessThan", lt)):
        yield from define(f"Quantity.{name}(Quantity) -> bool", test)
        yield from define(f"Semver.{name}(Semver) -> bool", lambda a, b, test=test: test(a.rank, b.rank))
    yield from define("Quantity.compareTo(Quantity) -> int", _order)
    yield from define("Semver.compareTo(Semver) -> int", lambda a, b: _order(a.rank, b.rank))
    for more in ("", ", bool"):
        yield from define(f"semver(string{more}) -> Semver", _semver, per_character)
        yield from define(f"isSemver(string{more}) -> bool", _can(_semver), per_character)
    for name in ("major", "minor", "patch"):
        yield from define(f"Semver.{name}() -> int", attrgetter(name))
    yield from define("string.find(string) -> string", _find, regex_cost)
    yield from define("string.findAll(string) -> list(string)", _find_all, regex_cost)
    yield from define("string.findAll(string, int) -> list(string)", _find_all, regex_cost)
    yield from _addresses()
    yield from _lists()
    yield from url_definitions()


def _addresses() -> Iterator[tuple[str, Overload]]:
    yield from define("ip(string) -> IP", _ip, per_character)
    yield from define("CIDR.ip() -> IP", attrgetter("ip"))
    yield from define("isIP(string) -> bool", _can(_ip), per_character)
    yield from define("ip.isCanonical(string) -> bool", lambda text: str(_ip(text)) == text, _parse_twice)
    yield from define("cidr(string) -> CIDR", _cidr, per_character)
    yield from define("isCIDR(string) -> bool", _can(_cidr), per_character)
    yield from define("IP.family() -> int", attrgetter("version"))
    yield from define("IP.isUnspecified() -> bool", attrgetter("is_unspecified"))
    yield from define("IP.isLoopback() -> bool", attrgetter("is_loopback"))
    yield from define("IP.isLinkLocalMulticast() -> bool", _link_local_multicast)
    yield from define("IP.isLinkLocalUnicast() -> bool", attrgetter("is_link_local"))
    yield from define("IP.isGlobalUnicast() -> bool", _global_unicast)
    yield from define("CIDR.prefixLength() -> int", attrgetter("network.prefixlen"))
    yield from define("CIDR.masked() -> CIDR", lambda cidr: ip_interface(cidr.network))
    yield from define("CIDR.containsIP(T) -> bool", _holds_address, T="IP string")
    yield from define("CIDR.containsCIDR(T) -> bool", _holds_network, T="CIDR string")


def _lists() -> Iterator[tuple[str, Overload]]:
    for name, test in (
        ("contains", _within_all),
        ("equivalent", lambda one, two: _within_all(one, two) and _within_all(two, one)),
        ("intersects", lambda one, two: any(contains(item, two) for item in one)),
    ):
        yield from define(f"sets.{name}(list(A), list(A)) -> bool", test, _product_of_sizes, weight)
    yield from define("list(T).isSorted() -> bool", _is_sorted, runs_over, T=COMPARABLE)
    yield from define("list(T).sum() -> T", _sum, runs_over, T="int uint double Duration")
    yield from define("list(T).max() -> T", _extreme(max), runs_over, T=COMPARABLE)
    yield from define("list(T).min() -> T", _extreme(min), runs_over, T=COMPARABLE)
    yield from define("list(A).indexOf(A) -> int", _place, runs_over, weight)
    yield from define("list(A).lastIndexOf(A) -> int", _last_place, runs_over, weight)
    yield from define("list(A).slice(int, int) -> list(A)", _slice, runs_over)
    yield from define("list(A).flatten() -> list(dyn)", _flat, room=weight)
    yield from define("list(A).flatten(int) -> list(dyn)", _flat, room=weight)
    yield from define("list(T).sort() -> list(T)", lambda items: sorted(_comparable(items)), runs_over, T=COMPARABLE)
    yield from define("list(A).distinct() -> list(A)", _distinct, _compare_with_self, weight)
    yield from define("list(A).reverse() -> list(A)", lambda items: items[::-1], runs_over)
    yield from define("lists.range(int) -> list(int)", _range, lambda count: 1 + max(count, 0))


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"(?::[0-9]*)?")


def parse_url(text: str) -> Url:
    """An absolute URL or an absolute path. Raises Fault."""

    def wrong(why: str) -> Fault:
        return Fault(f'URL parse error during conversion from string: parse "{text}": {why}')

    if not text:
        raise wrong("empty url")
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise wrong("net/url: invalid control character in URL")
    match = _SCHEME.fullmatch(text)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", text)
    if not scheme and text.startswith(":"):
        raise wrong("missing protocol scheme")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", "")
        raise wrong("invalid URI for request")
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = host.rpartition("@")[2]
        if not _good_host(host):
            raise wrong("invalid host or port")
    if bad := _ESCAPE.search(rest):
        raise wrong(f'invalid URL escape "{rest[bad.start() : bad.start() + 3]}"')
    return Url(scheme, host, quote(rest, safe="/%!$&'()*+,;=:@-._~"), query)


def _good_host(host: str) -> bool:
    if host.startswith("["):
        address, bracket, port = host.partition("]")
        return bool(bracket) and bool(_PORT.fullmatch(port)) and ":" in address
    name, colon, port = host.partition(":")
    return not re.search(r"[ \"<>\\^`{|}]", name) and bool(_PORT.fullmatch(colon + port))


def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except Fault:
        return False
    return True


def _hostname(url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    return url.host.partition(":")[0]


def _port(url: Url) -> str:
    return url.host.rpartition("]")[2].rpartition(":")[2] if ":" in url.host.rpartition("]")[2] else ""


def _query(url: Url) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, value in parse_qsl(url.query, keep_blank_values=True):
        values.setdefault(key, []).append(value)
    return values


def url_definitions() -> Iterator[tuple[str, Overload]]:
    """Functions on URLs."""
    yield from define("url(string) -> URL", parse_url, per_character)
    yield from define("isURL(string) -> bool", _is_url, per_character)
    yield from define("URL.getScheme() -> string", lambda url: url.scheme)
    yield from define("URL.getHost() -> string", lambda url: url.host)
    yield from define("URL.getHostname() -> string", _hostname)
    yield from define("URL.getPort() -> string", _port)
    yield from define("URL.getEscapedPath() -> string", lambda url: url.path)
    yield from define("URL.getQuery() -> map(string, list(string))", _query)
