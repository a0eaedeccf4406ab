"""Macros: ``has``, ``all``, ``map``, ``cel.bind`` and the others, whose arguments are variables or unevaluated
expressions.

Upstream: github.com/google/cel-go (parser/macro.go, cel/library.go, ext/bindings.go, ext/comprehensions.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from kwhatif.cel.compile import Code, Compiler, Scope
from kwhatif.cel.declarations import BOOL, DYN, INT, Kind, fits, join, list_of, map_of, optional_of
from kwhatif.cel.operators import NO_OVERLOAD, is_less
from kwhatif.cel.tree import Call, Ident, MapOf, Node, Select
from kwhatif.cel.values import Fault, Optional

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
    name, value = _name(compiler, call.args[0]), compiler.compile(call.args[1])
    with compiler.binding([name], [value.kind]) as (slot,):
        body = compiler.compile(call.args[2])

    def run(scope: Scope) -> Any:
        scope.values[slot] = value.run(scope)
        return body.run(scope)

    return Code(body.kind, run)


def _name(compiler: Compiler, node: Node) -> str:
    if not isinstance(node, Ident):
        compiler.fail(node, "argument must be a simple name")
    return node.name


# --- walks over lists and maps


class _Walk:
    """Elements of a list, or keys of a map; with two variables also their places, or the map's values.

    ``codes`` are what the call does with each of them: its arguments after the names of the ``variables``.
    """

    def __init__(self, compiler: Compiler, call: Call, variables: int) -> None:
        assert call.target is not None
        self._over = compiler.compile(call.target)
        names = [_name(compiler, arg) for arg in call.args[:variables]]
        kind = self._over.kind
        if kind.name == "list":
            self.kinds = [INT, kind.params[0]] if variables == 2 else [kind.params[0]]
        elif kind.name == "map":
            self.kinds = list(kind.params[:variables])
        elif kind.loose:
            self.kinds = [DYN] * variables
        else:
            compiler.fail(call.target, f"expression of type '{kind}' cannot be range of a comprehension")
        with compiler.binding(names, self.kinds) as self._slots:
            self.codes = [compiler.compile(arg) for arg in call.args[variables:]]

    def elements(self, scope: Scope) -> Iterator[tuple[Any, ...]]:
        """The values of the variables, once they are set."""
        over, pairs = self._over.run(scope), len(self._slots) == 2
        if not isinstance(over, list | dict):
            raise Fault(NO_OVERLOAD)
        if pairs:
            items: Any = over.items() if isinstance(over, dict) else enumerate(over)
        else:
            items = ((item,) for item in over)
        for values in items:
            for slot, value in zip(self._slots, values, strict=True):
                scope.values[slot] = value
            yield values


def _condition(compiler: Compiler, node: Node, code: Code) -> Callable[[Scope], bool]:
    if not fits(code.kind, BOOL, {}):
        compiler.fail(node, f"expected type 'bool' but found '{code.kind}'")

    def run(scope: Scope) -> bool:
        value = code.run(scope)
        if not isinstance(value, bool):
            raise Fault(NO_OVERLOAD)
        return value

    return run


def _always(scope: Scope) -> bool:
    return True


def _make_quantifier(decides: bool, cost: int) -> Macro:
    """``all`` and ``exists``: errors are got over where another element decides."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) not in (2, 3):
            return None
        walk = _Walk(compiler, call, len(call.args) - 1)
        test = _condition(compiler, call.args[-1], walk.codes[-1])

        def run(scope: Scope) -> bool:
            problem: Fault | None = None
            for _ in walk.elements(scope):
                scope.spend(cost)
                try:
                    if test(scope) is decides:
                        return decides
                except Fault as fault:
                    problem = problem or fault
            scope.spend(1)
            if problem is not None:
                raise problem
            return not decides

        return Code(BOOL, run)

    return macro


def _exists_one(compiler: Compiler, call: Call) -> Code | None:
    if call.target is None or len(call.args) not in (2, 3):
        return None
    walk = _Walk(compiler, call, len(call.args) - 1)
    test = _condition(compiler, call.args[-1], walk.codes[-1])

    def run(scope: Scope) -> bool:
        count = 0
        for _ in walk.elements(scope):
            count += test(scope)
            scope.spend(2)
        scope.spend(2)
        return count == 1

    return Code(BOOL, run)


def _list_maker(variables: int, *, keep: bool) -> Macro:
    """``map``, ``filter`` and ``transformList``; ``keep`` keeps the elements themselves."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        rest = len(call.args) - variables
        if call.target is None or rest not in ((1,) if keep else (1, 2)):
            return None
        walk = _Walk(compiler, call, variables)
        test = _condition(compiler, call.args[variables], walk.codes[0]) if keep or rest == 2 else _always
        made = None if keep else walk.codes[-1]

        def run(scope: Scope) -> list[Any]:
            items = []
            for values in walk.elements(scope):
                if test(scope):
                    items.append(values[0] if made is None else made.run(scope))
                    scope.spend(11)
                scope.spend(1)
            return items

        return Code(list_of(walk.kinds[0] if made is None else made.kind), run)

    return macro


def _map_maker(*, entries: bool) -> Macro:
    """``transformMap`` and ``transformMapEntry``, whose result is a map of one entry or more for each element."""

    def macro(compiler: Compiler, call: Call) -> Code | None:
        if call.target is None or len(call.args) not in (3, 4):
            return None
        if entries and not isinstance(call.args[-1], MapOf):
            compiler.fail(call.args[-1], "transformMapEntry() needs a map of entries")
        walk = _Walk(compiler, call, 2)
        made = walk.codes[-1]
        test = _condition(compiler, call.args[2], walk.codes[0]) if len(call.args) == 4 else _always

        def run(scope: Scope) -> dict[Any, Any]:
            result: dict[Any, Any] = {}
            for key, _ in walk.elements(scope):
                if test(scope):
                    value = made.run(scope)
                    for new, item in value.items() if entries else ((key, value),):
                        if new in result:
                            raise Fault(f"insert failed: key {new} already exists")
                        result[new] = item
                    scope.spend(1)
                scope.spend(1)
            return result

        return Code(made.kind if entries else map_of(walk.kinds[0], made.kind), run)

    return macro


def _sort_by(compiler: Compiler, call: Call) -> Code | None:
    if call.target is None or len(call.args) != 2:
        return None
    walk = _Walk(compiler, call, 1)
    (key,) = walk.codes

    def run(scope: Scope) -> list[Any]:
        keyed = [(key.run(scope), item) for (item,) in walk.elements(scope)]
        for (left, _), (right, _) in pairwise(keyed):
            is_less(left, right)
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
        with compiler.binding([_name(compiler, call.args[0])], [_inner(target.kind)]) as (slot,):
            body = compiler.compile(call.args[1])

        def run(scope: Scope) -> Any:
            optional = _optional(target.run(scope))
            if not optional.there:
                return optional
            scope.values[slot] = optional.value
            value = body.run(scope)
            return value if flat else Optional(value)

        return Code(body.kind if flat else optional_of(body.kind), run)

    return macro


def _inner(kind: Kind) -> Kind:
    return kind.params[0] if kind.name == "optional_type" else DYN


def _optional(value: object) -> Optional:
    if not isinstance(value, Optional):
        raise Fault(NO_OVERLOAD)
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
    "all": _make_quantifier(False, 3),
    "exists": _make_quantifier(True, 4),
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
