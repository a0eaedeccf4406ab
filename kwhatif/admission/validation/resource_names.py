"""What kinds of resources a name can stand for.

Upstream: pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from kwhatif.api.label_text import is_label_key

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


def is_standard(name: str) -> bool:
    """Whether a name without a domain means something."""
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def is_container_resource(name: str) -> bool:
    """Whether a container can ask for this name without a domain."""
    return name in _COMPUTE or is_huge_pages(name)
