"""How the API calls the collection of a kind, and how its messages name an object.

A refused request is told by resource (``deployments.apps "web" is forbidden``), an invalid object by kind
(``Deployment.apps "web" is invalid``).
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.api.kinds import GROUPS, plural_of


def group_of(obj: Object) -> str:
    """The API group, empty for the core group; what comes from a snapshot may have left it out."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0] or GROUPS.get(str(obj.get("kind") or ""), "")


def known_kind(obj: Object) -> str:
    """The kind, if it is one that is read here, else nothing."""
    kind = str(obj.get("kind") or "")
    return kind if GROUPS.get(kind) == group_of(obj) else ""


def resource_name(obj: Object) -> str:
    """``deployments.apps``, ``pods``: the plural, and the group if there is one."""
    kind = str(obj.get("kind") or "")
    return _with_group(plural_of(kind), group_of(obj))


def kind_name(obj: Object) -> str:
    """``Deployment.apps``, ``Pod``."""
    return _with_group(str(obj.get("kind") or ""), group_of(obj))


def _with_group(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name
