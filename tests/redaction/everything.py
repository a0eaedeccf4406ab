"""One object of each kind and the arguments of each plugin, with every field filled in, from the Structs themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import inspect

from kwhatif.api.kinds import KINDS
from kwhatif.framework.declaration import Declaration
from kwhatif.golang.parsing import Duration
from kwhatif.policy.in_tree import in_tree
from kwhatif.versions import LEGACY_MINOR, SUPPORTED_MINORS, features_of

__all__ = ["every_object", "every_plugin", "paths_of"]

Text = Callable[[str], str]


def every_object(text: Text) -> Iterator[dict[str, Any]]:
    """Plain values of an object a kind, and configurations with one plugin's arguments each.

    ``text`` gives a string for the field of a name, or the key of a map.
    """
    for kind, struct in KINDS.items():
        filled = _filled(inspect.type_info(struct), kind, text, 0)
        yield filled | {"apiVersion": "v1", "kind": kind}
    for name, plugin in sorted(every_plugin().items()):
        if plugin.args is not None:
            args = _filled(inspect.type_info(plugin.args), name, text, 0)
            yield {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"pluginConfig": [{"name": name, "args": args}]}],
            }


def every_plugin() -> dict[str, type[Declaration]]:
    """Those of the tree, of all minors, by name."""
    minors = (LEGACY_MINOR, *SUPPORTED_MINORS)
    return {name: plugin for minor in minors for name, plugin in in_tree(features_of(minor)).plugins.items()}


def _filled(type_: inspect.Type, name: str, text: Text, depth: int) -> Any:
    match type_:
        case inspect.StructType(fields=fields):
            return {field.encode_name: _filled(field.type, field.encode_name, text, depth + 1) for field in fields}
        case inspect.Metadata(type=inner):
            return _filled(inner, name, text, depth)
        case inspect.UnionType(types=types):
            return _filled(next(one for one in types if not isinstance(one, inspect.NoneType)), name, text, depth)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [_filled(item, name, text, depth)]
        case inspect.DictType(value_type=value):
            return {text(f"{name} key"): _filled(value, name, text, depth)}
        case inspect.StrType():
            return text(name)
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 7
        case inspect.CustomType(cls=cls) if cls is Duration:
            return "7s"
        case inspect.CustomType():
            return "7"
        case inspect.AnyType():
            return {"any": text("any")}
    raise TypeError(f"{name}: no value is known of {type_}")


def paths_of(value: Any, at: str = "") -> Iterator[str]:
    """Where there are values; the keys of maps that are no fields are all the same."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, f"{at}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from paths_of(item, f"{at}[]")
    else:
        yield at
