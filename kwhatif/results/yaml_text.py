"""Which texts must be quoted in YAML, beyond those that PyYAML quotes: kubectl reads YAML 1.1 with the library of Go,
and other tools read YAML 1.2.

Upstream: sigs.k8s.io/yaml (goyaml.v2, resolve.go), where underscores are dropped before a number is looked for.
"""

from __future__ import annotations

import re

_OTHERWISE = re.compile(
    r"[yYnN]"
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?0[xXoObB][0-9a-fA-F]+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"
)


def is_read_otherwise(text: str) -> bool:
    """Whether a YAML reader may take a plain text for a number, a boolean or a date."""
    return _OTHERWISE.fullmatch(text.replace("_", "")) is not None
