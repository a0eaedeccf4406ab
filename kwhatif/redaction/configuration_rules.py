"""A scheduler's configuration: labels, resources and profiles have names, too.

Plugins of the tree, of all minors, keep theirs; what others are called is replaced. What becomes of a plugin's
arguments follows from their Struct.
"""

from __future__ import annotations

from typing import Any

from kwhatif.framework.declaration import Declaration
from kwhatif.plugins import in_tree_plugins
from kwhatif.policy.older import legacy
from kwhatif.policy.profile import EXTENSION_POINTS
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.shared_rules import API_VERSION, KIND
from kwhatif.redaction.struct_rules import rule_of
from kwhatif.redaction.treatments import GONE, Rule, each, fields, flag, named, number, one_of

_ALL = "*"


def _in_tree(name: Any) -> type[Declaration] | None:
    return in_tree_plugins().get(name) or legacy().plugins().get(name) if isinstance(name, str) else None


def _plugin(value: Any, names: Names) -> Any:
    return value if value == _ALL or _in_tree(value) else _other_plugin(value, names)


_other_plugin = named(Names.name)


def _plugin_config(value: Any, names: Names) -> Any:
    kept = _NAMED(value, names)
    if kept is GONE:
        return GONE
    plugin, args = _in_tree(value.get("name")), value.get("args")
    if plugin is not None and plugin.args is not None and isinstance(args, dict):
        document = fields(apiVersion=API_VERSION, kind=one_of(plugin.args.__name__))
        kept["args"] = document(args, names) | rule_of(plugin.args)(args, names)
    return kept


_NAMED = fields(name=_plugin)
_PLUGIN_SET = each(fields(name=_plugin, weight=number))
_PROFILE = fields(
    schedulerName=named(Names.scheduler),
    percentageOfNodesToScore=number,
    plugins=fields(dict.fromkeys(EXTENSION_POINTS, fields(enabled=_PLUGIN_SET, disabled=_PLUGIN_SET))),
    pluginConfig=each(_plugin_config),
)
CONFIGURATION: Rule = fields(
    apiVersion=API_VERSION,
    kind=KIND,
    parallelism=number,
    percentageOfNodesToScore=number,
    podInitialBackoffSeconds=number,
    podMaxBackoffSeconds=number,
    delayCacheUntilActive=flag,
    profiles=each(_PROFILE),
)
