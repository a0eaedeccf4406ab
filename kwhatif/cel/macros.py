"""Calls whose arguments name a variable or are not worked out: ``has``, ``all``, ``map``, ``cel.bind`` and so on.

Upstream: github.com/google/cel-go (parser/macro.go, cel/library.go, ext/bindings.go, ext/comprehensions.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from kwhatif.cel.compile import Code, Compiler, Run, Scope
from kwhatif.cel.faults import Fault
from kwhatif.cel.kinds import BOOL, DYN, INT, Kind, fits, join, list_of, map_of, optional_of
from kwhatif.cel.operators import BINARY
from kwhatif.cel.syntax import Call, Ident, MapOf, Node, Select
from kwhatif.cel.values import Optional

__all__ = ["MACROS"]

Macro = Callable[[Compiler, Call], Code | None]


def _has(compiler: Compiler, call: Call) -> Code | None:
    if call.target is not None or len(call.args) != 1:
        return None
    (arg,) = call.args
    if not isinstance(arg, Select):
        compiler.fail(call, "invalid argument to has() macro")
    return compiler.field(arg, compiler.compile(arg.of), arg.field, test=True)


def _bind(compiler: Compiler, call: Call) -> Code | None:
    if not (isinstance(call.target, Ident) and call.target.name == "cel" and len(call.args) == 3):
        return None
    name, value, body = _name(compiler, call.args[0]), compiler.compile(call.args[1]), call.args[2]

    def inside(slot: str) -> Code:
        code = compiler.compile(body)

        def run(scope: Scope) -> Any:
            scope.values[slot] = value.run(scope)
            return code.run(scope)

        return Code(code.kind, run)

    return compiler.binding(name, value.kind, inside)


def _name(compiler: Compiler, node: Node) -> str:
    if not isinstance(node, Ident):
        compiler.fail(node, "argument must be a simple name")
    return node.name


# --- walks over lists and maps


class _Walk:
    """Elements of a list, or keys of a map; with two variables also their places, or the map's values."""

    def __init__(self, compiler: Compiler, call: Call, variables: int) -> None:
        assert call.target is not None
        self.over = compiler.compile(call.target)
        self.names = [_name(compiler, arg) for arg in call.args[:variables]]
        kind = self.over.kind
        if kind.name == "list":
            kinds = [INT, kind.params[0]] if variables == 2 else [kind.params[0]]
        elif kind.name == "map":
            kinds = list(kind.params[:variables])
        elif kind.loose:
            kinds = [DYN] * variables
        else:
            compiler.fail(call.target, f"expression of type '{kind}' cannot be range of a comprehension")
        self.kinds = kinds

    def compile(self, compiler: Compiler, node: Node, slots: list[str]) -> Code:
        """``node`` with the variables; ``slots`` receives where their values go."""

        def bound(left: int) -> Code:
            if left == len(self.names):
                return compiler.compile(node)

            def inside(slot: str) -> Code:
                slots.append(slot)
                return bound(left + 1)

            return compiler.binding(self.names[left], self.kinds[left], inside)

        return bound(0)

    def values(self, scope: Scope) -> Iterator[tuple[Any, ...]]:
        over = self.over.run(scope)
        pairs = len(self.names) == 2
        if isinstance(over, list):
            return ((i, item) for i, item in enumerate(over)) if pairs else ((item,) for item in over)
        if isinstance(over, dict):
            return iter(over.items()) if pairs else ((key,) for key in over)
        raise Fault("no such overload")


def _needs_bool(compiler: Compiler, node: Node, code: Code) -> Run:
    if not fits(code.kind, BOOL, {}):
        compiler.fail(node, f"expected type 'bool' but found '{code.kind}'")
    return code.run


def _quantified(decides: bool, cost: int) -> Macro:
    """``all`` and ``exists``: errors are got over where another element decides."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) not in (2, 3):
            return None
        walk, slots = _Walk(compiler, call, len(call.args) - 1), []  # type: tuple[_Walk, list[str]]
        test = _needs_bool(compiler, call.args[-1], walk.compile(compiler, call.args[-1], slots))

        def run(scope: Scope) -> bool:
            problem: Fault | None = None
            for values in walk.values(scope):
                scope.values.update(zip(slots, values, strict=True))
                scope.spend(cost)
                try:
                    value = test(scope)
                except Fault as fault:
                    problem = problem or fault
                    continue
                if not isinstance(value, bool):
                    problem = problem or Fault("no such overload")
                elif value is decides:
                    return value
            scope.spend(1)
            if problem is not None:
                raise problem
            return not decides

        return Code(BOOL, run)

    return macro


def _exists_one(compiler: Compiler, call: Call) -> Code | None:
    if call.target is None or len(call.args) not in (2, 3):
        return None
    walk, slots = _Walk(compiler, call, len(call.args) - 1), []  # type: tuple[_Walk, list[str]]
    test = _needs_bool(compiler, call.args[-1], walk.compile(compiler, call.args[-1], slots))

    def run(scope: Scope) -> bool:
        count = 0
        for values in walk.values(scope):
            scope.values.update(zip(slots, values, strict=True))
            count += _true(test(scope))
            scope.spend(2)
        scope.spend(2)
        return count == 1

    return Code(BOOL, run)


def _true(value: object) -> bool:
    if not isinstance(value, bool):
        raise Fault("no such overload")
    return value


def _list_maker(variables: int, *, keep: bool) -> Macro:
    """``map``, ``filter`` and ``transformList``; ``keep`` keeps the elements themselves."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        rest = len(call.args) - variables
        if call.target is None or rest not in ((1,) if keep else (1, 2)):
            return None
        walk, slots = _Walk(compiler, call, variables), []  # type: tuple[_Walk, list[str]]
        test: Run | None = None
        if keep or rest == 2:
            node = call.args[variables]
            test = _needs_bool(compiler, node, walk.compile(compiler, node, slots))
        more: list[str] = []
        code = None if keep else walk.compile(compiler, call.args[-1], more)

        def run(scope: Scope) -> list[Any]:
            made = []
            for values in walk.values(scope):
                for places in (slots, more):
                    scope.values.update(zip(places, values, strict=False))
                if test is None or _true(test(scope)):
                    made.append(values[0] if code is None else code.run(scope))
                    scope.spend(11)
                scope.spend(1)
            return made

        return Code(list_of(walk.kinds[0] if code is None else code.kind), run)

    return macro


