"""What kinds of resources a name can stand for.

Upstream: pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from kwhatif.api.label_text import is_label_key

__all__ = ["is_extended", "is_huge_pages", "is_integer", "is_native", "may_overcommit"]

_NATIVE_DOMAIN = "kubernetes.io/"
# Counted in whole units even though they have no domain.
_COUNTS = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"}
    | {"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)


def is_native(name: str) -> bool:
    """Whether Kubernetes itself means something by it: it has no domain, or one of Kubernetes."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether it is somebody's own resource, such as ``example.com/gpu``."""
    return not is_native(name) and not name.startswith("requests.") and is_label_key(f"requests.{name}")


def is_huge_pages(name: str) -> bool:
    return name.startswith("hugepages-")


def may_overcommit(name: str) -> bool:
    """Whether a limit may be above the request."""
    return is_native(name) and not is_huge_pages(name)


def is_integer(name: str) -> bool:
    """Whether it is counted in whole units."""
    return name in _COUNTS or is_extended(name)
