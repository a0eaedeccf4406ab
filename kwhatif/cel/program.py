"""A compiled expression, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kwhatif.bounds import charge
from kwhatif.cel import kubernetes, operators, standard
from kwhatif.cel.compile import Compiler, Run, Scope
from kwhatif.cel.declarations import Kind, Table, merge_definitions
from kwhatif.cel.macros import MACROS
from kwhatif.cel.syntax import parse
from kwhatif.cel.values import CompileError, Fault


class Program:
    """An expression whose syntax and types are right. ``kind`` is the type of its result.

    ``fields`` are those of the object types among ``variables``, ``messages`` those of what the
    expression can make. Raises CompileError.
    """

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Kind],
        fields: Mapping[str, Mapping[str, Kind]],
        more: Table | None = None,
        messages: Mapping[str, Mapping[str, Kind]] | None = None,
    ) -> None:
        functions = {**_functions(), **(more or {})}
        try:
            code = Compiler(text, variables, fields, functions, MACROS, {} if messages is None else messages).compile(
                parse(text)
            )
        except RecursionError:
            raise CompileError(text, 0, "expression recursion limit exceeded") from None
        self.text, self.kind = text, code.kind
        self._run: Run = code.run

    def evaluate(self, values: Mapping[str, Any], limit: int) -> Any:
        """The expression's value. Raises Fault, and OverBudget once it costs more than ``limit``.

        Raises InputError if all expressions of a run cost too much.
        """
        scope = Scope(dict(values), limit)
        try:
            return self._run(scope)
        except RecursionError:
            raise Fault("stack overflow") from None
        finally:
            charge(max(scope.cost, scope.room), self.text)


@cache
def _functions() -> Table:
    return merge_definitions(operators.definitions(), standard.definitions(), kubernetes.definitions())
