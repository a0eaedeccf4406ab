"""Validation of IP addresses and CIDRs, and warnings about those in a non-canonical form.

Upstream: apimachinery/pkg/util/validation/ip.go; how Go parses addresses leniently is k8s.io/utils/net.
"""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from kwhatif.admission.validation.problems import Problems
from kwhatif.versions import Features

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LEADING = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")


def read_address(text: str) -> Address | None:
    """An address as lenient parsers take it: with leading zeros in IPv4, and IPv4-mapped IPv6."""
    if "%" in text:
        return None
    try:
        address = ip_address(text if ":" in text else _LEADING.sub("", text))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def ip_rules(text: str, features: Features) -> list[str]:
    """What is wrong with an address."""
    if read_address(text) is None:
        return [_NO_ADDRESS]
    if not features.strict_addresses:
        return []
    if _is_ipv4_mapped(text):
        return ["must not be an IPv4-mapped IPv6 address"]
    return ["must not have leading 0s"] if _has_leading_zeros(text) else []


def standard_ip_rules(text: str) -> list[str]:
    """What is wrong with an address that has to be in its usual form, in every minor."""
    address = read_address(text)
    if address is None:
        return [_NO_ADDRESS]
    wrong = ["must not have leading 0s"] if _has_leading_zeros(text) else []
    wrong += ["must not be an IPv4-mapped IPv6 address"] if _is_ipv4_mapped(text) else []
    return wrong or ([] if text == str(address) else [f'must be in canonical form ("{address}")'])


def special_address_rules(text: str) -> list[str]:
    """Refuses addresses that no endpoint can have, such as loopback; nothing for a text that is no address."""
    address = read_address(text)
    if address is None:
        return []
    local_multicast = address.is_multicast and (
        int(address) >> 8 == 0xE00000 if address.version == 4 else (int(address) >> 112) & 0xF == 2
    )
    checks = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return [why for bad, why in checks if bad]


def read_network(text: str) -> tuple[Address, Network] | None:
    """The address before the slash, and the network that it is in."""
    before, slash, bits = text.partition("/")
    address = read_address(before)
    most = 128 if ":" in before else 32
    if address is None or not slash or not re.fullmatch("[0-9]+", bits) or int(bits) > most:
        return None
    length = int(bits) - 96 if address.version == 4 and most == 128 else int(bits)
    return (address, ip_network(f"{address}/{length}", strict=False)) if length >= 0 else None


def network_rules(text: str, features: Features) -> list[str]:
    """What is wrong with a network in CIDR notation."""
    if read_network(text) is None:
        return [_NO_NETWORK]
    return _strict_network_rules(text) if features.strict_addresses else []


def check_address(problems: Problems, text: str, path: str) -> None:
    problems.invalid(path, text, *ip_rules(text, problems.features))


def check_network(problems: Problems, text: str, path: str) -> None:
    problems.invalid(path, text, *network_rules(text, problems.features))


def standard_network_rules(text: str) -> list[str]:
    """What is wrong with a network that has to be in its usual form, in every minor."""
    network = read_network(text)
    if network is None:
        return [_NO_NETWORK]
    usual = str(network[1])
    return _strict_network_rules(text) or ([] if text == usual else [f'must be in canonical form ("{usual}")'])


def _strict_network_rules(text: str) -> list[str]:
    before, _, bits = text.partition("/")
    if _has_leading_zeros(before) or (bits != "0" and bits.startswith("0")):
        return ["must not have leading 0s in IP or prefix length"]
    if _is_ipv4_mapped(before):
        return ["must not have an IPv4-mapped IPv6 address"]
    address, network = ip_address(before), ip_network(text, strict=False)
    return [] if address == network.network_address else ["must not have bits set beyond the prefix length"]


def address_warnings(path: str, text: str) -> list[str]:
    """The warning about an address that is not in its canonical form."""
    address = read_address(text)
    if address is None:
        return []
    if _is_ipv4_mapped(text) or _has_leading_zeros(text):
        return [f'{path}: non-standard IP address "{text}" is invalid: use "{address}"']
    if address.version == 6 and str(address) != text:
        return [f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")']
    return []


def network_warnings(path: str, text: str) -> list[str]:
    """The warning about a network that is not in its canonical form."""
    address_and_network = read_network(text)
    if address_and_network is None:
        return []
    address, network = address_and_network
    before, _, bits = text.partition("/")
    warnings = []
    if address != network.network_address:
        alone = f'"{address}/{address.max_prefixlen}"'
        warnings.append(f'{path}: CIDR value "{text}" is ambiguous in this context (should be "{network}" or {alone}?)')
    if _is_ipv4_mapped(before) or _has_leading_zeros(before) or (bits != "0" and bits.startswith("0")):
        warnings.append(f'{path}: non-standard CIDR value "{text}" is invalid: use "{network}"')
    if not warnings and network.version == 6 and str(network) != text:
        usual = f'("{network}")'
        warnings.append(f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format {usual}')
    return warnings


def _is_ipv4_mapped(text: str) -> bool:
    return ":" in text and "%" not in text and getattr(ip_address(text), "ipv4_mapped", None) is not None


def _has_leading_zeros(text: str) -> bool:
    return ":" not in text and _LEADING.search(text) is not None
