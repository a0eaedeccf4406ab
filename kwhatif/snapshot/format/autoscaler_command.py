"""cluster-autoscaler's command line, where a Deployment has it: which container it is, and the flags that are read.

Upstream: cluster-autoscaler/config/flags/flags.go.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PROGRAM = "cluster-autoscaler"
_SHELLS = ("sh", "bash", "ash", "dash")

GROUP_FLAGS = ("nodes", "node-group-auto-discovery")
"""Which groups there are: told, or found in the cloud."""

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
"""
READ_FLAGS = frozenset((*GROUP_FLAGS, *_DECIDING.split()))
"""The flags that decide something here; all others a dump leaves out."""


def flags_in(container: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The flags of a container in their order, ``true`` for one without a value; None if it runs something else.

    A shell's command line is looked into; a container without a command is told by the image.
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


def shortened(container: Mapping[str, Any]) -> dict[str, list[str]]:
    """``command`` with the flags that are read, for a container that runs the autoscaler; nothing for all others."""
    flags = flags_in(container)
    if flags is None:
        return {}
    return {"command": [PROGRAM, *(f"--{name}={value}" for name, value in flags if name in READ_FLAGS)]}
