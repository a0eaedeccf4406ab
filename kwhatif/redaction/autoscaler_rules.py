"""What cluster-autoscaler's flags and its status tell of names: those of node groups, of labels and of taints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from kwhatif.api.kinds import GROUPS
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.treatments import GONE, one_of
from kwhatif.snapshot.format.autoscaler_command import PROGRAM, READ_FLAGS, flags_in
from kwhatif.snapshot.format.autoscaler_info import STATUS, AutoscalerInfo

_PLAIN = re.compile(r"-?[0-9.:]+|true|false|([0-9.]+(h|m|s|ms))+")
_EXPANDERS = one_of("least-waste", "least-nodes", "most-pods", "price", "priority", "random", "grpc")
_LABELS = ("balancing-ignore-label", "balancing-label", "ignore-taint", "startup-taint", "status-taint")


def own_command(container: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The command of a container that runs the autoscaler; nothing for all others."""
    told = [(name, _flag(name, text, names)) for name, text in flags_in(container) or () if name in READ_FLAGS]
    if flags_in(container) is None:
        return {}
    return {"command": [PROGRAM, *(f"--{name}={text}" for name, text in told if text is not GONE)]}


def _flag(name: str, text: str, names: Names) -> Any:
    """Numbers, lengths of time, yes and no stay. How groups are found in the cloud goes."""
    if _PLAIN.fullmatch(text):
        return text
    if name == "nodes":
        least, _, rest = text.partition(":")
        most, _, group = rest.partition(":")
        return f"{least}:{most}:{_group(group, names)}" if least.isdigit() and most.isdigit() else GONE
    if name == "expander":
        return ",".join(_EXPANDERS(part, names) for part in text.split(","))
    return names.label_key(text) if name in _LABELS else GONE


def autoscaler_info(info: AutoscalerInfo | None, names: Names) -> AutoscalerInfo | None:
    """The sizes of groups; patterns of their names would tell the names."""
    if info is None or not info.groups:
        return None
    groups = [structs.replace(group, name=_group(group.name, names)) for group in info.groups]
    return AutoscalerInfo(groups=groups, groups_source=f"ConfigMap {STATUS}")


def _group(text: str, names: Names) -> str:
    """Of a group of Cluster API the kind stays, and its parts are what the object is called."""
    kind, *parts = text.split("/")
    return "/".join([kind, *map(names.name, parts)]) if kind in GROUPS and len(parts) == 2 else names.name(text)
