"""The rules of a question: ``--kubernetes-version`` and ``--feature-gates``, and the version in a file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from kwhatif.api.core import Node
from kwhatif.errors import UsageError
from kwhatif.versions import DEFAULT_MINOR, Features, features_of, minor_of, nearest_minor, parse_gates, unread_gates
from kwhatif.versions.gates import stage_of
from kwhatif.versions.minors import sort_minors

if TYPE_CHECKING:
    from kwhatif.simulation.inputs import Notes
    from kwhatif.snapshot.format.model import Snapshot


def choose_minor(
    version: str | None,
    gates: Sequence[str] | None,
    notes: Notes,
    *,
    otherwise: str | None = None,
    recorded: Mapping[str, bool] | None = None,
    legacy: bool = False,
) -> Features:
    """The rules of ``version``, else of the version ``otherwise``, else of the newest minor; with ``gates`` set.

    A version that is not supported gives way to the nearest. ``recorded`` gates are known to be set in the cluster;
    ``gates`` go before them. The minor of legacy policies is among those supported if ``legacy``: where there is such a
    policy, or where decisions of that minor are replayed. Raises UsageError.
    """
    if version:
        asked = minor_of(version)
        minor = nearest_minor(asked, legacy=legacy)
        if minor != asked:
            notes.warn(
                f"Kubernetes {asked} is not supported; using the rules of {minor}, the nearest supported version"
            )
    else:
        minor = _of_file(otherwise or "", legacy=legacy)
    given = parse_gates(gates or ())
    for name in unread_gates(given):
        notes.note(f"feature gate {name}: no rule here depends on it, so it has no effect")
    return features_of(minor, {**dict(_possible(recorded or {}, minor, notes)), **given})


def _of_file(version: str, *, legacy: bool) -> str:
    """An unreadable version in a file is no error: the fidelity report has the version that was used."""
    try:
        return nearest_minor(minor_of(version), legacy=legacy) if version else DEFAULT_MINOR
    except UsageError:
        return DEFAULT_MINOR


def _possible(recorded: Mapping[str, bool], minor: str, notes: Notes) -> Iterator[tuple[str, bool]]:
    """Gates of the cluster that can be set so in a minor, which may be another than the cluster's."""
    for name, value in recorded.items():
        stage = stage_of(name, minor)
        if stage is None or stage.ripeness == "gone" or (stage.locked and stage.on != value):
            word = "true" if value else "false"
            notes.note(
                f"feature gate {name}={word} of the cluster cannot be set in Kubernetes {minor}, so it is ignored"
            )
        else:
            yield name, value


def minors_of_kubelets(snapshot: Snapshot) -> dict[str, str]:
    """The minors of the nodes' kubelets, the newest first, each with the first version found of it."""
    found: dict[str, str] = {}
    for node in snapshot.objects.list_all(Node):
        version = node.status.node_info.kubelet_version if node.status.node_info is not None else None
        with contextlib.suppress(UsageError):
            if version:
                found.setdefault(minor_of(version), version)
    return {minor: found[minor] for minor in reversed(sort_minors(found))}


def minor_in_name(file: str) -> str:
    """The minor at the start of a recording's name, as in ``1.34-volumes.jsonl.gz``; empty if there is none."""
    found = re.match(r"(\d+\.\d+)-", PurePath(file).name)
    return found[1] if found and nearest_minor(found[1], legacy=True) == found[1] else ""
