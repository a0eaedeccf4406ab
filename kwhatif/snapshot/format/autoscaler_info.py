"""What cluster-autoscaler says of itself in two ConfigMaps: the state of its node groups, and whom it prefers.

The state is text up to 1.29, one line a fact, and YAML since. Of both only the sizes and the back-off are kept.
Upstream: cluster-autoscaler/clusterstate/api/types.go and clusterstate/utils/status.go, expander/priority/priority.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import structs

from kwhatif.api.decode import convert
from kwhatif.errors import InputError
from kwhatif.snapshot.read.yaml_reader import read_yaml

STATUS, PRIORITIES = "cluster-autoscaler-status", "cluster-autoscaler-priority-expander"
CONFIG_MAPS = (STATUS, PRIORITIES)
"""The names of the two."""

_SIZES = re.compile(r"cloudProviderTarget=(\d+) \(minSize=(\d+), maxSize=(\d+)\)")


class GroupStatus(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A node group as the autoscaler sees it; ``backoff``: a scale-up failed, and none is tried for some time."""

    name: str
    min: int = 0
    max: int = 0
    target: int = 0
    backoff: bool = False


class AutoscalerInfo(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """What is known of an autoscaler, and the ConfigMaps that said so. ``priorities`` are those of its expander."""

    groups: list[GroupStatus] | None = None
    groups_source: str | None = None
    priorities: dict[str, list[str]] | None = None
    priorities_source: str | None = None


class _Sizes(msgspec.Struct, rename="camel"):
    min_size: int = 0
    max_size: int = 0
    cloud_provider_target: int = 0


class _ScaleUp(msgspec.Struct):
    status: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str = ""
    health: _Sizes = msgspec.field(default_factory=_Sizes)
    scale_up: _ScaleUp = msgspec.field(default_factory=_ScaleUp)


class _Status(msgspec.Struct, rename="camel"):
    node_groups: list[_Group]


class ConfigMap(msgspec.Struct):
    """As much of one as is read."""

    class Metadata(msgspec.Struct):
        name: str = ""
        namespace: str | None = None

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    data: dict[str, str] | None = None


def with_config_map(info: AutoscalerInfo | None, found: ConfigMap) -> AutoscalerInfo | None:
    """What is known once a ConfigMap is read, too. One of another name, or that makes no sense, says nothing."""
    info, data = info or AutoscalerInfo(), found.data or {}
    source = f"ConfigMap {found.metadata.namespace or 'default'}/{found.metadata.name}"
    if found.metadata.name == STATUS and (groups := status_of(data.get("status", ""))):
        info = structs.replace(info, groups=groups, groups_source=source)
    if found.metadata.name == PRIORITIES and (priorities := _priorities(data.get("priorities", ""))):
        info = structs.replace(info, priorities=priorities, priorities_source=source)
    return info if info != AutoscalerInfo() else None


def status_of(text: str) -> list[GroupStatus]:
    """The groups of a status in either form; none if it is in neither."""
    try:
        (document,) = read_yaml(text.encode(), STATUS)
        groups = convert(document.value, _Status).node_groups
    except (InputError, ValueError):
        return list(_of_lines(text))
    return [
        GroupStatus(
            name=each.name,
            min=each.health.min_size,
            max=each.health.max_size,
            target=each.health.cloud_provider_target,
            backoff=each.scale_up.status == "Backoff",
        )
        for each in groups
        if each.name
    ]


def _of_lines(text: str) -> Iterator[GroupStatus]:
    """A group's lines begin with its name; the conditions of the whole cluster come before the first."""
    group: GroupStatus | None = None
    for line in text.splitlines():
        key, _, rest = line.strip().partition(":")
        if key == "Name":
            if group is not None:
                yield group
            group = GroupStatus(name=rest.strip()) if rest.strip() else None
        elif group is not None and key == "Health" and (sizes := _SIZES.search(rest)):
            target, least, most = map(int, sizes.groups())
            group = structs.replace(group, min=least, max=most, target=target)
        elif group is not None and key == "ScaleUp":
            group = structs.replace(group, backoff=rest.split()[:1] == ["Backoff"])
    if group is not None:
        yield group


def _priorities(text: str) -> dict[str, list[str]]:
    try:
        (document,) = read_yaml(text.encode(), PRIORITIES)
        found = document.value
        if not isinstance(found, Mapping):
            return {}
        return convert({str(priority): patterns for priority, patterns in found.items()}, dict[str, list[str]])
    except (InputError, ValueError):
        return {}
