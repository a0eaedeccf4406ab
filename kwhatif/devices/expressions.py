"""Device selectors: CEL over ``device``, compiled once, asked once per distinct device.

Upstream: dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache

from kwhatif.api.devices import Device, DeviceAttribute
from kwhatif.cel.expression_types import ANY, BOOL, DYN, QUANTITY, STRING, Kind, map_of
from kwhatif.cel.faults import CompileError, Fault, OverBudget
from kwhatif.cel.operators import equal
from kwhatif.cel.overloads import define, merged
from kwhatif.cel.program import Program
from kwhatif.cel.syntax import Call, Ident, ListOf, Literal, MapOf, Node, Select, parse
from kwhatif.cel.values import Domains, Semver, name_of
from kwhatif.devices.constraints import attribute_of

COST_LIMIT = 1_000_000
LIST_VALUES_AT_MOST = 48
_DEVICE = "kubernetes.DRADevice"

Aspect = tuple[str, ...]
"""What an expression looks at: ("driver",), ("multi",), ("attributes", domain, name), ("capacity", domain, name),
a whole domain of either, or ("device",) for everything."""
WHOLE: Aspect = ("device",)


class Expression:
    """One selector. ``problem`` is why it cannot be compiled; ``aspects`` are all that its answer depends on."""

    def __init__(self, text: str, *, shares: bool, lists: bool) -> None:
        self.text, self._lists = text, lists
        self.problem = ""
        self.aspects: frozenset[Aspect] = frozenset()
        value = DYN if lists else ANY
        fields = {
            "driver": STRING,
            "attributes": map_of(STRING, map_of(STRING, value)),
            "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
        }
        if shares:
            fields["allowMultipleAllocations"] = BOOL
        try:
            self._program = Program(text, {"device": Kind(_DEVICE)}, {_DEVICE: fields}, _INCLUDES if lists else None)
        except CompileError as error:
            self.problem = f"compilation failed: {error}"
            return
        kind = self._program.kind
        if kind != BOOL and kind != ANY and not kind.loose:
            self.problem = f"must evaluate to bool or the unknown type, not {kind}"
        self.aspects = frozenset(_aspects(parse(text)))

    def matches(self, device: Device, driver: str) -> bool:
        """Whether a device matches. Raises Fault and OverBudget with upstream's texts."""
        value = self._program.evaluate({"device": _as_value(device, driver, lists=self._lists)}, COST_LIMIT)
        if not isinstance(value, bool):
            kind = name_of(value)
            problem = f"unsupported native conversion from {kind} to 'bool'"
            raise Fault(f"CEL result of type {kind} could not be converted to bool: {problem}")
        return value

    def answer(self, device: Device, driver: str) -> bool | str:
        """As ``matches``, but errors are texts."""
        try:
            return self.matches(device, driver)
        except (Fault, OverBudget) as error:
            return str(error)


@lru_cache(maxsize=1024)
def compiled(text: str, *, shares: bool, lists: bool) -> Expression:
    """The expression of a text; ``shares`` and ``lists`` are what feature gates add to devices."""
    return Expression(text, shares=shares, lists=lists)


# --- devices as values


def qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and name of an attribute or a capacity; the domain is the driver's where it is left out."""
    domain, slash, rest = name.partition("/")
    return (domain, rest) if slash else (driver, name)


def _as_value(device: Device, driver: str, *, lists: bool) -> dict[str, object]:
    attributes: dict[str, dict[str, object]] = {}
    for name, attribute in sorted((device.attributes or {}).items()):
        domain, own = qualified(name, driver)
        attributes.setdefault(domain, {})[own] = _attribute(name, attribute, lists=lists)
    capacity: dict[str, dict[str, object]] = {}
    for name, amount in (device.capacity or {}).items():
        domain, own = qualified(name, driver)
        capacity.setdefault(domain, {})[own] = amount.value
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "attributes": Domains(attributes),
        "capacity": Domains(capacity),
    }


