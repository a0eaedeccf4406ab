"""Plugins from outside the tree: one that works, others that do not."""

from __future__ import annotations

from typing import Any


class OnlyCats:
    name = "OnlyCats"

    def filter_node(self, pod: Any, node: Any) -> str | None:
        return None if node.metadata.name.startswith("cat") else "node(s) were no cats"


class Raises:
    name = "OnlyCats"

    def filter_node(self, pod: Any, node: Any) -> str | None:
        raise RuntimeError("no\nidea")


class Nameless:
    def filter_node(self, pod: Any, node: Any) -> str | None:
        return None


class Hookless:
    name = "OnlyCats"


class WrongArguments:
    name = "OnlyCats"

    def filter_node(self, pod: Any) -> str | None:
        return None


class Refuses:
    name = "OnlyCats"

    def __init__(self, args: Any) -> None:
        raise ValueError("cannot\nbe made")

    def filter_node(self, pod: Any, node: Any) -> str | None:
        return None
