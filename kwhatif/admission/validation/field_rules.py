"""Validation that many kinds share: names, labels, ports, choices, percentages, references, resource names and file
paths. Each rule returns its errors in upstream's words.

Upstream: apimachinery/pkg/util/validation/validation.go, pkg/apis/apps/validation/validation.go,
pkg/apis/core/validation/validation.go, pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.admission.validation.problems import Problems
from kwhatif.api.selectors import is_label_key, is_label_value

_EMPTY = "must be non-empty"
_SIGNS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LOOSE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LOOSE_SUBDOMAIN = rf"{_LOOSE_LABEL}(\.{_LOOSE_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HEADER = "[-A-Za-z0-9]+"
_VALUE = f"({_NAME})?"
_ENDS = "and must start and end with an alphanumeric character"


def label_key(key: str) -> list[str]:
    """Rules for a qualified name: a name, and perhaps a domain and a slash before it."""
    if is_label_key(key):
        return []
    prefix, slash, name = key.partition("/")
    if "/" in name:
        text = _unlike(f"a valid label key must consist of {_SIGNS}", _NAME, "MyName", "my.name", "123-abc")
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash:
        problems = [f"prefix part {text}" for text in (dns_subdomain(prefix, "bytes") if prefix else [_EMPTY])]
    name = name if slash else key
    if not name:
        problems.append(f"name part {_EMPTY}")
    judged = _check_text(name, 63, _NAME, f"must consist of {_SIGNS}", "MyName", "my.name", "123-abc", unit="bytes")
    return problems + [f"name part {text}" for text in judged]


def label_value(value: str) -> list[str]:
    if is_label_value(value):
        return []
    what = f"a valid label must be an empty string or consist of {_SIGNS}"
    return _check_text(value, 63, _VALUE, what, "MyValue", "my_value", "12345", unit="bytes")


def dns_label(value: str) -> list[str]:
    if "." in value and re.fullmatch(_SUBDOMAIN, value):
        return [*_too_long(value, 63), "must not contain dots"]
    what = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
    return _check_text(value, 63, _LABEL, what, "my-name", "123-abc")


def dns_subdomain(value: str, unit: str = "characters") -> list[str]:
    signs = "lower case alphanumeric characters, '-' or '.'"
    what = f"a lowercase RFC 1123 subdomain must consist of {signs}, {_ENDS}"
    return _check_text(value, 253, _SUBDOMAIN, what, "example.com", unit=unit)


def wildcard_subdomain(value: str) -> list[str]:
    """A DNS subdomain whose first label is a star."""
    signs = "lower case alphanumeric characters, '-' or '.'"
    rest = f"followed by a valid DNS subdomain, which must consist of {signs}"
    what = f"a wildcard DNS-1123 subdomain must start with '*.', {rest} and end with an alphanumeric character"
    return _check_text(value, 253, rf"\*\.{_SUBDOMAIN}", what, "*.example.com")


def search_domain(value: str) -> list[str]:
    """A DNS subdomain in which labels may also hold underscores."""
    signs = "lower case alphanumeric characters, '_', '-' or '.'"
    what = f"a lowercase RFC 1123 subdomain must consist of {signs}, {_ENDS}"
    return _check_text(value, 253, _LOOSE_SUBDOMAIN, what, "example.com")


def dns_1035_label(value: str) -> list[str]:
    ends = "start with an alphabetic character, and end with an alphanumeric character"
    what = f"a DNS-1035 label must consist of lower case alphanumeric characters or '-', {ends}"
    return _check_text(value, 63, _LABEL_1035, what, "my-name", "abc-123")


def path_segment(value: str) -> list[str]:
    """A name that may hold anything that can stand in a URL's path."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in value]


def config_key(key: str) -> list[str]:
    """A key of a config map or a secret; it becomes the name of a file."""
    what = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    problems = _check_text(key, 253, _CONFIG_KEY, what, "key.name", "KEY_NAME", "key-name")
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def environment_name(name: str) -> list[str]:
    problems = [] if name else [f"environment variable name {_EMPTY}"]
    if any(not " " <= sign <= "~" or sign == "=" for sign in name):
        only = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        problems.append(only)
    return problems


def header_name(name: str) -> list[str]:
    if re.fullmatch(_HEADER, name):
        return []
    return [_unlike("a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name")]


