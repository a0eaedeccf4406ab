"""Redaction of texts that programs write: a scheduler's messages about pods, and cluster-autoscaler's flags and status.

The scheduler's own words stay, and counts of nodes; whatever else is in such a message is a name, and becomes its
pseudonym, as in the object that it comes from. So the message about a redacted cluster is the redacted message.

Upstream: the reasons of the plugins in pkg/scheduler/framework/plugins, and pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from kwhatif.api.kinds import GROUPS
from kwhatif.redaction.pseudonyms import WORD, Pseudonyms
from kwhatif.redaction.rules import GONE, one_of
from kwhatif.snapshot.format.autoscaler_info import KEPT_FLAGS, PROGRAM, STATUS, AutoscalerInfo, flags_in

_SAID = """
    no nodes available to schedule pods; nodes are available: Insufficient, Too many pods, skip schedule deleting pod
    node(s) didn't match Pod's node affinity/selector, scheduler-enforced node affinity, the requested node name,
    pod affinity rules, pod anti-affinity rules, existing pods anti-affinity rules, required features, service affinity,
    pod topology spread constraints (missing required label), PersistentVolume's node affinity, satisfy plugin(s),
    have the requested labels, have free ports for the requested pod ports, find available persistent volumes to bind
    node(s) did not have enough free storage, were unschedulable, had untolerated taint(s), had taint that the pod
    didn't tolerate, had volume node affinity conflict, had no available disk, had no available volume zone,
    exceed max volume count, unavailable due to one or more pvc(s) bound to non-existent pv(s),
    unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod
    preemption: No preemption victims found for incoming pod, Preemption is not helpful for scheduling,
    not eligible due to a terminating pod on the nominated node, not eligible due to preemptionPolicy=Never,
    no candidate node for preemption, no new claims to deallocate, still not schedulable, cannot allocate all claims,
    could not be allocated, resourceclaim not available on the node, resourceclaim in use, persistentvolumeclaim not
    found, persistentvolume, storageclass, is being deleted, pod has unbound immediate PersistentVolumeClaims, was not
    created for pod (pod is not owner), waiting for ephemeral volume controller to create the, waiting on permit for
    pod: preempted, rejected due to timeout after waiting at plugin, waiting for scheduling gates, Successfully
    assigned to, Preempted by pod on node (in kube-scheduler memory), simultaneously, feature gate is disabled,
    ResourceClaim created yet
"""
_PLUGINS = """
    DefaultPreemption DynamicResources GangScheduling InterPodAffinity NodeAffinity NodeDeclaredFeatures NodeName
    NodePorts NodeResourcesFit NodeUnschedulable NodeVolumeLimits PodTopologySpread SchedulingGates TaintToleration
    VolumeBinding VolumeRestrictions VolumeZone
"""
_WORD = r"[^\W_]+"
_KNOWN = frozenset(re.findall(_WORD, _SAID + _PLUGINS))

_RESOURCE = re.compile(r"(?<=Insufficient )[^\s,]+?(?=[.,]?(?:\s|$))")
_TAINT = re.compile(r"(?<=taint )\{([^{}:\s]*): ([^{}\s]*)\}")
_BOUND = re.compile(r"Successfully assigned ([^\s/]+)/(\S+) to (\S+)")
_PREEMPTED = re.compile(r"Preempted by pod (\S+) on node (\S+?)(?P<rest>( \(in kube-scheduler memory\)\.)?)")
_LEADER = re.compile(r"(\S+) (became leader|stopped leading)")
_COUNT = re.compile(rf"(?:(?<=\s)|(?<=/)|^)[0-9]{{1,6}}(?=/[0-9]+ nodes | (?:{_WORD}))")


def scheduler_text(value: Any, names: Pseudonyms) -> Any:
    """A scheduler's text. The rule for messages of Events and conditions."""
    if not isinstance(value, str):
        return GONE
    if match := _BOUND.fullmatch(value):
        return f"Successfully assigned {names.name(match[1])}/{names.name(match[2])} to {names.node(match[3])}"
    if match := _PREEMPTED.fullmatch(value):
        return f"Preempted by pod {names.uid(match[1])} on node {names.node(match[2])}{match['rest']}"
    if match := _LEADER.fullmatch(value):
        return f"{names.name(match[1])} {match[2]}"
    return _parts(value, names)


