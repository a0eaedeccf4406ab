"""Rules for the objects and arguments of scheduler-plugins: cells, paths of profiles, costs.

Names of groups and of workloads get the same pseudonyms as in the labels of pods.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kwhatif.api import core, scheduler_plugins
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.rules import (
    GONE,
    METADATA,
    NAME,
    NODE,
    Rule,
    amount,
    each,
    fields,
    make_rule,
    one_of,
    table,
    time,
)
from kwhatif.redaction.well_known_names import OWNER_KINDS

_ZONE = "topology.kubernetes.io/zone"
_CELL = re.compile(r"node-[0-9]+")
_NUMBER = re.compile(r"[0-9]+")
_LAYOUT = re.compile(r"(?:2006|0[1-6]|15|Jan|Mon|MST|Z07:?00|-07:?00|PM|[TZ:.,/ _0-9-])*")
_POLICIES = tuple(
    f"{policy}{level}"
    for policy in ("SingleNUMANode", "BestEffort", "Restricted")
    for level in ("PodLevel", "ContainerLevel")
)
_ATTRIBUTES = ("topologyManagerPolicy", "topologyManagerScope", "topologyManagerMaxNUMANodes")
_VALUES = ("none", "best-effort", "restricted", "single-numa-node", "pod", "container")


def _cell(names: Pseudonyms, raw: str) -> str:
    """Cells are identified by their number."""
    return raw if _CELL.fullmatch(raw) else names.name(raw)


def _attribute_value(names: Pseudonyms, raw: str) -> str:
    return raw if raw in _VALUES or _NUMBER.fullmatch(raw) else names.name(raw)


def _workload(names: Pseudonyms, raw: str) -> str:
    """A workload, as labels of its pods have it."""
    return names.label_value(scheduler_plugins.WORKLOAD_LABEL, raw)


def _place(names: Pseudonyms, raw: str) -> str:
    """A zone or a region, as nodes' labels have it."""
    return names.label_value(_ZONE, raw)


def _profile_path(names: Pseudonyms, raw: str) -> str:
    """``operator/namespace/name.json``: the name of a profile is found in it."""
    *folders, last = raw.split("/")
    stem = last.removesuffix(".json")
    coded = names.name(stem) + last[len(stem) :]
    return "/".join([*(part if part == "operator" else names.name(part) for part in folders), coded])


def layout(names: Pseudonyms, raw: str) -> str:
    """How a moment is written."""
    return raw if _LAYOUT.fullmatch(raw) else names.free(raw)


def figure(value: Any, names: Pseudonyms) -> Any:
    """A number or a moment as a text; any other text is replaced."""
    if amount(value, names) is not GONE or time(value, names) is not GONE:
        return value
    return names.free(value) if isinstance(value, str) else GONE


def figures_by(key: Callable[[Pseudonyms, str], str]) -> Rule:
    """Numbers by name, or objects of numbers."""
    of_letters = table(lambda names, raw: raw if raw in ("k0", "k1", "k2") else names.free(raw), figure)

    def rule(value: Any, names: Pseudonyms) -> Any:
        return of_letters(value, names) if isinstance(value, dict) else figure(value, names)

    return table(key, rule)


STRUCT_RULES: dict[type[Struct], dict[str, Rule]] = {
    core.SeccompProfileSource: {
        "type": one_of("Localhost", "RuntimeDefault", "Unconfined"),
        "localhostProfile": make_rule(_profile_path),
    },
    scheduler_plugins.AppGroupWorkloadInfo: {
        "kind": one_of(*OWNER_KINDS),
        "name": NAME,
        "selector": make_rule(_workload),
    },
    scheduler_plugins.AppGroupSpec: {
        "topologySortingAlgorithm": one_of(
            *("KahnSort", "TarjanSort", "ReverseKahn", "ReverseTarjan", "AlternateKahn", "AlternateTarjan")
        )
    },
    scheduler_plugins.DestinationCost: {"destination": make_rule(_place)},
    scheduler_plugins.NodeResourceTopology: {
        "metadata": fields(METADATA.rules, name=NODE),
        "topologyPolicies": each(one_of(*_POLICIES, "None", "BestEffort", "Restricted")),
    },
    scheduler_plugins.OriginCosts: {"origin": make_rule(_place)},
    scheduler_plugins.Syscalls: {
        "names": each(make_rule(Pseudonyms.free)),
        "action": one_of(*(f"SCMP_ACT_{word}" for word in ("ALLOW", "LOG", "ERRNO", "KILL", "TRAP", "NOTIFY"))),
    },
    scheduler_plugins.TopologyAttribute: {"name": one_of(*_ATTRIBUTES), "value": make_rule(_attribute_value)},
    scheduler_plugins.TopologyWeights: {"name": one_of("UserDefined", "NetperfCosts")},
    scheduler_plugins.TopologyZone: {"name": make_rule(_cell), "type": one_of("Node", "Socket", "Core")},
    scheduler_plugins.ZoneCost: {"name": make_rule(_cell)},
    scheduler_plugins.ZoneResource: {"name": make_rule(Pseudonyms.resource)},
}
"""Struct -> rules of those of its fields that no name or type tells."""
