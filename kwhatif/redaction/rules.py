"""Rules by field: a function from a value and the names to the redacted value or ``GONE``; and the rules of metadata,
labels, selectors, tolerations and node selectors.

A value without a rule, or of another type than its rule expects, is removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kwhatif.api import node_provisioning as machines
from kwhatif.api.kinds import API_GROUPS, GROUPS
from kwhatif.golang.parsing import Duration
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.well_known_names import OWNER_KINDS

Rule = Callable[[Any, Pseudonyms], Any]

GONE: Final = object()

_AMOUNT = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_SHARE = re.compile(r"[0-9]+%?")
_SCHEDULE = re.compile(
    r"(?:@(?:annually|yearly|monthly|weekly|daily|midnight|hourly)"
    r"|(?:[0-9*/,? LW#-]|\b(?:SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\b)+)",
    re.IGNORECASE,
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})")


def number(value: Any, names: Pseudonyms) -> Any:
    """A number says nothing about names."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else GONE


def flag(value: Any, names: Pseudonyms) -> Any:
    """So do yes and no."""
    return value if isinstance(value, bool) else GONE


def amount(value: Any, names: Pseudonyms) -> Any:
    """A quantity."""
    return value if _is(_AMOUNT, value) else number(value, names)


def share(value: Any, names: Pseudonyms) -> Any:
    """A number, or a percentage."""
    return value if _is(_SHARE, value) else number(value, names)


def time(value: Any, names: Pseudonyms) -> Any:
    """A point in time."""
    return value if _is(_TIME, value) else GONE


def duration(value: Any, names: Pseudonyms) -> Any:
    """A length of time, as Go spells it."""
    try:
        return str(Duration.parse(value))
    except (TypeError, ValueError):
        return GONE


def schedule(value: Any, names: Pseudonyms) -> Any:
    """When a cron job is due."""
    return value if _is(_SCHEDULE, value) else GONE


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def one_of(*defined: str) -> Rule:
    """A word that upstream defines; any other is replaced, so that it stays as unknown as before."""
    words = frozenset(defined)

    def rule(value: Any, names: Pseudonyms) -> Any:
        if not isinstance(value, str):
            return GONE
        return value if value in words or not value else names.name(value)

    return rule


def make_rule(method: Callable[[Pseudonyms, str], str]) -> Rule:
    """A text that ``Names`` has a method for."""

    def rule(value: Any, names: Pseudonyms) -> Any:
        return method(names, value) if isinstance(value, str) else GONE

    return rule


def each(rule: Rule) -> Rule:
    """A list of such values. What is no such value leaves no gap."""

    def apply(value: Any, names: Pseudonyms) -> Any:
        if not isinstance(value, list):
            return GONE
        return [redacted for item in value if (redacted := rule(item, names)) is not GONE]

    return apply


class fields:
    """An object with a rule for each of its fields."""

    def __init__(self, rules: Mapping[str, Rule] | None = None, /, **more: Rule) -> None:
        self.rules: dict[str, Rule] = {**(rules or {}), **more}

    def __call__(self, value: Any, names: Pseudonyms) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {}
        for key, item in value.items():
            rule = self.rules.get(key)
            if rule is None or item is None:
                continue
            redacted = rule(item, names)
            if redacted is not GONE:
                kept[key] = redacted
        return kept


def table(key: Callable[[Pseudonyms, str], str], rule: Rule) -> Rule:
    """A map whose keys are names."""

    def apply(value: Any, names: Pseudonyms) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {}
        for raw, item in value.items():
            redacted = rule(item, names)
            if isinstance(raw, str) and redacted is not GONE:
                kept[key(names, raw)] = redacted
        return kept

    return apply


NAME = make_rule(Pseudonyms.name)
NODE = make_rule(Pseudonyms.node)
UID = make_rule(Pseudonyms.uid)
LABEL_KEY = make_rule(Pseudonyms.label_key)
AMOUNTS = table(Pseudonyms.resource, amount)
EFFECTS = one_of("NoSchedule", "PreferNoSchedule", "NoExecute", "None")
NUMERIC = frozenset({"Gt", "Lt", "Gte", "Lte"})


def LABELS(value: Any, names: Pseudonyms) -> Any:
    """A map of labels."""
    if not isinstance(value, dict):
        return GONE
    return {names.label_key(key): names.label_value(key, text) for key, text in value.items() if isinstance(text, str)}


# --- selectors


