"""Configuration formats that 1.22 still read, or that were gone by then, converted to the structs of today; and the
plugins of 1.22: their extension points where these differ, and the default plugins.

Upstream: kube-scheduler/config/v1alpha1 and v1alpha2 of 1.18 with their conversions in pkg/scheduler/apis/config,
v1beta1 of 1.22, the algorithm providers of 1.18 (pkg/scheduler/algorithmprovider), LegacyExtender of v1, and
pkg/scheduler/apis/config/v1beta1/default_plugins.go and v1beta2/default_plugins.go of 1.22.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.golang.formatting import go_quote
from kwhatif.golang.parsing import Duration
from kwhatif.golang.strict_json import MismatchError, decode, object_key
from kwhatif.legacy.policies import RefusedPolicyError, as_configuration
from kwhatif.legacy.policy_structs import Policy
from kwhatif.policy.decoding import RefusedError, read_body, refuse_unknown
from kwhatif.policy.in_tree import in_tree
from kwhatif.policy.legacy_formats import POLICY, LegacyDocument
from kwhatif.policy.structs import Plugin, Plugins, PluginSet
from kwhatif.versions import Features

POINTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), ("filter",)),
    "DefaultPreemption": ("postFilter",),
    "NodeResourcesBalancedAllocation": ("score",),
    "NodeResourcesFit": ("preFilter", "filter", "score"),
    "NodeVolumeLimits": ("filter",),
    "VolumeBinding": ("preFilter", "filter", "score", "reserve", "preBind"),
    "VolumeZone": ("filter",),
}
"""The extension points of plugins that have others in later minors."""

_DEFAULTS: dict[str, tuple[str, ...]] = {
    "queue_sort": ("PrioritySort",),
    "pre_filter": (
        *("NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity"),
        *("VolumeBinding", "NodeAffinity"),
    ),
    "filter": (
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
        *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
    ),
    "post_filter": ("DefaultPreemption",),
    "pre_score": ("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
    "reserve": ("VolumeBinding",),
    "pre_bind": ("VolumeBinding",),
    "bind": ("DefaultBinder",),
}
_SCORES = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeResourcesFit": 1,
    "NodeAffinity": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}
_RENAMED = {"NodeResourcesFit": "NodeResourcesLeastAllocated"}
"""Who scored by resources before v1beta2."""


def default_plugins(features: Features, *, beta2: bool = True) -> Plugins:
    """Those of v1beta2, or of v1beta1 and what came before it."""
    scores = dict(_SCORES)
    if not beta2:
        scores = {_RENAMED.get(name, name): weight for name, weight in scores.items()} | {"NodePreferAvoidPods": 10000}
    if features.volume_capacity_priority:
        scores["VolumeBinding"] = 1
    sets = {point: PluginSet(enabled=tuple(Plugin(name=name) for name in names)) for point, names in _DEFAULTS.items()}
    scored = tuple(Plugin(name=name, weight=weight) for name, weight in scores.items())
    return Plugins(**sets, score=PluginSet(enabled=scored))


_DEFAULT_PROVIDER = "DefaultProvider"
_AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

Json = dict[str, Any]


def read_legacy(document: Mapping[Any, Any], version: str, features: Features, tolerant: bool) -> LegacyDocument:
    """A document in the old format ``version``; if ``tolerant``, names older than 1.22 are understood.

    Raises RefusedError.
    """
    defaults = default_plugins(features, beta2=False)
    body = {object_key(key, ""): value for key, value in document.items()}
    body = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    try:
        if version == POLICY:
            return _read_policy(body, defaults, tolerant=tolerant)
        ignored = [name for name in ("healthzBindAddress", "metricsBindAddress") if body.pop(name, None) is not None]
        if version == "v1alpha1" and _is_autoscaler(body.pop("algorithmSource", None)):
            defaults = replace(defaults, score=_packing(defaults.score))
        _modernize(body, version)
        configuration = read_body(body, version, in_tree(features))
    except MismatchError as error:
        raise RefusedError(str(error)) from None
    except RefusedPolicyError as error:
        raise RefusedError(str(error), error.problems) from None
    notes = tuple(f"{name} is ignored: it does not bear on scheduling" for name in ignored)
    return LegacyDocument(configuration, defaults, notes=notes)


def _read_policy(body: Json, defaults: Plugins, *, tolerant: bool) -> LegacyDocument:
    if isinstance(body.get("extenders"), list):
        body["extenders"] = _modernize_extenders(body["extenders"], "extenders")
    policy, unknown = decode(Policy, body)
    refuse_unknown(unknown)
    configuration, notes = as_configuration(policy, tolerant=tolerant)
    return LegacyDocument(configuration, defaults, policy.always_check_all_predicates, notes)


def _packing(score: PluginSet) -> PluginSet:
    """The ClusterAutoscalerProvider's: full nodes rather than empty ones."""
    swapped = {"NodeResourcesLeastAllocated": "NodeResourcesMostAllocated"}
    return PluginSet(
        enabled=tuple(Plugin(name=swapped.get(p.name, p.name), weight=p.weight) for p in score.enabled),
        disabled=score.disabled,
    )


