"""The RBAC objects that ``dump`` or ``record`` need, with no right too many.

Version and API groups, which are read as well, are readable for system:authenticated.
"""

from __future__ import annotations

from typing import Any

from kwhatif.api.kinds import LASTING, READ_KINDS
from kwhatif.snapshot.format import autoscaler_info, descheduler_info

_GROUP = "rbac.authorization.k8s.io"


def rights(
    name: str,
    *,
    service_account: str | None = None,
    config_map: str | None = None,
    watch: bool = False,
    usage: bool = False,
) -> list[dict[str, Any]]:
    """A ClusterRole that lets every kind that is read be listed, the ConfigMaps of autoscaler and descheduler, and
    nothing else.

    To ``watch``, as a recording does, takes another verb, and Events as another kind; ``usage`` is that of pods.
    With a ``service_account`` (NAMESPACE/NAME) also what binds them together, with a ``config_map``
    (NAMESPACE/NAME) also the right to read just that one.
    """
    plurals: dict[str, list[str]] = {}
    for form in (form for kind in (READ_KINDS if usage else LASTING) for form in kind.forms):
        plurals.setdefault(form.group, []).append(form.plural)
    plurals[""] += ["events"] if watch else []
    verbs = ["list", "watch"] if watch else ["list"]
    rules = [
        {"apiGroups": [group], "resources": sorted(names), "verbs": [*verbs]}
        for group, names in sorted(plurals.items())
    ]
    # A list that is restricted to one name needs the right for that name alone.
    names = [*autoscaler_info.CONFIG_MAPS, *descheduler_info.CONFIG_MAPS]
    rules.append({"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["list"]})
    made = [_object("ClusterRole", name, rules=rules)]
    if service_account:
        made.append(_binding("ClusterRole", name, service_account))
    if config_map:
        namespace, _, wanted = config_map.partition("/")
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [wanted], "verbs": ["get"]}
        made.append(_object("Role", name, namespace, rules=[rule]))
        if service_account:
            made.append(_binding("Role", name, service_account, namespace))
    return made


def _object(kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, **fields}


def _binding(role: str, name: str, service_account: str, namespace: str = "") -> dict[str, Any]:
    home, _, account = service_account.partition("/")
    return _object(
        f"{role}Binding",
        name,
        namespace,
        roleRef={"apiGroup": _GROUP, "kind": role, "name": name},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": home}],
    )
