"""What can be wrong with an expression before it runs and while it does."""

from __future__ import annotations


class CompileError(Exception):
    """An expression that cannot be run; its text points at the place, as cel-go's issues do."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        line = text.count("\n", 0, at)
        start = text.rfind("\n", 0, at) + 1
        source = text[start:].partition("\n")[0]
        dots = "." * (at - start)
        super().__init__(f"ERROR: <input>:{line + 1}:{at - start + 1}: {problem}\n | {source}\n | {dots}^")
        self.problem = problem


class Fault(Exception):
    """An error value: ``&&`` and ``||`` get over one where the other side decides. ``str`` is cel-go's text."""


class OverBudget(Exception):
    """The expression cost more than it may; nothing gets over that."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")