def _attribute(name: str, attribute: DeviceAttribute, *, lists: bool) -> object:
    if lists:
        for values in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if values is not None:
                return list(values)
        if attribute.version_values is not None:
            return [_version(name, text) for text in attribute.version_values]
    found = attribute.scalar
    if found is None:
        raise Fault(f"attribute {name}: unsupported attribute value")
    kind, value = found
    return _version(name, str(value)) if kind == "version" else value


def _version(name: str, text: str) -> Semver:
    try:
        return Semver.parse(text)
    except Fault as fault:
        raise Fault(f"attribute {name}: parse semantic version: {fault}") from None


def _includes(target: object, wanted: object) -> bool:
    if not isinstance(target, list):
        return equal(target, wanted)
    if len(target) > LIST_VALUES_AT_MOST and not any(equal(item, wanted) for item in target[:LIST_VALUES_AT_MOST]):
        raise Fault(f"'includes' function cannot be applied to lists longer than {LIST_VALUES_AT_MOST} values")
    return any(equal(item, wanted) for item in target)


_INCLUDES = merged(define("dyn.includes(dyn) -> bool", _includes))


# --- what an expression looks at


def _aspects(node: Node) -> Iterator[Aspect]:
    aspect = _path(node)
    if aspect is not None:
        yield aspect if len(aspect) > 1 or aspect[0] in ("driver", "multi") else WHOLE
        return
    match node:
        case Ident(name="device"):
            yield WHOLE
        case Select():
            yield from _aspects(node.of)
        case Call(function="@in", args=(Literal(kind="string", value=str(name)), container)):
            domain = _path(container)
            if domain is not None and len(domain) == 2:
                yield (*domain, name)
            else:
                yield from _aspects(container)
        case Call():
            for part in (*((node.target,) if node.target is not None else ()), *node.args):
                yield from _aspects(part)
        case ListOf():
            for part in node.elements:
                yield from _aspects(part)
        case MapOf():
            for key, value in node.entries:
                yield from _aspects(key)
                yield from _aspects(value)


def _path(node: Node) -> Aspect | None:
    """``device.attributes["a"].b`` as ("attributes", "a", "b"); None for what is no such path."""
    match node:
        case Select(of=Ident(name="device"), field=field):
            return {"allowMultipleAllocations": ("multi",)}.get(field, (field,))
        case Select(of=of, field=name):
            inner = _path(of)
        case Call(function="_[_]" | "_[?_]", args=(of, Literal(kind="string", value=str(name)))):
            inner = _path(of)
        case _:
            return None
    if inner is None or inner[0] not in ("attributes", "capacity") or len(inner) > 2:
        return None
    return (*inner, name)


def aspect_of(device: Device, driver: str, aspect: Aspect) -> Hashable:
    """What a device has to show for an aspect."""
    match aspect:
        case ("driver",):
            return driver
        case ("multi",):
            return bool(device.allow_multiple_allocations)
        case ("attributes" | "capacity" as part, domain):
            return tuple(sorted((k, v) for k, v in _shown(device, driver, part) if k[0] == domain))
        case ("attributes", domain, name):
            attribute = attribute_of(device, driver, f"{domain}/{name}")
            return None if attribute is None else attribute.scalar or repr(attribute)
        case ("capacity", domain, name):
            amounts = device.capacity or {}
            found = amounts.get(f"{domain}/{name}") or (amounts.get(name) if domain == driver else None)
            return None if found is None else found.value
    whole = (_shown(device, driver, "attributes"), _shown(device, driver, "capacity"))
    return driver, bool(device.allow_multiple_allocations), *(tuple(sorted(part)) for part in whole)


def _shown(device: Device, driver: str, part: str) -> list[tuple[tuple[str, str], str]]:
    if part == "capacity":
        return [(qualified(name, driver), str(each.value)) for name, each in (device.capacity or {}).items()]
    found = (device.attributes or {}).items()
    return [(qualified(name, driver), str(value.scalar or repr(value))) for name, value in found]


def unreadable(device: Device, *, lists: bool) -> bool:
    """Whether a device has an attribute that no expression gets past."""
    for attribute in (device.attributes or {}).values():
        kind, _ = attribute.scalar or ("", None)
        if kind in ("string", "int", "bool") and not lists:
            continue
        try:
            _attribute("", attribute, lists=lists)
        except Fault:
            return True
    return False
