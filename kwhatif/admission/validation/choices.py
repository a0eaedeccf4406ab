"""Small rules that many kinds share: choices, shares of pods, references to other objects.

Upstream: apimachinery/pkg/util/validation/validation.go and pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.name_rules import dns_subdomain, path_segment, port_name, port_number
from kwhatif.admission.validation.problems import Problems

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
        problems.unsupported(path, value, allowed)


def check_port(problems: Problems, port: int | str, path: str) -> None:
    """A port by number or by name."""
    problems.invalid(path, port, *(port_name(port) if isinstance(port, str) else port_number(port)))


def check_name_in_path(problems: Problems, owner: Object, key: str, path: str) -> None:
    """A kind or a name that an address will hold."""
    value = owner.get(key) or ""
    if not value:
        problems.required(f"{path}.{key}")
    problems.invalid(f"{path}.{key}", value, *path_segment(value))


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