def _map_maker(*, entries: bool) -> Macro:
    """``transformMap`` and ``transformMapEntry``, whose result is a map of one entry or more for each element."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) not in (3, 4):
            return None
        walk, slots = _Walk(compiler, call, 2), []  # type: tuple[_Walk, list[str]]
        node = call.args[-1]
        if entries and not isinstance(node, MapOf):
            compiler.fail(node, "transformMapEntry() needs a map of entries")
        more: list[str] = []
        made = walk.compile(compiler, node, more)
        test: Run | None = None
        if len(call.args) == 4:
            test = _needs_bool(compiler, call.args[2], walk.compile(compiler, call.args[2], slots))

        def run(scope: Scope) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            for values in walk.values(scope):
                for places in (slots, more):
                    scope.values.update(zip(places, values, strict=False))
                if test is None or _true(test(scope)):
                    value = made.run(scope)
                    for key, item in value.items() if entries else ((values[0], value),):
                        if key in found:
                            raise Fault(f"insert failed: key {key} already exists")
                        found[key] = item
                    scope.spend(1)
                scope.spend(1)
            return found

        return Code(made.kind if entries else map_of(walk.kinds[0], made.kind), run)

    return macro


def _sort_by(compiler: Compiler, call: Call) -> Code | None:
    if call.target is None or len(call.args) != 2:
        return None
    walk, slots = _Walk(compiler, call, 1), []  # type: tuple[_Walk, list[str]]
    key = walk.compile(compiler, call.args[1], slots)

    def run(scope: Scope) -> list[Any]:
        keyed = []
        for (item,) in walk.values(scope):
            scope.values[slots[0]] = item
            keyed.append((key.run(scope), item))
        for (left, _), (right, _) in pairwise(keyed):
            BINARY["_<_"](left, right)
        scope.spend(max(1, len(keyed)))
        return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]

    return Code(list_of(walk.kinds[0]), run)


# --- optional values


def _opt_map(*, flat: bool) -> Macro:
    """``optMap`` and ``optFlatMap``, whose body gives an optional value itself."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) != 2:
            return None
        target = compiler.compile(call.target)
        name, body = _name(compiler, call.args[0]), call.args[1]

        def inside(slot: str) -> Code:
            code = compiler.compile(body)

            def run(scope: Scope) -> Any:
                optional = _optional(target.run(scope))
                if not optional.there:
                    return optional
                scope.values[slot] = optional.value
                value = code.run(scope)
                return value if flat else Optional(value)

            return Code(code.kind if flat else optional_of(code.kind), run)

        return compiler.binding(name, _inner(target.kind), inside)

    return macro


def _inner(kind: Kind) -> Kind:
    return kind.params[0] if kind.name == "optional_type" else DYN


def _optional(value: object) -> Optional:
    if not isinstance(value, Optional):
        raise Fault("no such overload")
    return value


def _or_else(*, value: bool) -> Macro:
    """``orValue`` and ``or``: what stands on the right is worked out only if it is needed."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) != 1:
            return None
        target, other = compiler.compile(call.target), compiler.compile(call.args[0])
        mine, theirs = _inner(target.kind), other.kind if value else _inner(other.kind)
        kind = join([mine, theirs])
        if kind is None or not (target.kind.loose or target.kind.name == "optional_type"):
            problem = f"applied to '{target.kind}.({other.kind})'"
            compiler.fail(call, f"found no matching overload for '{call.function}' {problem}")

        def run(scope: Scope) -> Any:
            optional = _optional(target.run(scope))
            if optional.there:
                return optional.value if value else optional
            return other.run(scope)

        return Code(kind if value else optional_of(kind), run)

    return macro


MACROS: dict[str, Macro] = {
    "has": _has,
    "bind": _bind,
    "all": _quantified(False, 3),
    "exists": _quantified(True, 4),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _list_maker(1, keep=False),
    "filter": _list_maker(1, keep=True),
    "transformList": _list_maker(2, keep=False),
    "transformMap": _map_maker(entries=False),
    "transformMapEntry": _map_maker(entries=True),
    "sortBy": _sort_by,
    "optMap": _opt_map(flat=False),
    "optFlatMap": _opt_map(flat=True),
    "orValue": _or_else(value=True),
    "or": _or_else(value=False),
}
