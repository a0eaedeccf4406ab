"""Results for programs: JSON and YAML with the same keys in the same order.

Both are pure ASCII, so that nothing in a name reaches a terminal other than escaped.
"""

from __future__ import annotations

import json

import msgspec

__all__ = ["as_json", "as_yaml"]


def as_json(result: msgspec.Struct) -> str:
    """The result as indented JSON."""
    return json.dumps(msgspec.to_builtins(result), indent=2) + "\n"


def as_yaml(result: msgspec.Struct) -> str:
    """The result as one YAML document."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(
        yaml.dump(
            msgspec.to_builtins(result),
            Dumper=dumper,
            sort_keys=False,
            default_flow_style=False,
            width=2**30,
        )
    )
