"""cluster-autoscaler's ConfigMaps (status, priority expander), and its command line in a Deployment.

The status is text up to 1.29, one line a fact, and YAML since. Of both only sizes and back-off are kept. Upstream:
cluster-autoscaler/clusterstate/api/types.go, clusterstate/utils/status.go, expander/priority/priority.go and
config/flags/flags.go.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from kwhatif.api.decode import convert
from kwhatif.api.document_numbers import Count
from kwhatif.errors import InputError
from kwhatif.snapshot.read.yaml_reader import read_yaml

STATUS, PRIORITIES = "cluster-autoscaler-status", "cluster-autoscaler-priority-expander"
CONFIG_MAPS = (STATUS, PRIORITIES)
"""The names of the two."""

_SIZES = re.compile(r"cloudProviderTarget=(\d{1,6}) \(minSize=(\d{1,6}), maxSize=(\d{1,6})\)", re.ASCII)


class GroupStatus(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A node group as the autoscaler sees it; ``backoff``: a scale-up failed, and none is tried for some time."""

    name: str
    min: Count = 0
    max: Count = 0
    target: Count = 0
    backoff: bool = False


class AutoscalerInfo(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A cluster's autoscaler, and the ConfigMaps it was read from. ``priorities`` are those of its expander."""

    groups: list[GroupStatus] | None = None
    groups_source: str | None = None
    priorities: dict[str, list[str]] | None = None
    priorities_source: str | None = None
    unreadable: list[str] | None = None
    """What the ConfigMaps have that cannot be read, in words."""


class _Sizes(msgspec.Struct, rename="camel"):
    min_size: Count = 0
    max_size: Count = 0
    cloud_provider_target: Count = 0


class _ScaleUp(msgspec.Struct):
    status: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str = ""
    health: _Sizes = msgspec.field(default_factory=_Sizes)
    scale_up: _ScaleUp = msgspec.field(default_factory=_ScaleUp)


class _Status(msgspec.Struct, rename="camel"):
    node_groups: list[_Group]


class ConfigMap(msgspec.Struct):
    """The fields of a ConfigMap that are read."""

    class Metadata(msgspec.Struct):
        name: str = ""
        namespace: str | None = None

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    data: dict[str, str] | None = None


def with_config_map(info: AutoscalerInfo | None, config_map: ConfigMap) -> AutoscalerInfo | None:
    """The info with one more ConfigMap. One of another name, or that is invalid, changes nothing."""
    info, data = info or AutoscalerInfo(), config_map.data or {}
    source = f"ConfigMap {config_map.metadata.namespace or 'default'}/{config_map.metadata.name}"
    problems: list[str] = []
    if config_map.metadata.name == STATUS:
        text = data.get("status", "")
        groups = status_of(text)
        if groups:
            info = structs.replace(info, groups=groups, groups_source=source)
        elif not text.strip():
            problems.append(f"{source} has no text: what the autoscaler says of its groups is unknown")
    if config_map.metadata.name == PRIORITIES:
        priorities, problems = _priorities(data.get("priorities", ""), source)
        if priorities:
            info = structs.replace(info, priorities=priorities, priorities_source=source)
    if problems:
        info = structs.replace(info, unreadable=[*(info.unreadable or ()), *problems])
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
            name=group.name,
            min=group.health.min_size,
            max=group.health.max_size,
            target=group.health.cloud_provider_target,
            backoff=group.scale_up.status == "Backoff",
        )
        for group in groups
        if group.name
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


def _priorities(text: str, source: str) -> tuple[dict[str, list[str]], list[str]]:
    """The patterns by priority, and errors in words.

    As upstream reads them: a priority without patterns has none, and a pattern that is null is empty and matches any.
    """
    try:
        (document,) = read_yaml(text.encode(), PRIORITIES)
        priorities = document.value
        if not isinstance(priorities, Mapping):
            return {}, [f"{source} has no priorities: expected patterns by priority"]
        plain = convert(
            {str(priority): patterns for priority, patterns in priorities.items()}, dict[str, list[str | None] | None]
        )
    except (InputError, ValueError) as error:
        return {}, [f"the priorities of {source} cannot be read: {error}"]
    problems = [
        f"priority {pattern} of {source} has no patterns" for pattern, patterns in plain.items() if patterns is None
    ]
    problems += [
        f"priority {pattern} of {source} has a pattern that is null, which fits every group"
        for pattern, patterns in plain.items()
        if patterns and None in patterns
    ]
    return {priority: [pattern or "" for pattern in patterns or ()] for priority, patterns in plain.items()}, problems


PROGRAM = "cluster-autoscaler"
_SHELLS = ("sh", "bash", "ash", "dash")

GROUP_FLAGS = ("nodes", "node-group-auto-discovery", "cloud-provider")
"""Which groups there are: listed by flags, in the form of a cloud provider, or discovered in the cloud."""

_DECIDING = """
    balance-similar-node-groups balancing-ignore-label balancing-label blocking-system-pod-distruption-timeout
    cores-total enforce-node-group-min-size expander expendable-pods-priority-cutoff fastpath-binpacking-enabled
    force-ds ignore-daemonsets-utilization ignore-mirror-pods-utilization ignore-taint
    initial-node-group-backoff-duration max-allocatable-difference-ratio max-drain-parallelism
    max-free-difference-ratio max-node-provision-time max-node-startup-time max-nodes-per-scaleup max-nodes-total
    max-scale-down-parallelism max-total-unready-percentage memory-difference-ratio memory-total min-replica-count
    new-pod-scale-up-delay ok-total-unready-count scale-down-enabled scale-down-gpu-utilization-threshold
    scale-down-unneeded-time scale-down-unready-enabled scale-down-unready-time
    scale-down-utilization-threshold scale-from-unschedulable scale-up-from-zero
    scaleup-simulation-for-skipped-node-groups-enabled skip-nodes-with-custom-controller-pods
    skip-nodes-with-local-storage skip-nodes-with-system-pods startup-taint startup-taint-prefix status-taint
    unremovable-node-recheck-timeout zero-or-max-node-scaling
    allowed-scheduler-names bypassed-scheduler-names scale-down-delay-after-add
    scale-down-delay-after-delete
"""
READ_FLAGS = frozenset((*GROUP_FLAGS, *_DECIDING.split()))
"""The flags that decide something here."""