def port_name(name: str) -> list[str]:
    problems = _too_long(name, 15)
    if not re.fullmatch("[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number(port: int) -> list[str]:
    return within_range(port, 1, 65535)


def service_port(port: int) -> list[str]:
    """The port of a service that the API server calls."""
    wrong = port_number(port)
    return [f"port is not valid: {', '.join(wrong)}"] if wrong else []


def within_range(value: int, least: int, most: int) -> list[str]:
    return [] if least <= value <= most else [f"must be between {least} and {most}, inclusive"]


def check_label_key(problems: Problems, key: str, path: str) -> None:
    problems.invalid(path, key, *label_key(key))


def check_labels(problems: Problems, labels: Mapping[str, Any] | None, path: str) -> None:
    """Labels, or a selector that is a map of labels, by key."""
    for key, value in sorted((labels or {}).items()):
        check_label_key(problems, key, path)
        problems.invalid(path, value or "", *label_value(value or ""))


def _check_text(value: str, most: int, pattern: str, what: str, *examples: str, unit: str = "characters") -> list[str]:
    """A text that has to have a pattern, and a maximum length in bytes."""
    unlike = [] if re.fullmatch(pattern, value) else [_unlike(what, pattern, *examples)]
    return _too_long(value, most, unit) + unlike


def _too_long(value: str, most: int, unit: str = "characters") -> list[str]:
    """Upstream counts bytes everywhere, but says so only of labels."""
    return [f"must be no more than {most} {unit}"] if len(value.encode()) > most else []


def _unlike(what: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{what} (e.g. {shown}regex used for validation is '{pattern}')"


_PERCENT = re.compile("[0-9]+%")
_NO_SHARE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_DOMAIN_PATH = 'must be a domain-prefixed path (such as "acme.io/foo")'


def check_choice(problems: Problems, value: Any, path: str, allowed: Sequence[str]) -> None:
    """One of a few words, if there is any."""
    if value is not None and value not in allowed:
        problems.not_supported(path, value, allowed)


def check_port(problems: Problems, port: int | str, path: str) -> None:
    """A port by number or by name."""
    problems.invalid(path, port, *(port_name(port) if isinstance(port, str) else port_number(port)))


def check_domain_path(problems: Problems, value: str, path: str) -> None:
    """A name such as ``acme.io/foo``."""
    host, _, rest = value.partition("/")
    if not value:
        problems.required(path)
    elif not host or not rest:
        problems.invalid(path, value, _DOMAIN_PATH)
    else:
        problems.invalid(path, host, *dns_subdomain(host))
        if not re.fullmatch(_PATH, rest):
            problems.invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')")


def check_share(problems: Problems, value: Any, path: str) -> None:
    """A count of pods, or a share of them."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            problems.invalid(path, value, _NO_SHARE)
    elif value is not None and value < 0:
        problems.invalid(path, value, "must be greater than or equal to 0")


def check_share_at_most_all(problems: Problems, value: Any, path: str) -> None:
    if isinstance(value, str) and share(value) > 100:
        problems.invalid(path, value, "must not be greater than 100%")


def share(value: Any) -> int:
    """The number or the percentage; what is no percentage counts as nothing."""
    if isinstance(value, str):
        # Go's integers end somewhere, and what is none of them counts as nothing.
        return int(value[:-1]) if _PERCENT.fullmatch(value) and len(value) < 20 else 0
    return int(value or 0)


_NATIVE_DOMAIN = "kubernetes.io/"
# Counted in whole units even though they have no domain.
_COUNTS = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"}
    | {"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_SIDES = frozenset(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE)
_STANDARD = _COUNTS | _SIDES | frozenset({*_COMPUTE, "storage", "requests.storage"})


def is_native(name: str) -> bool:
    """Whether it is a resource of Kubernetes itself: without a domain, or with one of Kubernetes."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether it is an extended resource, such as ``example.com/gpu``."""
    return not is_native(name) and not name.startswith("requests.") and is_label_key(f"requests.{name}")


def is_huge_pages(name: str) -> bool:
    return name.startswith("hugepages-")


def may_overcommit(name: str) -> bool:
    """Whether a limit may be above the request."""
    return is_native(name) and not is_huge_pages(name)


def is_integer(name: str) -> bool:
    """Whether it is counted in whole units."""
    return name in _COUNTS or is_extended(name)


def is_standard(name: str) -> bool:
    """Whether a name without a domain means something."""
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def is_container_resource(name: str) -> bool:
    """Whether a container can ask for this name without a domain."""
    return name in _COMPUTE or is_huge_pages(name)


def no_backsteps(path: str) -> list[str]:
    return ["must not contain '..'"] if ".." in path.split("/") else []


def relative_path(path: str) -> list[str]:
    return [*(["must be a relative path"] if path.startswith("/") else []), *no_backsteps(path)]


def check_own_path(problems: Problems, path: str, where: str) -> None:
    """A file inside a volume, whose name is not one that the kubelet keeps for itself."""
    problems.invalid(where, path, *relative_path(path))
    if path.startswith("..") and not path.startswith("../") and path != "..":
        problems.invalid(where, path, "must not start with '..'")
