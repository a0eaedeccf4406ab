"""The user's plugins laid over the default ones (upstream: scheduler/apis/config/v1/default_plugins.go)."""

from __future__ import annotations

import msgspec

from kwhatif.policy.structs import Plugin, Plugins, PluginSet


def merge_plugins(default: Plugins, custom: Plugins | None) -> Plugins:
    """Merge every extension point; without custom plugins the default ones stay as they are."""
    if custom is None:
        return default
    return Plugins(
        **{
            field: merge_plugin_set(getattr(default, field), getattr(custom, field))
            for field in Plugins.__struct_fields__
        }
    )


def append_plugins(default: Plugins, custom: Plugins | None) -> Plugins:
    """Merge as v1beta1 and earlier formats did: what is left of the default plugins, then the custom ones.

    A default plugin that is enabled once more is there twice, which is refused later on. The result is complete: it
    switches all defaults off, so that it stays as it is when it is read again.
    """
    custom = Plugins() if custom is None else custom
    merged = {}
    for field in Plugins.__struct_fields__:
        own, others = getattr(custom, field), getattr(default, field)
        gone = {plugin.name for plugin in own.disabled}
        left = () if "*" in gone else tuple(plugin for plugin in others.enabled if plugin.name not in gone)
        if left or own.enabled or others.enabled:
            merged[field] = PluginSet(enabled=(*left, *own.enabled), disabled=(Plugin(name="*"),))
    return Plugins(**merged)


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Merge one extension point.

    A default plugin goes if it, or ``*``, is disabled. One that is also enabled keeps its position and takes
    the custom weight: of several with its name, the last. What replaced no default plugin follows, doublets
    included: they are an error only when the profile is expanded.
    """
    disabled = tuple(Plugin(name=plugin.name) for plugin in (*custom.disabled, *default.disabled))
    gone = {plugin.name for plugin in disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled = []
    replacing = set()
    for plugin in () if "*" in gone else default.enabled:
        if plugin.name in gone:
            continue
        index = last.get(plugin.name)
        if index is None:
            enabled.append(plugin)
        else:
            enabled.append(custom.enabled[index])
            replacing.add(index)
    enabled += [plugin for index, plugin in enumerate(custom.enabled) if index not in replacing]
    return msgspec.structs.replace(default, enabled=tuple(enabled), disabled=disabled)
