"""Results for programs: JSON and YAML with the same keys in the same order.

Both are pure ASCII, so that nothing in a name reaches a terminal other than escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec


def as_json(result: msgspec.Struct) -> str:
    """The result as indented JSON."""
    return json.dumps(msgspec.to_builtins(result), indent=2) + "\n"


def as_yaml(result: msgspec.Struct) -> str:
    """The result as one YAML document."""
    return _dumped(msgspec.to_builtins(result))


def as_documents(objects: Iterable[dict[str, Any]]) -> str:
    """Kubernetes objects as a stream of YAML documents, for kubectl."""
    return "".join(f"---\n{_dumped(obj)}" for obj in objects)


def _dumped(value: Any) -> str:
    import yaml

    try:
        return _written(value, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    except UnicodeEncodeError:
        # A path with bytes that are no text, which the faster one cannot write.
        return _written(value, yaml.SafeDumper)


def _written(value: Any, dumper: type[Any]) -> str:
    import yaml

    return str(yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, width=2**30))