def _modernize(body: Json, version: str) -> None:
    """Give a v1alpha1, v1alpha2 or v1beta1 configuration the fields of v1. Raises MismatchError.

    Fields that the format does not have stay as they are, for the reader to complain of.
    """
    if version == "v1alpha1":
        body["profiles"] = [_profile_of_v1alpha1(body)]
        _leader_election(body)
    if version in ("v1alpha1", "v1alpha2"):
        _fields_of_profiles(body)
        if isinstance(body.get("extenders"), list):
            body["extenders"] = _modernize_extenders(body["extenders"], "extenders")


def _profile_of_v1alpha1(body: Json) -> Json:
    """What was at the top when there was one profile. What it called postFilter ran before Score."""
    profile: Json = {}
    for name in ("schedulerName", "plugins", "pluginConfig"):
        value = body.pop(name, None)
        if value is not None:
            profile[name] = value
    plugins = profile.get("plugins")
    if isinstance(plugins, Mapping):
        renamed = {"preScore" if point == "postFilter" else point: value for point, value in plugins.items()}
        profile["plugins"] = renamed
    weight = body.pop("hardPodAffinitySymmetricWeight", None)
    if weight is not None:
        given = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}}
        profile["pluginConfig"] = _plus(profile.get("pluginConfig"), [given])
    return profile


def _is_autoscaler(source: object) -> bool:
    """Whether the algorithm provider is the ClusterAutoscalerProvider."""
    if source is None:
        return False
    if not isinstance(source, Mapping):
        raise MismatchError("algorithmSource", "expected provider or policy")
    if source.get("policy") is not None:
        raise MismatchError(
            "algorithmSource.policy", "the Policy is in a file or ConfigMap of its own: give that instead of this file"
        )
    provider = source.get("provider") or _DEFAULT_PROVIDER
    if provider not in (_DEFAULT_PROVIDER, _AUTOSCALER_PROVIDER):
        known = f"known are {_AUTOSCALER_PROVIDER} and {_DEFAULT_PROVIDER}"
        raise MismatchError("algorithmSource.provider", f"algorithm provider {go_quote(str(provider))}: {known}")
    return provider == _AUTOSCALER_PROVIDER


def _leader_election(body: Json) -> None:
    election = body.get("leaderElection")
    if not isinstance(election, Mapping):
        return
    election = dict(election)
    for old, new in (("lockObjectNamespace", "resourceNamespace"), ("lockObjectName", "resourceName")):
        value = election.pop(old, None)
        if value and election.get(new) and election[new] != value:
            raise MismatchError("leaderElection", f"{new} and {old} are both set and do not match")
        if value:
            election[new] = value
    body["leaderElection"] = election


def _fields_of_profiles(body: Json) -> None:
    """What every profile was given at the top of v1alpha1 and v1alpha2, and the point that Reserve took over."""
    timeout, off = body.pop("bindTimeoutSeconds", None), body.pop("disablePreemption", None)
    profiles = body.get("profiles") or [{}]
    if not isinstance(profiles, list):
        return
    body["profiles"] = [
        _profile(profile, timeout, off) if isinstance(profile, Mapping) else profile for profile in profiles
    ]


