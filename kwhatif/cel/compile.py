"""Trees become functions, once their types fit; what the types cannot tell is checked when the function runs.

Upstream: github.com/google/cel-go (checker/checker.go, interpreter/planner.go, interpreter/runtimecost.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, NoReturn

from kwhatif.cel.faults import CompileError, Fault, OverBudget
from kwhatif.cel.kinds import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Kind,
    fits,
    join,
    list_of,
    map_of,
    optional_of,
    settled,
)
from kwhatif.cel.operators import BINARY, find, negate, nothing_such, size_of
from kwhatif.cel.overloads import Overload, Table
from kwhatif.cel.syntax import Call, Ident, ListOf, Literal, MapOf, Node, Select
from kwhatif.cel.values import Optional, TypeValue, UInt, name_of

__all__ = ["Code", "Compiler", "Run", "Scope"]

LIST_COST, MAP_COST = 10, 30


class Scope:
    """Variables of one run, and what it has cost."""

    __slots__ = ("cost", "limit", "values")

    def __init__(self, values: dict[str, Any], limit: int) -> None:
        self.values, self.cost, self.limit = values, 0, limit

    def spend(self, cost: int) -> None:
        """Raises OverBudget."""
        self.cost += cost
        if self.cost > self.limit:
            raise OverBudget


Run = Callable[[Scope], Any]


@dataclass(frozen=True, slots=True)
class Code:
    """What an expression does, and the type of what it gives."""

    kind: Kind
    run: Run


_NUMBERS = (INT, UINT, DOUBLE)
_ORDERED = (("bool", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration"), "int uint double")
_TIMES = {
    "_+_": {
        (TIMESTAMP, DURATION): TIMESTAMP,
        (DURATION, TIMESTAMP): TIMESTAMP,
        (DURATION, DURATION): DURATION,
    },
    "_-_": {
        (TIMESTAMP, TIMESTAMP): DURATION,
        (TIMESTAMP, DURATION): TIMESTAMP,
        (DURATION, DURATION): DURATION,
    },
}
_TYPES = frozenset(["bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "map", "type"])
_LITERALS = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "bool": BOOL,
    "null_type": NULL,
}


class Compiler:
    """Compiles one expression.

    ``fields`` are those of types that are objects; ``macros`` take the compiler and a call whose arguments are not
    to be compiled like others, and give None for a call that is none of theirs.
    """

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Kind],
        fields: Mapping[str, Mapping[str, Kind]],
        functions: Table,
        macros: Mapping[str, Callable[[Compiler, Call], Code | None]],
    ) -> None:
        self._text, self._fields, self._functions, self._macros = text, fields, functions, macros
        self._variables = dict(variables)
        self._slots = {name: name for name in variables}
        self._made = 0

    def fail(self, node: Node, problem: str) -> NoReturn:
        """Raises CompileError."""
        raise CompileError(self._text, node.at, problem)

    def compile(self, node: Node) -> Code:
        """Raises CompileError."""
        match node:
            case Literal():
                value = UInt(node.value) if node.kind == "uint" else node.value  # type: ignore[call-overload]
                return Code(_LITERALS[node.kind], lambda scope: value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Call():
                return self._call(node)
        raise AssertionError(node)

    # --- names and what is in them

    def _ident(self, node: Ident) -> Code:
        kind = self._variables.get(node.name)
        if kind is None and node.name in _TYPES:
            value = TypeValue(node.name)
            return Code(TYPE, lambda scope: value)
        if kind is None:
            self.fail(node, f"undeclared reference to '{node.name}' (in container '')")
        slot = self._slots[node.name]

        def run(scope: Scope) -> Any:
            scope.spend(1)
            return scope.values[slot]

        return Code(kind, run)

    def known(self, name: str) -> bool:
        """Whether there is a variable of this name."""
        return name in self._variables

    def binding(self, name: str, kind: Kind, body: Callable[[str], Code]) -> Code:
        """Compile with one more variable; ``body`` gets the slot that its value goes to."""
        before = self._variables.get(name), self._slots.get(name)
        self._made += 1
        slot = f"{name}@{self._made}"
        self._variables[name], self._slots[name] = kind, slot
        try:
            return body(slot)
        finally:
            for table, old in zip((self._variables, self._slots), before, strict=True):
                if old is None:
                    del table[name]  # type: ignore[attr-defined]
                else:
                    table[name] = old  # type: ignore[index]

    def _select(self, node: Select) -> Code:
        of = self.compile(node.of)
        return self.field(node, of, node.field, optional=node.optional)

    def field(self, node: Node, of: Code, name: str, *, optional: bool = False, test: bool = False) -> Code:
        """``of.name``; ``optional`` gives an optional value, ``test`` only whether it is there."""
        kind = self._field_kind(node, of.kind, name, optional=optional)
        return self._lookup(of, lambda scope: name, kind, optional=optional, test=test)

    def _field_kind(self, node: Node, kind: Kind, name: str, *, optional: bool) -> Kind:
        inner = kind.params[0] if kind.name == "optional_type" else kind
        if inner.name == "map":
            found: Kind | None = inner.params[1]
        elif inner.loose:
            found = DYN
        elif inner.name in self._fields:
            found = self._fields[inner.name].get(name)
            if found is None:
                self.fail(node, f"undefined field '{name}'")
        else:
            self.fail(node, f"type '{kind}' does not support field selection")
        assert found is not None
        return optional_of(found) if optional or kind.name == "optional_type" else found

    def _lookup(self, of: Code, key: Run, kind: Kind, *, optional: bool, test: bool = False) -> Code:
        get = of.run

        def run(scope: Scope) -> Any:
            container = get(scope)
            wanted = key(scope)
            scope.spend(0 if test else 1)
            through = isinstance(container, Optional)
            if through:
                if not container.there:
                    return False if test else container
                container = container.value
            there, value = find(container, wanted)
            if test:
                return there
            if optional or through:
                return Optional(value) if there else Optional(there=False)
            if not there:
                index = isinstance(container, list)
                raise Fault(f"index out of bounds: {wanted}" if index else f"no such key: {_spelt(wanted)}")
            return value

        return Code(BOOL if test else kind, run)

    def _index(self, node: Call) -> Code:
        of, key = (self.compile(arg) for arg in node.args)
        optional = node.function == "_[?_]"
        inner = of.kind.params[0] if of.kind.name == "optional_type" else of.kind
        if inner.name == "map" and fits(key.kind, inner.params[0], {}):
            kind = inner.params[1]
        elif inner.name == "list" and fits(key.kind, INT, {}):
            kind = inner.params[0]
        elif inner.loose:
            kind = DYN
        else:
            self._no_overload(node, node.function, (of, key))
        if optional or of.kind.name == "optional_type":
            kind = optional_of(kind)
        return self._lookup(of, key.run, kind, optional=optional)

    # --- literals with parts

    def _list(self, node: ListOf) -> Code:
        parts = [self.compile(element) for element in node.elements]
        kinds = [
            part.kind.params[0] if i in node.optional and part.kind.name == "optional_type" else part.kind
            for i, part in enumerate(parts)
        ]
        kind = self._joined(kinds, list(node.elements))
        runs, optional = [part.run for part in parts], node.optional

        def run(scope: Scope) -> Any:
            values = [part(scope) for part in runs]
            scope.spend(LIST_COST)
            if not optional:
                return values
            kept = [(value, i in optional) for i, value in enumerate(values)]
            return [v.value if maybe else v for v, maybe in kept if not maybe or v.there]

        return Code(list_of(kind), run)

    def _map(self, node: MapOf) -> Code:
        keys = [self.compile(key) for key, _ in node.entries]
        values = [self.compile(value) for _, value in node.entries]
        kinds = [
            code.kind.params[0] if i in node.optional and code.kind.name == "optional_type" else code.kind
            for i, code in enumerate(values)
        ]
        kind = map_of(
            self._joined([key.kind for key in keys], [key for key, _ in node.entries]),
            self._joined(kinds, [value for _, value in node.entries]),
        )
        runs = [
            (key.run, value.run, i in node.optional) for i, (key, value) in enumerate(zip(keys, values, strict=True))
        ]

        def run(scope: Scope) -> Any:
            found: dict[Any, Any] = {}
            for key_of, value_of, maybe in runs:
                key, value = key_of(scope), value_of(scope)
                if isinstance(key, dict | list):
                    raise Fault(f"unsupported key type: {name_of(key)}")
                if not maybe:
                    found[key] = value
                elif value.there:
                    found[key] = value.value
            scope.spend(MAP_COST)
            return found

        return Code(kind, run)

    def _joined(self, kinds: list[Kind], nodes: list[Node]) -> Kind:
        kind = join(kinds)
        if kind is None:
            other = next(i for i in range(len(kinds)) if not fits(kinds[i], kinds[0], {}))
            self.fail(nodes[other], f"expected type '{kinds[0]}' but found '{kinds[other]}'")
        return kind

    # --- calls

    def _no_overload(self, node: Node, function: str, args: tuple[Code, ...], *, member: bool = False) -> NoReturn:
        kinds = [str(arg.kind) for arg in args]
        applied = f"{kinds[0]}.({', '.join(kinds[1:])})" if member else f"({', '.join(kinds)})"
        self.fail(node, f"found no matching overload for '{function}' applied to '{applied}'")

    def _call(self, node: Call) -> Code:
        macro = self._macros.get(node.function)
        if macro is not None:
            code = macro(self, node)
            if code is not None:
                return code
        if node.function in ("_[_]", "_[?_]"):
            return self._index(node)
        if node.function in ("_&&_", "_||_"):
            return self._junction(node)
        if node.function == "_?_:_":
            return self._choice(node)
        if node.function in BINARY:
            return self._operator(node)
        if node.function in ("!_", "-_"):
            return self._sign(node)
        return self._function(node)

    def _junction(self, node: Call) -> Code:
        left, right = args = [self.compile(arg) for arg in node.args]
        if not all(fits(arg.kind, BOOL, {}) for arg in args):
            self._no_overload(node, node.function, (left, right))
        decides = node.function == "_||_"
        first, second = left.run, right.run

        def run(scope: Scope) -> bool:
            problem: Fault | None = None
            for side in (first, second):
                try:
                    value = side(scope)
                except Fault as fault:
                    problem = problem or fault
                    continue
                if not isinstance(value, bool):
                    problem = problem or Fault("no such overload")
                elif value is decides:
                    return value
            if problem is not None:
                raise problem
            return not decides

        return Code(BOOL, run)

    def _choice(self, node: Call) -> Code:
        condition, yes, no = (self.compile(arg) for arg in node.args)
        if not fits(condition.kind, BOOL, {}):
            self._no_overload(node, "_?_:_", (condition, yes, no))
        kind = join([yes.kind, no.kind])
        if kind is None:
            self._no_overload(node, "_?_:_", (condition, yes, no))

        def run(scope: Scope) -> Any:
            value = condition.run(scope)
            if not isinstance(value, bool):
                raise Fault("no such overload")
            return yes.run(scope) if value else no.run(scope)

        return Code(kind, run)

    def _sign(self, node: Call) -> Code:
        (operand,) = (self.compile(arg) for arg in node.args)
        allowed = (BOOL,) if node.function == "!_" else (INT, DOUBLE, DURATION)
        if not any(fits(operand.kind, kind, {}) for kind in allowed):
            self._no_overload(node, node.function, (operand,))
        get = operand.run

        def negated(scope: Scope) -> bool:
            value = get(scope)
            scope.spend(1)
            if not isinstance(value, bool):
                raise Fault("no such overload")
            return not value

        def minus(scope: Scope) -> Any:
            value = get(scope)
            scope.spend(1)
            return negate(value)

        return Code(BOOL, negated) if node.function == "!_" else Code(operand.kind, minus)

    def _operator(self, node: Call) -> Code:
        left, right = (self.compile(arg) for arg in node.args)
        kind = _result(node.function, left.kind, right.kind)
        if kind is None:
            self._no_overload(node, node.function, (left, right))
        first, second, apply, cost = left.run, right.run, BINARY[node.function], _COSTS.get(node.function)

        def run(scope: Scope) -> Any:
            one, other = first(scope), second(scope)
            scope.spend(cost(one, other) if cost else 1)
            return apply(one, other)

        return Code(kind, run)

    def _function(self, node: Call) -> Code:
        target, name = node.target, node.function
        if target is not None and (qualified := self._qualified(target, name)):
            target, name = None, qualified
        overloads = [o for o in self._functions.get(name, ()) if o.member == (target is not None)]
        if not overloads:
            self.fail(node, f"undeclared reference to '{name}' (in container '')")
        args = tuple(self.compile(arg) for arg in ((target, *node.args) if target is not None else node.args))
        matching: list[tuple[Overload, Kind]] = []
        for overload in overloads:
            bound: dict[str, Kind] = {}
            if len(overload.params) == len(args) and all(
                fits(arg.kind, want, bound) for arg, want in zip(args, overload.params, strict=True)
            ):
                matching.append((overload, settled(overload.result, bound)))
        if not matching:
            self._no_overload(node, name, args, member=target is not None)
        kinds = {str(kind) for _, kind in matching}
        kind = matching[0][1] if len(kinds) == 1 else DYN
        return Code(kind, _dispatch(name, [overload for overload, _ in matching], [arg.run for arg in args]))

    def _qualified(self, target: Node, name: str) -> str:
        """``optional.none`` for a function of that name; empty for a true member call."""
        if isinstance(target, Ident) and not self.known(target.name) and f"{target.name}.{name}" in self._functions:
            return f"{target.name}.{name}"
        return ""


def _spelt(key: object) -> str:
    return {True: "true", False: "false"}[key] if isinstance(key, bool) else str(key)


def _result(function: str, left: Kind, right: Kind) -> Kind | None:
    """The type of an operator's result, or None where no overload takes these types."""
    if function in ("_==_", "_!=_"):
        return BOOL if join([left, right]) is not None else None
    if function == "@in":
        if right.loose:
            return BOOL
        return BOOL if right.name in ("list", "map") and join([left, right.params[0]]) is not None else None
    if function in ("_<_", "_<=_", "_>_", "_>=_"):
        exact, numeric = _ORDERED
        sides = [kind.name for kind in (left, right) if not kind.loose]
        same = len(set(sides)) <= 1 and all(side in exact for side in sides)
        return BOOL if same or all(side in numeric.split() for side in sides) else None
    for (one, other), result in _TIMES.get(function, {}).items():
        if (left, right) == (one, other):
            return result
    kinds = [kind for kind in (left, right) if not kind.loose]
    if not kinds:
        return DYN
    allowed: tuple[Kind, ...] = (INT, UINT) if function == "_%_" else _NUMBERS
    if function == "_+_":
        allowed = (*allowed, STRING, BYTES)
        if all(kind.name == "list" for kind in kinds):
            joined = join([kind.params[0] for kind in kinds])
            return None if joined is None else list_of(joined)
    if len(set(kinds)) == 1 and kinds[0] in allowed:
        return kinds[0]
    loose = len(kinds) == 1 and kinds[0] in (TIMESTAMP, DURATION) and function in _TIMES
    return DYN if loose else None