def _parts(text: str, names: Pseudonyms) -> str:
    """The text piece by piece: what is known to be a resource or a taint, and the words in between."""
    parts: list[str] = []
    place = 0
    while place < len(text):
        nearest = [match for pattern in _NAMED if (match := pattern.search(text, place)) is not None]
        match = min(nearest, key=lambda one: one.start(), default=None)
        end = len(text) if match is None else match.start()
        parts.append(_translate_words(text[place:end], names))
        if match is None:
            break
        parts.append(_NAMED[match.re](match, names))
        place = match.end()
    return "".join(parts)


_NAMED: dict[re.Pattern[str], Callable[[re.Match[str], Pseudonyms], str]] = {
    _RESOURCE: lambda match, names: names.resource(match[0]),
    _TAINT: lambda match, names: f"{{{names.label_key(match[1])}: {names.label_value(match[1], match[2])}}}",
    _COUNT: lambda match, names: match[0],
}


def _translate_words(text: str, names: Pseudonyms) -> str:
    """Each word that no kube-scheduler of a supported minor writes is replaced; text in quotes is a name as a whole."""
    quoted = text.split('"')
    for number, part in enumerate(quoted):
        if number % 2:
            quoted[number] = names.name(part)
        else:
            quoted[number] = WORD.sub(lambda match: match[0] if match[0] in _KNOWN else names.name(match[0]), part)
    return '"'.join(quoted)


_PLAIN = re.compile(r"-?[0-9.:]+|true|false|([0-9.]+(h|m|s|ms))+")
_EXPANDERS = one_of("least-waste", "least-nodes", "most-pods", "price", "priority", "random", "grpc")
_LABELS = ("balancing-ignore-label", "balancing-label", "ignore-taint", "startup-taint", "status-taint")


def own_command(container: Mapping[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """The command of a container that runs the autoscaler; nothing for all others."""
    flags = [(name, _flag(name, text, names)) for name, text in flags_in(container) or () if name in KEPT_FLAGS]
    if flags_in(container) is None:
        return {}
    return {"command": [PROGRAM, *(f"--{name}={text}" for name, text in flags if text is not GONE)]}


def _flag(name: str, text: str, names: Pseudonyms) -> Any:
    """Numbers, durations and booleans stay. Auto-discovery patterns are removed."""
    if _PLAIN.fullmatch(text):
        return text
    if name == "nodes":
        least, _, rest = text.partition(":")
        most, _, group = rest.partition(":")
        return f"{least}:{most}:{_group(group, names)}" if least.isdigit() and most.isdigit() else GONE
    if name == "expander":
        return ",".join(_EXPANDERS(part, names) for part in text.split(","))
    return names.label_key(text) if name in _LABELS else GONE


def autoscaler_info(info: AutoscalerInfo | None, names: Pseudonyms) -> AutoscalerInfo | None:
    """The sizes of groups stay; patterns of their names would reveal the names."""
    if info is None or not info.groups:
        return None
    groups = [structs.replace(group, name=_group(group.name, names)) for group in info.groups]
    return AutoscalerInfo(groups=groups, groups_source=f"ConfigMap {STATUS}")


def _group(text: str, names: Pseudonyms) -> str:
    """Of a group of Cluster API the kind stays, and its parts are what the object is called."""
    kind, *parts = text.split("/")
    return "/".join([kind, *map(names.name, parts)]) if kind in GROUPS and len(parts) == 2 else names.name(text)