def _profile(profile: Mapping[Any, Any], timeout: object, no_preemption: object) -> Json:
    result = dict(profile)
    plugins = result.get("plugins")
    if plugins is None or isinstance(plugins, Mapping):
        result["plugins"] = _points(plugins or {}, no_preemption)
    if timeout is not None:
        given = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": timeout}}
        result["pluginConfig"] = _plus(result.get("pluginConfig"), [given])
    return result


def _points(plugins: Mapping[Any, Any], no_preemption: object) -> Json:
    points = dict(plugins)
    if (unreserve := points.pop("unreserve", None)) is not None:
        points["reserve"] = _both(points.get("reserve"), unreserve)
    if no_preemption is True:
        points["postFilter"] = _both(points.get("postFilter"), {"disabled": [{"name": "DefaultPreemption"}]})
    return {point: _rename_plugins(plugin_set) for point, plugin_set in points.items()}


def _plus(items: object, more: list[Any]) -> object:
    """A list with what it lacks of another; what is no list stays as it is, for the reader to complain of."""
    if items is None:
        return more
    return [*items, *(item for item in more if item not in items)] if isinstance(items, list) else items


def _both(first: object, second: object) -> object:
    """Two sets of plugins as one; a plugin that is in both is there once."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return second if first is None else first
    merged = dict(first)
    for key, plugins in second.items():
        merged[key] = _plus(merged.get(key), plugins) if isinstance(plugins, list) else plugins
    return merged


_OLD_NAMES = {"DefaultPodTopologySpread": "SelectorSpread"}


def _rename_plugins(plugin_set: object) -> object:
    if not isinstance(plugin_set, Mapping):
        return plugin_set
    return {
        key: _each(plugins, _rename) if isinstance(plugins, list) else plugins for key, plugins in plugin_set.items()
    }


def _each(items: list[Any], change: Callable[[Mapping[Any, Any]], Json]) -> list[Any]:
    return [change(item) if isinstance(item, Mapping) else item for item in items]


def _rename(plugin: Mapping[Any, Any]) -> Json:
    name = plugin.get("name")
    return {**plugin, "name": _OLD_NAMES.get(name, name)} if isinstance(name, str) else dict(plugin)


# --- extenders

_EXTENDER_FIELDS = {
    name.lower(): name
    for name in (
        *("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb", "enableHTTPS", "tlsConfig"),
        *("httpTimeout", "nodeCacheCapable", "managedResources", "ignorable"),
    )
}
_TLS_FIELDS = {
    name.lower(): name
    for name in ("insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")
}
_RESOURCE_FIELDS = {"name": "name", "ignoredbyscheduler": "ignoredByScheduler"}


def _modernize_extenders(extenders: list[Any], place: str) -> list[Any]:
    """Extenders as Policies have them: keys in any case, unknown ones ignored, timeouts in nanoseconds."""
    return [
        _extender(extender, f"{place}[{index}]") if isinstance(extender, Mapping) else extender
        for index, extender in enumerate(extenders)
    ]


def _extender(extender: Mapping[Any, Any], place: str) -> Json:
    known = _select_fields(extender, _EXTENDER_FIELDS)
    timeout = known.get("httpTimeout")
    if isinstance(timeout, int) and not isinstance(timeout, bool):
        known["httpTimeout"] = str(Duration(timeout))
    elif timeout is not None:
        raise MismatchError(f"{place}.httpTimeout", "expected nanoseconds, as a number")
    if isinstance(known.get("tlsConfig"), Mapping):
        known["tlsConfig"] = _select_fields(known["tlsConfig"], _TLS_FIELDS)
    if isinstance(known.get("managedResources"), list):
        known["managedResources"] = _each(
            known["managedResources"], lambda resource: _select_fields(resource, _RESOURCE_FIELDS)
        )
    return known


def _select_fields(fields: Mapping[Any, Any], names: Mapping[str, str]) -> Json:
    options = ((names.get(str(key).lower()), value) for key, value in fields.items())
    return {name: value for name, value in options if name is not None}