def _requirement(*operators: str, values_of: Callable[[Pseudonyms, str, str], str] = Pseudonyms.label_value) -> Rule:
    operator_rule = one_of(*operators)

    def rule(value: Any, names: Pseudonyms) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("key"), str):
            return GONE
        key, operator, values = value["key"], value.get("operator"), value.get("values")
        if isinstance(operator, str) and operator in NUMERIC:
            names.compares(key)
        kept = {"key": key if values_of is _field_value and key == _NODE_NAME else names.label_key(key)}
        if (own_rule := operator_rule(operator, names)) is not GONE:
            kept["operator"] = own_rule
        if isinstance(values, list):
            kept["values"] = [values_of(names, key, text) for text in values if isinstance(text, str)]
        if isinstance(value.get("minValues"), int):
            kept["minValues"] = value["minValues"]
        return kept

    return rule


_NODE_NAME = "metadata.name"


def _field_value(names: Pseudonyms, field: str, text: str) -> str:
    return names.node(text) if field == _NODE_NAME else names.name(text)


LABEL_SELECTOR = fields(
    matchLabels=LABELS, matchExpressions=each(_requirement("In", "NotIn", "Exists", "DoesNotExist"))
)
NODE_SELECTOR_TERM = fields(
    matchExpressions=each(_requirement("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
    matchFields=each(_requirement("In", "NotIn", values_of=_field_value)),
)
POOL_REQUIREMENT = _requirement("In", "NotIn", "Exists", "DoesNotExist", *sorted(NUMERIC))
TOPOLOGY_REQUIREMENT = _requirement()


# --- taints and tolerations

_OPERATOR = one_of("Equal", "Exists", "Lt", "Gt")
_EFFECT_AND_TIME = fields(effect=EFFECTS, tolerationSeconds=number, timeAdded=time, operator=_OPERATOR)


def TAINT(value: Any, names: Pseudonyms) -> Any:
    """A taint or a toleration."""
    if not isinstance(value, dict):
        return GONE
    key, text = value.get("key"), value.get("value")
    kept = _EFFECT_AND_TIME(value, names)
    if isinstance(key, str):
        kept["key"] = names.label_key(key)
        if value.get("operator") in NUMERIC:
            names.compares(key)
    if isinstance(text, str):
        kept["value"] = names.label_value(key if isinstance(key, str) else "", text)
    return kept


TOLERATIONS = each(TAINT)


# --- annotations


def _tolerations_text(value: Any, names: Pseudonyms) -> Any:
    try:
        tolerations = TOLERATIONS(json.loads(value), names)
    except (TypeError, ValueError):
        return GONE
    return GONE if tolerations is GONE else json.dumps(tolerations)


def _selector_text(value: Any, names: Pseudonyms) -> Any:
    if not isinstance(value, str):
        return GONE
    pairs = (part.strip().partition("=") for part in value.split(","))
    return ",".join(f"{names.label_key(key)}{equals}{names.label_value(key, text)}" for key, equals, text in pairs)


def _drivers_text(value: Any, names: Pseudonyms) -> Any:
    return ",".join(map(names.driver, value.split(","))) if isinstance(value, str) else GONE


def _presence(value: Any, names: Pseudonyms) -> Any:
    """Only its presence counts."""
    return "true"


def _do_not_disrupt(value: Any, names: Pseudonyms) -> Any:
    """Yes, or for how long."""
    return value if value == "true" else duration(value, names)


def _taints_text(value: Any, names: Pseudonyms) -> Any:
    """``key=value:Effect,...``, as annotations of Cluster API have them."""
    if not isinstance(value, str):
        return GONE
    texts = []
    for part in value.split(","):
        label, _, effect = part.rpartition(":")
        key, equals, text = label.partition("=")
        texts.append(f"{names.label_key(key)}{equals}{names.label_value(key, text)}:{EFFECTS(effect, names)}")
    return ",".join(texts)


def _option(value: Any, names: Pseudonyms) -> Any:
    """A share such as 0.5, or a length of time."""
    return value if isinstance(value, str) and _FRACTION.fullmatch(value) else duration(value, names)


def _whole_number(value: Any, names: Pseudonyms) -> Any:
    return value if isinstance(value, str) and _WHOLE.fullmatch(value) else GONE


_FRACTION = re.compile(r"[01](\.[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]+")
_YES_OR_NO = one_of("true", "false", "yes", "no")

ANNOTATIONS = fields(
    {
        **dict.fromkeys((machines.CPU, machines.MEMORY, machines.DISK, machines.OLD_CPU), amount),
        **dict.fromkeys((*machines.SIZES, machines.GPUS, machines.MAX_PODS, machines.OLD_MEMORY), share),
        **dict.fromkeys((machines.OLD_GPUS, machines.OLD_MAX_PODS), share),
        **dict.fromkeys(machines.OPTIONS, _option),
        machines.GPU_TYPE: make_rule(Pseudonyms.resource),
        machines.LABELS: _selector_text,
        machines.TAINTS: _taints_text,
        "autoscaling.keda.sh/paused": one_of("true", "false"),
        "autoscaling.keda.sh/paused-replicas": share,
        "controller.kubernetes.io/pod-deletion-cost": share,
        "deployment.kubernetes.io/desired-replicas": share,
        "deployment.kubernetes.io/max-replicas": share,
        "deployment.kubernetes.io/revision": share,
        "deprecated.daemonset.template.generation": share,
        "karpenter.sh/do-not-disrupt": _do_not_disrupt,
        "kubernetes.io/config.mirror": NAME,
        "kubernetes.io/config.source": one_of("api", "file", "http"),
        "descheduler.alpha.kubernetes.io/evict": _presence,
        "descheduler.alpha.kubernetes.io/prefer-no-eviction": _presence,
        "kueue.x-k8s.io/admission-gated-by": NAME,
        "kueue.x-k8s.io/job-min-parallelism": share,
        **dict.fromkeys((f"kueue.x-k8s.io/podset-{how}-topology" for how in ("required", "preferred")), LABEL_KEY),
        "kueue.x-k8s.io/podset-group-name": NAME,
        "kueue.x-k8s.io/podset-slice-required-topology": LABEL_KEY,
        "kueue.x-k8s.io/podset-slice-size": share,
        "kueue.x-k8s.io/podset-unconstrained-topology": _YES_OR_NO,
        "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": _whole_number,
        "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": _whole_number,
        "pv.kubernetes.io/bind-completed": _YES_OR_NO,
        "pv.kubernetes.io/bound-by-controller": _YES_OR_NO,
        "pv.kubernetes.io/provisioned-by": make_rule(Pseudonyms.driver),
        "resource.kubernetes.io/extended-resource-claim": _YES_OR_NO,
        "resource.kubernetes.io/pod-claim-name": NAME,
        "scheduler.alpha.kubernetes.io/defaultTolerations": _tolerations_text,
        "scheduler.alpha.kubernetes.io/node-selector": _selector_text,
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": _tolerations_text,
        "storage.alpha.kubernetes.io/migrated-plugins": _drivers_text,
        "storageclass.beta.kubernetes.io/is-default-class": _YES_OR_NO,
        "storageclass.kubernetes.io/is-default-class": _YES_OR_NO,
        "volume.beta.kubernetes.io/storage-class": NAME,
        "volume.kubernetes.io/selected-node": NODE,
    }
)


# --- objects

KIND = one_of(*OWNER_KINDS, *GROUPS, "KubeSchedulerConfiguration")
_GROUPS = frozenset({*API_GROUPS, "kubescheduler.config.k8s.io"})
_VERSION = re.compile("v[0-9]+(?:(?:alpha|beta)[0-9]+)?")


def API_VERSION(value: Any, names: Pseudonyms) -> Any:
    """A group and a version; groups of others are made up names."""
    if not isinstance(value, str):
        return GONE
    group, _, version = value.rpartition("/")
    return value if group in _GROUPS and _VERSION.fullmatch(version) else names.qualified_name(value)


def _owner(value: Any, names: Pseudonyms) -> Any:
    kept = _OWNER(value, names)
    if kept is not GONE and value.get("kind") == "Node" and isinstance(value.get("name"), str):
        kept["name"] = names.node(value["name"])
    return kept


_OWNER = fields(apiVersion=API_VERSION, kind=KIND, name=NAME, uid=UID, controller=flag)


def digits(value: Any, names: Pseudonyms) -> Any:
    """A number in digits, such as the version of an object, by which pods wait."""
    return value if isinstance(value, str) and value.isdecimal() else GONE


METADATA = fields(
    name=NAME,
    generateName=NAME,
    namespace=NAME,
    uid=UID,
    resourceVersion=digits,
    labels=LABELS,
    annotations=ANNOTATIONS,
    creationTimestamp=time,
    deletionTimestamp=time,
    deletionGracePeriodSeconds=number,
    generation=number,
    ownerReferences=each(_owner),
)

CONDITION = fields(
    type=one_of(
        *("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"),
        *("PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers", "DisruptionTarget"),
        *("PodResizePending", "PodResizeInProgress", "Available", "Progressing", "ReplicaFailure"),
        *("Complete", "Failed", "Suspended", "SuccessCriteriaMet", "FailureTarget", "PodGroupScheduled"),
        *("Resizing", "FileSystemResizePending"),
        *("Launched", "Registered", "Consolidatable", "Drifted", "InstanceTerminating"),
    ),
    status=one_of("True", "False", "Unknown"),
    observedGeneration=number,
    reason=one_of(
        *("PreemptionByScheduler", "Infeasible", "Deferred", "Unschedulable", "SchedulingGated"),
        *("Scheduled", "SchedulerError"),
    ),
    lastTransitionTime=time,
)


def object_of(more: dict[str, Rule]) -> fields:
    """An object of a kind."""
    return fields({"apiVersion": API_VERSION, "kind": KIND, "metadata": METADATA, **more})
