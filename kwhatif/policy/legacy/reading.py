"""Documents in old formats, decoded: a configuration with the structs of today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kwhatif.golang.strict_json import MismatchError, decode, object_key
from kwhatif.policy.intree import InTree
from kwhatif.policy.legacy.default_plugins import default_plugins_of_1_22
from kwhatif.policy.legacy.formats import POLICY, modernize, modernize_extenders
from kwhatif.policy.legacy.policies import RefusedPolicyError, as_configuration
from kwhatif.policy.legacy.structs import Policy
from kwhatif.policy.reading import RefusedError, read_body, refuse_unknown
from kwhatif.policy.structs import KubeSchedulerConfiguration, Plugin, Plugins, PluginSet

__all__ = ["LegacyReading", "read_legacy"]


@dataclass(frozen=True, slots=True)
class LegacyReading:
    """``defaults`` are the default plugins of the format. ``notes`` are sentences about what was read."""

    configuration: KubeSchedulerConfiguration
    defaults: Plugins
    all_filters: bool = False
    notes: tuple[str, ...] = ()


def read_legacy(document: Mapping[Any, Any], version: str, facts: InTree, *, tolerant: bool) -> LegacyReading:
    """A document in the old format ``version``; if ``tolerant``, names older than 1.22 are understood.

    Raises RefusedError.
    """
    defaults = default_plugins_of_1_22(beta2=False, volume_capacity=facts.features.volume_capacity_priority)
    try:
        if version == POLICY:
            return _read_policy(document, defaults, tolerant=tolerant)
        modern = modernize(document, version)
        configuration = read_body(modern.body, version, facts)
    except MismatchError as error:
        raise RefusedError(str(error)) from None
    except RefusedPolicyError as error:
        raise RefusedError(str(error), error.problems) from None
    if modern.autoscaler:
        defaults = replace(defaults, score=_packing(defaults.score))
    return LegacyReading(configuration, defaults, notes=modern.notes)


def _read_policy(document: Mapping[Any, Any], defaults: Plugins, *, tolerant: bool) -> LegacyReading:
    body = {object_key(key, ""): value for key, value in document.items()}
    body = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    if isinstance(body.get("extenders"), list):
        body["extenders"] = modernize_extenders(body["extenders"], "extenders")
    policy, unknown = decode(Policy, body)
    refuse_unknown(unknown)
    configuration, notes = as_configuration(policy, tolerant=tolerant)
    return LegacyReading(configuration, defaults, policy.always_check_all_predicates, notes)


def _packing(score: PluginSet) -> PluginSet:
    """The ClusterAutoscalerProvider's: full nodes rather than empty ones."""
    swapped = {"NodeResourcesLeastAllocated": "NodeResourcesMostAllocated"}
    return PluginSet(
        enabled=tuple(Plugin(name=swapped.get(p.name, p.name), weight=p.weight) for p in score.enabled),
        disabled=score.disabled,
    )
