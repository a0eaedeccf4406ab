"""Sets up the scheduler of a question: the rules of a Kubernetes, a configuration, outside plugins and extenders."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kwhatif.api.core import Node
from kwhatif.errors import UsageError
from kwhatif.policy.configuration_file import default_configuration, load_configuration
from kwhatif.policy.legacy_formats import legacy_format
from kwhatif.results.base import VERSION_IS_GUESSED
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.inputs import Notes, SchedulerOptions
from kwhatif.simulation.policy_file import read_policy
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import DEFAULT_MINOR, Features, features_of, minor_of, nearest_minor, parse_gates, unread_gates
from kwhatif.versions.gates import stage_of
from kwhatif.versions.minors import LEGACY_MINOR, sort_minors

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

    def find() -> dict[str, str]:
        names: dict[str, str] = {}
        for node in snapshot.objects.list_all(Node):
            version = node.status.node_info.kubelet_version if node.status.node_info is not None else None
            with contextlib.suppress(UsageError):
                if version:
                    names.setdefault(minor_of(version), version)
        return {minor: names[minor] for minor in reversed(sort_minors(names))}

    return snapshot.objects.share(minors_of_kubelets, (Node.__name__,), find)


def minor_in_name(file: str) -> str:
    """The minor at the start of a recording's name, as in ``1.34-volumes.jsonl.gz``; empty if there is none."""
    match = re.match(r"(\d+\.\d+)-", PurePath(file).name)
    return match[1] if match and nearest_minor(match[1], legacy=True) == match[1] else ""


DEFAULT_POLICY = "default"
"""What ``--policy`` calls kube-scheduler's defaults."""


def setup_of(engine: SchedulerOptions, snapshot: Snapshot, notes: Notes) -> Setup:
    """The scheduler's setup, and the extenders that are to be called.

    Unless ``engine`` says otherwise, the rules are those of the Kubernetes that the snapshot was taken from (guessed by
    its kubelets where it is not recorded), and the configuration is that of its scheduler, if the snapshot has it. A
    Policy, and a configuration older than v1beta2, brings the rules of the last Kubernetes that read it.
    """
    cluster_says, guessed_from = snapshot.kubernetes_version, None
    gates = snapshot.scheduler.feature_gates if snapshot.scheduler else None
    chosen = _policy(engine, snapshot, notes)
    legacy = chosen is not None and bool(legacy_format(chosen[0]))
    if legacy:
        cluster_says, gates = LEGACY_MINOR, None
        if not engine.kubernetes_version:
            notes.note(
                f"the rules are those of Kubernetes {LEGACY_MINOR}, the last that read such a policy; "
                "--kubernetes-version translates it"
            )
    elif not cluster_says and not engine.kubernetes_version:
        cluster_says = minor_by_kubelets(snapshot, notes)
        guessed_from = minors_of_kubelets(snapshot).get(cluster_says or "")
    features = choose_minor(
        engine.kubernetes_version, engine.feature_gates, notes, otherwise=cluster_says, recorded=gates, legacy=legacy
    )
    if chosen is None:
        configuration = default_configuration(features)
    else:
        document, source = chosen
        configuration = load_configuration(document, source=source, features=features)
    for text in configuration.warnings:
        notes.warn(text)
    outside = {}
    if chosen is not None or engine.plugins:
        # No default configuration enables a plugin from outside, so only then may there be one to look for.
        from kwhatif.framework.outside import load_outside

        outside = load_outside(engine.plugins or ())
    extenders = None
    if engine.call_extender_bind and not engine.call_extenders:
        raise UsageError("--call-extender-bind needs --call-extenders: without it no extender is called")
    if engine.call_extenders and not configuration.extenders:
        notes.warn("the configuration has no extenders: --call-extenders changes nothing")
    elif engine.call_extenders:
        from kwhatif.scheduling.extenders.extender_cycle import Extenders

        extenders = Extenders(configuration.extenders, bind=engine.call_extender_bind)
    return Setup(
        configuration,
        features,
        outside,
        skip_unknown=engine.skip_unknown_plugins,
        all_nodes=engine.all_nodes,
        extenders=extenders,
        guessed_from=guessed_from,
    )


def minor_by_kubelets(snapshot: Snapshot, notes: Notes) -> str | None:
    """The newest minor among the kubelets, none of which may be newer than the API server. Notes that it is a guess."""
    minors = minors_of_kubelets(snapshot)
    if not minors:
        return None
    newest, *older = minors
    beside = f", the newest of {', '.join(reversed(minors))}" if older else ""
    notes.warn(
        f"{VERSION_IS_GUESSED}: taken to be {newest}, as its nodes' kubelets are ({minors[newest]}{beside}); "
        "--kubernetes-version says otherwise"
    )
    near = nearest_minor(newest)
    if near != newest:
        notes.warn(f"Kubernetes {newest} is not supported; using the rules of {near}, the nearest supported version")
    return newest


def _policy(engine: SchedulerOptions, snapshot: Snapshot, notes: Notes) -> tuple[Any, str] | None:
    """The configuration to read and what to call it; None for kube-scheduler's defaults."""
    policy, own = engine.policy, snapshot.scheduler
    if policy is None and own is not None and own.configuration is not None:
        source = own.source or snapshot.source
        notes.note(f"policy: the cluster's own, from {source}; --policy {DEFAULT_POLICY} is kube-scheduler's default")
        return own.configuration, source
    if policy is None or policy == DEFAULT_POLICY:
        return None
    if not isinstance(policy, str):
        return policy, "policy"
    document, file, warnings = read_policy(policy)
    for text in warnings:
        notes.warn(text)
    return document, file