def _equality_cost(left: object, right: object) -> int:
    return ceil(min(size_of(left), size_of(right)) / 10)


def _order_cost(left: object, right: object) -> int:
    return _equality_cost(left, right) if isinstance(left, str | bytes) else 1


_COSTS: dict[str, Callable[[Any, Any], int]] = {
    "_==_": _equality_cost,
    "_!=_": _equality_cost,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order_cost),
    "_+_": lambda left, right: (
        ceil((len(left) + len(right)) / 10) if isinstance(left, str | bytes) and isinstance(right, str | bytes) else 1
    ),
    "@in": lambda item, container: size_of(container) if isinstance(container, list) else 1,
}


def _dispatch(name: str, overloads: list[Overload], args: list[Run]) -> Run:
    """Call the overload whose parameters the values have."""
    wanted = [tuple("" if p.free or p.loose else p.name for p in overload.params) for overload in overloads]
    choices = list(zip(wanted, overloads, strict=True))

    def run(scope: Scope) -> Any:
        values = [arg(scope) for arg in args]
        names = [name_of(value) for value in values]
        for params, overload in choices:
            if all(not param or param == mine for param, mine in zip(params, names, strict=True)):
                scope.spend(overload.cost(*values))
                return overload.run(*values)
        raise nothing_such(name, *values)

    return run
