"""Results for programs: JSON and YAML with the same keys in the same order.

Both are pure ASCII, so that nothing in a name reaches a terminal other than escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from kwhatif.report.escape import in_json, in_yaml, is_command


def as_json(result: msgspec.Struct) -> str:
    """The result as indented JSON."""
    return plain_json(msgspec.to_builtins(result))


def plain_json(value: Any) -> str:
    """Plain values as indented JSON."""
    try:
        # Many times faster than the encoder that indents by itself.
        text = msgspec.json.format(json.dumps(value), indent=2)
    except msgspec.DecodeError:
        # A path with bytes that are no text, of which the faster one makes nothing.
        text = json.dumps(value, indent=2)
    return in_json(text) + "\n"


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

    class Dumper(dumper):  # type: ignore[misc]
        """What is a command somewhere goes into double quotes, in which every character has another spelling."""

        def represent_text(self, text: str) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_command(text) else None)

    Dumper.add_representer(str, Dumper.represent_text)
    return in_yaml(str(yaml.dump(value, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=2**30)))
