"""The type checker and compiler: trees become Python functions; what the types leave open is checked at run time.

Upstream: github.com/google/cel-go (checker/checker.go, interpreter/planner.go, interpreter/runtimecost.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec

from kwhatif.cel.declarations import (
    BOOL,
    DYN,
    INT,
    TYPE,
    Kind,
    Overload,
    Table,
    fits,
    join,
    list_of,
    map_of,
    optional_of,
    substitute_kinds,
)
from kwhatif.cel.operators import NO_OVERLOAD, find
from kwhatif.cel.tree import Call, Ident, ListOf, Literal, MapOf, Node, Select, StructOf
from kwhatif.cel.values import TYPE_NAMES, CompileError, Fault, Optional, OverBudget, Struct, TypeValue, UInt, name_of

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40


class Scope:
    """Variables of one run, what it has cost, and how much room the values take that it made or walked through."""

    __slots__ = ("cost", "limit", "room", "values")

    def __init__(self, values: dict[str, Any], limit: int) -> None:
        self.values, self.cost, self.room, self.limit = values, 0, 0, limit

    def spend(self, cost: int) -> None:
        """Raises OverBudget."""
        self.cost += cost
        if self.cost > self.limit:
            raise OverBudget

    def hold(self, room: int) -> None:
        """Raises OverBudget."""
        self.room += room
        if self.room > self.limit:
            raise OverBudget


Run = Callable[[Scope], Any]


class Code(msgspec.Struct, frozen=True):
    """What an expression does, and the type of what it gives."""

    kind: Kind
    run: Run


class Compiler:
    """Compiles one expression.

    ``fields`` are those of types that are objects, ``messages`` those of what an expression can make; ``macros`` take
    the compiler and a call whose arguments are not to be compiled like others, and give None for a call that is none of
    theirs.
    """

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Kind],
        fields: Mapping[str, Mapping[str, Kind]],
        functions: Table,
        macros: Mapping[str, Callable[[Compiler, Call], Code | None]],
        messages: Mapping[str, Mapping[str, Kind]],
    ) -> None:
        self._messages = messages
        self._text, self._fields, self._functions, self._macros = text, fields, functions, macros
        self._variables = {name: (kind, name) for name, kind in variables.items()}
        self._made = 0
        self._mixed = 0

    def fail(self, node: Node, problem: str) -> NoReturn:
        """Raises CompileError."""
        raise CompileError(self._text, node.at, problem)

    def compile(self, node: Node) -> Code:
        """Raises CompileError."""
        match node:
            case Literal():
                value = UInt(node.value) if node.kind == "uint" else node.value  # type: ignore[call-overload]
                return Code(Kind(node.kind), lambda scope: value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case StructOf():
                return self._struct(node)
            case Call():
                return self._call(node)
        raise AssertionError(node)

    # --- names and what is in them

    def _ident(self, node: Ident) -> Code:
        if node.name not in self._variables:
            if node.name not in TYPE_NAMES:
                self.fail(node, f"undeclared reference to '{node.name}' (in container '')")
            value = TypeValue(node.name)
            return Code(TYPE, lambda scope: value)
        kind, slot = self._variables[node.name]

        def run(scope: Scope) -> Any:
            scope.spend(1)
            return scope.values[slot]

        return Code(kind, run)

    @contextmanager
    def binding(self, names: list[str], kinds: list[Kind]) -> Iterator[list[str]]:
        """Compile with more variables; gives the slots that their values go to."""
        before = self._variables
        self._made += 1
        slots = [f"{name}@{self._made}" for name in names]
        self._variables = before | dict(zip(names, zip(kinds, slots, strict=True), strict=True))
        try:
            yield slots
        finally:
            self._variables = before

    def _qualified_name_of(self, node: Node) -> str:
        """``a.b.c`` as a text, if it is no field of a variable; empty for anything else."""
        if isinstance(node, Ident):
            return "" if node.name in self._variables else node.name
        return (
            f"{inner}.{node.field}" if isinstance(node, Select) and (inner := self._qualified_name_of(node.of)) else ""
        )

    def _select(self, node: Select) -> Code:
        name = self._qualified_name_of(node)
        if name in TYPE_NAMES:
            return self._ident(Ident(node.at, name))
        return self.field(node, self.compile(node.of), node.field, optional=node.optional)

    def field(self, node: Node, of: Code, name: str, *, optional: bool = False, test: bool = False) -> Code:
        """``of.name``; ``optional`` gives an optional value, ``test`` only whether it is there."""
        kind = self._field_kind(node, of.kind, name, optional=optional)
        return self._lookup(of, lambda scope: name, kind, optional=optional, test=test)

    def _field_kind(self, node: Node, kind: Kind, name: str, *, optional: bool) -> Kind:
        inner = kind.params[0] if kind.name == "optional_type" else kind
        if inner.name == "map":
            kind_of_field: Kind | None = inner.params[1]
        elif inner.loose:
            kind_of_field = DYN
        elif inner.name in self._fields:
            kind_of_field = self._fields[inner.name].get(name)
            if kind_of_field is None:
                self.fail(node, f"undefined field '{name}'")
        else:
            self.fail(node, f"type '{kind}' does not support field selection")
        assert kind_of_field is not None
        return optional_of(kind_of_field) if optional or kind.name == "optional_type" else kind_of_field

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
                raise Fault(f"index out of bounds: {wanted}" if index else f"no such key: {_format_key(wanted)}")
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
        kind = self._join_kinds(kinds, list(node.elements))
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
            self._join_kinds([key.kind for key in keys], [key for key, _ in node.entries]),
            self._join_kinds(kinds, [value for _, value in node.entries]),
        )
        runs = [
            (key.run, value.run, i in node.optional) for i, (key, value) in enumerate(zip(keys, values, strict=True))
        ]

        def run(scope: Scope) -> Any:
            entries: dict[Any, Any] = {}
            for key_of, value_of, maybe in runs:
                key, value = key_of(scope), value_of(scope)
                if isinstance(key, dict | list):
                    raise Fault(f"unsupported key type: {name_of(key)}")
                if not maybe:
                    entries[key] = value
                elif value.there:
                    entries[key] = value.value
            scope.spend(MAP_COST)
            return entries

        return Code(kind, run)

    def _struct(self, node: StructOf) -> Code:
        fields = self._messages.get(node.name)
        if fields is None:
            self.fail(node, f"undeclared reference to '{node.name}' (in container '')")
        runs: list[tuple[str, Run, bool]] = []
        for i, (field, value) in enumerate(node.entries):
            want, code = fields.get(field), self.compile(value)
            if want is None:
                self.fail(value, f"undefined field '{field}'")
            maybe = i in node.optional
            kind = code.kind.params[0] if maybe and code.kind.name == "optional_type" else code.kind
            if not fits(kind, want, {}):
                self.fail(value, f"expected type of field '{field}' is '{want}' but provided type is '{kind}'")
            runs.append((field, code.run, maybe))

        def run(scope: Scope) -> Any:
            values = ((field, part(scope), maybe) for field, part, maybe in runs)
            made = {f: v.value if maybe else v for f, v, maybe in values if not maybe or v.there}
            scope.spend(STRUCT_COST)
            return Struct(node.name, made)

        return Code(Kind(node.name), run)

    def _join_kinds(self, kinds: list[Kind], nodes: list[Node]) -> Kind:
        kind = join(kinds)
        if kind is None and self._mixed:
            return DYN
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
                    problem = problem or Fault(NO_OVERLOAD)
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
                raise Fault(NO_OVERLOAD)
            return yes.run(scope) if value else no.run(scope)

        return Code(kind, run)

    def _function(self, node: Call) -> Code:
        target, name = node.target, node.function
        qualified = f"{self._qualified_name_of(target)}.{name}" if target is not None else ""
        if qualified in self._functions:  # such as optional.none
            target, name = None, qualified
        overloads = [o for o in self._functions.get(name, ()) if o.member == (target is not None)]
        if not overloads:
            self.fail(node, f"undeclared reference to '{name}' (in container '')")
        self._mixed += name == "format"  # the one function whose lists may hold values of several types
        args = tuple(self.compile(arg) for arg in ((target, *node.args) if target is not None else node.args))
        self._mixed -= name == "format"
        matching: list[tuple[Overload, Kind]] = []
        for overload in overloads:
            bound: dict[str, Kind] = {}
            if len(overload.params) == len(args) and all(
                fits(arg.kind, want, bound) for arg, want in zip(args, overload.params, strict=True)
            ):
                matching.append((overload, substitute_kinds(overload.result, bound)))
        if not matching:
            self._no_overload(node, name, args, member=target is not None)
        kinds = {kind for _, kind in matching}
        kind = matching[0][1] if len(kinds) == 1 else DYN
        return Code(kind, _dispatch(name, [overload for overload, _ in matching], [arg.run for arg in args]))


def _format_key(key: object) -> str:
    return {True: "true", False: "false"}[key] if isinstance(key, bool) else str(key)


def _dispatch(name: str, overloads: list[Overload], args: list[Run]) -> Run:
    """Call the overload whose parameters the values have."""
    wanted = [tuple("" if p.free or p.loose else p.name for p in overload.params) for overload in overloads]
    known: dict[tuple[type, ...], Overload] = {}

    def select_overload(values: list[Any]) -> Overload:
        names = list(map(name_of, values))
        for params, overload in zip(wanted, overloads, strict=True):
            if all(not param or param == mine for param, mine in zip(params, names, strict=True)):
                return overload
        raise Fault(f"{NO_OVERLOAD}: {name}({', '.join(names)})" if name[0].isalpha() else NO_OVERLOAD)

    def run(scope: Scope) -> Any:
        values = [arg(scope) for arg in args]
        types = tuple(map(type, values))
        overload = known.get(types)
        if overload is None:
            overload = known[types] = select_overload(values)
        scope.spend(overload.cost(*values))
        if overload.room is not None:
            scope.hold(overload.room(*values))
        return overload.run(*values)

    return run