_NOT_MODELLED = """
    async-node-groups capacity-buffer-controller-enabled capacity-buffer-pod-injection-enabled capacity-quotas-enabled
    check-capacity-batch-processing check-capacity-processor-instance daemonset-eviction-for-empty-nodes
    daemonset-eviction-for-occupied-nodes drain-priority-config enable-csi-node-aware-scheduling
    enable-dynamic-resource-allocation enable-proactive-scaleup enable-provisioning-requests
    force-delete-failed-nodes force-delete-unregistered-nodes gpu-total grpc-expander-url max-binpacking-time
    max-node-group-backoff-duration max-nodegroup-binpacking-duration node-deletion-candidate-ttl
    node-group-backoff-reset-timeout node-info-cache-expire-time parallel-scale-up pod-injection-limit
    salvo-scale-up salvo-scale-up-budget scale-down-delay-after-failure scale-down-delay-type-local
    scale-down-simulation-timeout scheduler-config-file
"""
NOT_MODELLED = frozenset(_NOT_MODELLED.split())
"""Flags that decide something, which is not modelled here."""

_IDLE = """
    address add-dir-header alsologtostderr aws-use-static-instance-list bulk-mig-instances-listing-enabled
    capacity-buffer-pod-dry-run-enabled check-capacity-provisioning-request-batch-timebox
    check-capacity-provisioning-request-max-batch-size cloud-config cluster-name
    cluster-snapshot-parallelism clusterapi-cloud-config-authoritative cordon-node-before-terminating
    debugging-snapshot-enabled dynamic-node-delete-delay-after-taint-enabled emit-per-nodegroup-metrics estimator
    feature-gates frequent-loops-enabled gce-concurrent-refreshes gce-mig-instances-min-refresh-wait-time
    grpc-expander-cert kube-api-content-type kube-client-burst kube-client-qps kubeconfig kubernetes leader-elect
    leader-elect-lease-duration leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
    leader-elect-resource-namespace leader-elect-retry-period log-backtrace-at log-dir log-file log-file-max-size
    logging-format logtostderr max-bulk-soft-taint-count max-bulk-soft-taint-time max-failing-time
    max-graceful-termination-sec max-inactivity max-node-skip-eval-time-tracker-enabled max-pod-eviction-time
    max-startup-time namespace node-delete-delay-after-taint node-deletion-batcher-interval
    node-deletion-delay-timeout node-removal-latency-tracking-enabled one-output predicate-parallelism profiling
    provisioning-request-initial-backoff-time provisioning-request-max-backoff-cache-size
    provisioning-request-max-backoff-time record-duplicated-events regional scale-down-candidates-pool-min-count
    scale-down-candidates-pool-ratio scale-down-non-empty-candidates-count scan-interval skip-headers
    skip-log-headers status-config-map-name stderrthreshold user-agent v vmodule write-status-configmap
"""
IDLE = frozenset(_IDLE.split())
"""Flags that decide nothing about which nodes come and go: addresses, logs, how long the real thing may take, and the
candidates of a scale-down, which 1.36 does not read.
"""

FORMER = {"max-empty-bulk-delete": "max-scale-down-parallelism"}
"""Former names of flags; if both are set, the new one counts."""

KEPT_FLAGS = READ_FLAGS | NOT_MODELLED | FORMER.keys()
"""The flags that a dump keeps."""


def flags_in(container: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The flags of a container in their order, ``true`` for one without a value; None if it runs another program.

    A shell's command line is parsed; a container without a command is recognised by its image.
    """
    command, words = _texts(container.get("command")), _texts(container.get("args"))
    if command and _base(command[0]) in _SHELLS:
        command, words = _of_shell([*command, *words]), []
    image = str(container.get("image") or "").partition("@")[0].rpartition("/")[2].partition(":")[0]
    if command and _base(command[0]) != PROGRAM:
        return None
    if not command and not image.startswith(PROGRAM):
        return None
    return list(_flags([*command[1:], *words]))


def _texts(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else []


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _of_shell(words: Sequence[str]) -> list[str]:
    """The words from the program on in ``sh -c "exec ./cluster-autoscaler ..."``."""
    for text in words[1:]:
        try:
            parts = shlex.split(text, comments=True)
        except ValueError:
            continue
        for place, part in enumerate(parts):
            if _base(part) == PROGRAM:
                return parts[place:]
    return list(words)


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """``--name=value``, ``--name value``, and ``--name`` alone, which only flags that are true or false may be."""
    for word, following in zip(words, [*words[1:], "-"], strict=False):
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            yield name, value if equals else "true" if following.startswith("-") else following


def shorten_command(container: Mapping[str, Any]) -> dict[str, list[str]]:
    """``command`` with only the flags that decide something, if the container runs the autoscaler; else empty."""
    flags = flags_in(container)
    if flags is None:
        return {}
    return {"command": [PROGRAM, *(f"--{name}={value}" for name, value in flags if name in KEPT_FLAGS)]}
