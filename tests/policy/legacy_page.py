"""The tables of names in docs/reference/legacy-policies.md, from the code.

``python -m tests.policy.legacy_page`` writes them anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kwhatif.legacy.policy_structs import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    FOREIGN_PRIORITIES,
    MANDATORY_PREDICATES,
    OLD_PREDICATES,
    OLD_PRIORITIES,
    PREDICATES,
    PRIORITIES,
)

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[2] / "docs/reference/legacy-policies.md"
_ALIASES = {"PodFitsHostPorts": "PodFitsPorts", "SelectorSpreadPriority": "ServiceSpreadingPriority"}
_OF_ARGUMENTS = ("NodeLabel", "RequestedToCapacityRatio", "ServiceAffinity")


def page(text: str) -> str:
    """The page with its tables as they should be; the rest stays as it is."""
    for name, lines in (("predicates", _predicates()), ("priorities", _priorities()), ("old names", _old())):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{chr(10).join(lines)}\n{end}{after}"
    return text


def _called(name: str) -> str:
    return f"`{name}`, `{_ALIASES[name]}`" if name in _ALIASES else f"`{name}`"


def _predicates() -> Iterator[str]:
    yield "| predicate | | plugin |"
    yield "| --- | --- | --- |"
    for name, uses in PREDICATES.items():
        mark = "*" if name in MANDATORY_PREDICATES else "+" if name in DEFAULT_PREDICATES else ""
        yield f"| {_called(name)} | {mark} | {', '.join(use.plugin for use in uses)} |"


def _priorities() -> Iterator[str]:
    yield "| priority | | plugin |"
    yield "| --- | --- | --- |"
    for name, use in PRIORITIES.items():
        if name not in _OF_ARGUMENTS:
            mark = f"+ {DEFAULT_PRIORITIES[name]}" if name in DEFAULT_PRIORITIES else ""
            yield f"| {_called(name)} | {mark} | {use.plugin} |"
    yield f"| `{EQUAL_PRIORITY}` | | none: it gave all nodes the same |"


def _old() -> Iterator[str]:
    yield "| name | read as |"
    yield "| --- | --- |"
    for name, (successor, why) in OLD_PREDICATES.items():
        yield f"| `{name}` | `{successor}`: {why} |"
    for name, why in FOREIGN_PRIORITIES.items():
        yield f"| `{name}` | nothing: kube-scheduler never had it, though {why} |"
    for name, use in OLD_PRIORITIES.items():
        yield f"| `{name}` | plugin {use.plugin}, as it was in 1.19 |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
