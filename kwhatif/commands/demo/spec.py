"""The spec of ``kwhatif demo``."""

from __future__ import annotations

from kwhatif.commands.spec import CommandSpec

SPECS = (
    CommandSpec(
        name="demo",
        module="demo",
        purpose="Copy the sample clusters and manifests that examples name.",
        position=160,
        examples=("", "try-kwhatif"),
        package=__package__,
    ),
)
