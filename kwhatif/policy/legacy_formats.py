"""Formats that kube-scheduler no longer reads since 1.22, and the lazy import of the room that still does.

``kwhatif.legacy`` holds everything that only 1.22 has: Policies and configurations before v1beta2, their translation,
and the plugins and default plugins that went with them. Nothing imports it but ``legacy()``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from kwhatif.framework.declaration import Declaration
from kwhatif.policy.profile import SchedulerConfiguration
from kwhatif.policy.structs import KubeSchedulerConfiguration, Plugins
from kwhatif.versions import Features

GROUP = "kubescheduler.config.k8s.io"
POLICY = "Policy"
REMOVED_OLDER = {POLICY: "1.23", "v1alpha1": "1.19", "v1alpha2": "1.19", "v1beta1": "1.23"}
"""Old formats, and the minor that stopped reading them."""


def legacy_format(document: object) -> str:
    """``Policy``, ``v1alpha1``, ``v1alpha2`` or ``v1beta1``; empty for every other document."""
    if not isinstance(document, Mapping):
        return ""
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind == POLICY and version in ("v1", f"{GROUP}/v1"):
        return POLICY
    if kind == "KubeSchedulerConfiguration" and isinstance(version, str):
        group, _, name = version.partition("/")
        if group == GROUP and name in REMOVED_OLDER:
            return name
    return ""


class LegacyDocument(msgspec.Struct, frozen=True):
    """``defaults`` are the default plugins of the format. ``notes`` are sentences about what was read."""

    configuration: KubeSchedulerConfiguration
    defaults: Plugins
    all_filters: bool = False
    notes: tuple[str, ...] = ()


class Conversion(msgspec.Struct, frozen=True):
    """A KubeSchedulerConfiguration v1, and what it does not mean as the original did, a sentence each.

    ``lost`` are those of the changes that nothing makes up for.
    """

    document: dict[str, Any]
    changes: tuple[str, ...]
    lost: tuple[str, ...] = ()


class Legacy(msgspec.Struct, frozen=True):
    """What the legacy room can do.

    ``read`` takes a document, its ``legacy_format``, the rules, and whether names older than 1.22 are understood; it
    raises RefusedError. ``points`` are the extension points of plugins that had others in 1.22, or that only 1.22 has.
    ``default_plugins`` are those of v1beta2 under some rules. ``translated`` says a configuration
    of 1.22 in the words of a later minor. ``plugins`` are those that later minors have no more, by name.
    """

    read: Callable[[Mapping[Any, Any], str, Features, bool], LegacyDocument]
    points: Mapping[str, tuple[str, ...]]
    default_plugins: Callable[[Features], Plugins]
    translate_configuration: Callable[[SchedulerConfiguration, Features], Conversion]
    plugins: Callable[[], Mapping[str, type[Declaration]]]


def legacy() -> Legacy:
    """The legacy room, imported when it is first asked for."""
    room: Legacy = import_module("kwhatif.legacy").ROOM
    return room
