"""cluster-autoscaler's command-line flags, with its defaults.

Upstream: cluster-autoscaler/config/flags/flags.go and config/autoscaling_options.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from kwhatif.api.decode import describe_value
from kwhatif.errors import InputError
from kwhatif.golang.parsing import SECOND, Duration, finite, parse_int

_MINUTE = 60 * SECOND
GIB = 1024**3

Nanoseconds = int
"""A length of time, spelt as Go does: ``10m``."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A minimum and a maximum, as in ``0:320000``."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Options that can be set per node group."""

    scale_down_utilization_threshold: float = 0.5
    scale_down_gpu_utilization_threshold: float = 0.5
    scale_down_unneeded_time: Nanoseconds = 10 * _MINUTE
    scale_down_unready_time: Nanoseconds = 20 * _MINUTE
    max_node_provision_time: Nanoseconds = 15 * _MINUTE
    max_node_startup_time: Nanoseconds = 15 * _MINUTE
    ignore_daemonsets_utilization: bool = False
    zero_or_max_node_scaling: bool = False


@dataclass(frozen=True, slots=True)
class Flags(GroupSettings):
    """All flags that affect decisions; the settings of groups are the defaults for groups that set none."""

    expander: tuple[str, ...] = ("least-waste",)
    balance_similar_node_groups: bool = False
    balancing_ignore_label: tuple[str, ...] = ()
    balancing_label: tuple[str, ...] = ()
    memory_difference_ratio: float = 0.015
    max_free_difference_ratio: float = 0.05
    max_allocatable_difference_ratio: float = 0.05
    max_nodes_total: int = 0
    cores_total: Bounds = Bounds(0, 320_000)
    memory_total: Bounds = Bounds(0, 6_400_000)
    max_nodes_per_scaleup: int = 1000
    enforce_node_group_min_size: bool = False
    fastpath_binpacking_enabled: bool = False
    scaleup_simulation_for_skipped_node_groups_enabled: bool = False
    scale_up_from_zero: bool = True
    force_ds: bool = False
    new_pod_scale_up_delay: Nanoseconds = 0
    expendable_pods_priority_cutoff: int = -10
    startup_taint: tuple[str, ...] = ()
    startup_taint_prefix: tuple[str, ...] = ()
    status_taint: tuple[str, ...] = ()
    ignore_taint: tuple[str, ...] = ()
    scale_from_unschedulable: bool = False
    ok_total_unready_count: int = 3
    max_total_unready_percentage: float = 45.0
    initial_node_group_backoff_duration: Nanoseconds = 5 * _MINUTE
    scale_down_enabled: bool = True
    scale_down_unready_enabled: bool = True
    ignore_mirror_pods_utilization: bool = False
    unremovable_node_recheck_timeout: Nanoseconds = 5 * _MINUTE
    max_scale_down_parallelism: int = 10
    max_drain_parallelism: int = 1
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_custom_controller_pods: bool = True
    blocking_system_pod_distruption_timeout: Nanoseconds = 60 * _MINUTE
    min_replica_count: int = 0
    bypassed_scheduler_names: tuple[str, ...] = ()
    allowed_scheduler_names: tuple[str, ...] = ()
    scale_down_delay_after_add: Nanoseconds = 10 * _MINUTE
    scale_down_delay_after_delete: Nanoseconds = 0


FLAGS = tuple(field.name.replace("_", "-") for field in fields(Flags))
"""The flags by name."""

LISTS = tuple(field.name.replace("_", "-") for field in fields(Flags) if str(field.type) == "tuple[str, ...]")
"""Those that take several values, in one word or one after the other."""


def flags_of(values: Mapping[str, Any], *, place: str = "$") -> Flags:
    """Flags by name, as on a command line or in a document; those that affect no decision here are ignored.

    Raises InputError for values that a flag cannot have.
    """
    return replace(Flags(), **_parse_settings(values, Flags, place))


def group_settings(values: Mapping[str, Any], flags: Flags, *, place: str = "$") -> GroupSettings:
    """The settings of one group: its own, or those of the flags. Raises InputError."""
    own = {field.name: getattr(flags, field.name) for field in fields(GroupSettings)}
    return GroupSettings(**{**own, **_parse_settings(values, GroupSettings, place)})


def _parse_settings(values: Mapping[str, Any], owner: type[GroupSettings], place: str) -> dict[str, Any]:
    kinds = {field.name: field.type for field in fields(owner)}
    settings = {}
    for name, value in values.items():
        attribute = name.replace("-", "_")
        if attribute in kinds:
            try:
                settings[attribute] = _value(str(kinds[attribute]), value)
            except ValueError as error:
                raise InputError(f"{error}", place=f"{place}.{name}") from None
    return settings


def _value(kind: str, value: Any) -> Any:
    match kind:
        case "bool":
            if isinstance(value, bool):
                return value
            if str(value).lower() in ("true", "false"):
                return str(value).lower() == "true"
            raise ValueError(f"expected true or false, found {describe_value(value)}")
        case "Nanoseconds":
            return Duration.parse(str(value))
        case "Bounds":
            least, colon, most = str(value).partition(":")
            if not colon:
                raise ValueError(f'expected "min:max", found {describe_value(value)}')
            return Bounds(_whole(least), _whole(most))
        case "int":
            return _whole(value)
        case "float":
            number = finite(value)
            if number is None:
                raise ValueError(f"expected a number, found {describe_value(value)}")
            return number
    given = value if isinstance(value, list) else [value]
    return tuple(part for text in given for part in str(text).split(","))


def _whole(value: Any) -> int:
    number = parse_int(str(value).strip())
    if number is None:
        raise ValueError(f"expected a whole number, found {describe_value(value)}")
    return number
