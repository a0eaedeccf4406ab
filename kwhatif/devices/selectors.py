"""Device selectors: CEL expressions over ``device`` of a class and of a request, compiled once, evaluated once per
distinct device.

Upstream: dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache, partial

import msgspec
import numpy as np

from kwhatif.api.devices import Device, DeviceAttribute, DeviceSelector
from kwhatif.cel.declarations import ANY, BOOL, DYN, QUANTITY, STRING, Kind, define, map_of, merge_definitions
from kwhatif.cel.operators import equal
from kwhatif.cel.program import Program
from kwhatif.cel.syntax import parse
from kwhatif.cel.tree import Call, Ident, ListOf, Literal, MapOf, Node, Select
from kwhatif.cel.values import CompileError, Domains, Fault, OverBudget, Semver, name_of
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.constraints import attribute_of
from kwhatif.devices.inventory import Inventory

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
def compile_expression(text: str, *, shares: bool, lists: bool) -> Expression:
    """The expression of a text; ``shares`` and ``lists`` are what feature gates add to devices."""
    return Expression(text, shares=shares, lists=lists)


# --- devices as values


def qualify_name(name: str, driver: str) -> tuple[str, str]:
    """Domain and name of an attribute or a capacity; the domain is the driver's where it is left out."""
    domain, slash, rest = name.partition("/")
    return (domain, rest) if slash else (driver, name)


def _as_value(device: Device, driver: str, *, lists: bool) -> dict[str, object]:
    attributes: dict[str, dict[str, object]] = {}
    for name, attribute in sorted((device.attributes or {}).items()):
        domain, own = qualify_name(name, driver)
        attributes.setdefault(domain, {})[own] = _attribute(name, attribute, lists=lists)
    capacity: dict[str, dict[str, object]] = {}
    for name, amount in (device.capacity or {}).items():
        domain, own = qualify_name(name, driver)
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
    scalar = attribute.scalar
    if scalar is None:
        raise Fault(f"attribute {name}: unsupported attribute value")
    kind, value = scalar
    return _version(name, str(value)) if kind == "version" else value


def _version(name: str, text: str) -> Semver:
    try:
        return Semver.parse(text)
    except Fault as fault:
        raise Fault(f"attribute {name}: parse semantic version: {fault}") from None


def _includes(target: object, value: object) -> bool:
    if not isinstance(target, list):
        return equal(target, value)
    if len(target) > LIST_VALUES_AT_MOST and not any(equal(item, value) for item in target[:LIST_VALUES_AT_MOST]):
        raise Fault(f"'includes' function cannot be applied to lists longer than {LIST_VALUES_AT_MOST} values")
    return any(equal(item, value) for item in target)


_INCLUDES = merge_definitions(define("dyn.includes(dyn) -> bool", _includes))


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
            return tuple(sorted((k, v) for k, v in _list_aspects(device, driver, part) if k[0] == domain))
        case ("attributes", domain, name):
            attribute = attribute_of(device, driver, f"{domain}/{name}")
            return None if attribute is None else attribute.scalar or repr(attribute)
        case ("capacity", domain, name):
            amounts = device.capacity or {}
            amount = amounts.get(f"{domain}/{name}") or (amounts.get(name) if domain == driver else None)
            return None if amount is None else amount.value
    whole = (_list_aspects(device, driver, "attributes"), _list_aspects(device, driver, "capacity"))
    return driver, bool(device.allow_multiple_allocations), *(tuple(sorted(part)) for part in whole)


def _list_aspects(device: Device, driver: str, part: str) -> list[tuple[tuple[str, str], str]]:
    if part == "capacity":
        return [
            (qualify_name(name, driver), str(device_capacity.value))
            for name, device_capacity in (device.capacity or {}).items()
        ]
    attributes = (device.attributes or {}).items()
    return [(qualify_name(name, driver), str(value.scalar or repr(value))) for name, value in attributes]


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


NO, YES = 0, 1


class CompiledSelector(msgspec.Struct, frozen=True):
    """``owner`` is the class it belongs to, empty for the request's own."""

    owner: str
    place: int
    expression: Expression

    def describe_error(self, problem: str) -> str:
        """An error of the expression; that of a request's own selector lacks its claim."""
        what = f"selector #{self.place}: {problem}"
        return f"class {self.owner}: {what}" if self.owner else what


class DeviceSelection:
    """The selectors one request has to satisfy, all asked of all devices.

    codes      intp[D]: NO, YES, or 2 + the place of the error in ``problems``
    problems   (text, whether it is said of the claim)
    stopped    intp[D]: how many selectors a device passed before one stopped it
    """

    def __init__(self, inventory: Inventory, selectors: Sequence[CompiledSelector]) -> None:
        self.selectors = tuple(selectors)
        self.problems: list[tuple[str, bool]] = []
        size = len(inventory.units)
        self.codes: IntpArray = np.full(size, YES, np.intp)
        self.stopped: IntpArray = np.full(size, len(self.selectors), np.intp)
        for place, selector in enumerate(self.selectors):
            undecided = self.codes == YES
            if not undecided.any():
                break
            answers = _answers(inventory, selector.expression)
            self.stopped[undecided & (answers[0] != YES)] = place
            self._take(undecided, selector, *answers)

    def _take(self, undecided: BoolArray, selector: CompiledSelector, codes: IntpArray, texts: list[str]) -> None:
        self.codes[undecided & (codes == NO)] = NO
        for code in np.unique(codes[undecided & (codes > YES)]).tolist():
            self.problems.append((selector.describe_error(texts[code - 2]), not selector.owner))
            self.codes[undecided & (codes == code)] = 1 + len(self.problems)

    @property
    def of_class(self) -> BoolArray:
        """bool[D]: devices that pass the selectors of the class."""
        passed: BoolArray = self.stopped >= sum(1 for selector in self.selectors if selector.owner)
        return passed

    @property
    def passes(self) -> BoolArray:
        """bool[D]: devices that pass all selectors."""
        passed: BoolArray = self.codes == YES
        return passed

    def problem(self, code: int, claim: str) -> str:
        """The text of an error code, for a claim ``namespace/name``."""
        text, of_claim = self.problems[code - 2]
        return f"claim {claim}: {text}" if of_claim else text


def _answers(inventory: Inventory, expression: Expression) -> tuple[IntpArray, list[str]]:
    """intp[D]: NO, YES or 2 + the place of an error's text, asked once per distinct device."""
    lists = inventory.features.dra_list_type_attributes
    if expression.problem:
        return np.full(len(inventory.units), 2, np.intp), [f"CEL compile error: {expression.problem}"]
    aspects: list[Aspect] = sorted(expression.aspects)
    # An attribute that cannot be read is an error, whether or not the expression looks at it.
    broken = inventory.code(("unreadable",), lambda device, driver: unreadable(device, lists=lists))
    if broken.any() or any(unreadable(unit.device, lists=lists) for unit in inventory.units[:1]):
        aspects = [WHOLE]
    columns = [inventory.code(aspect, partial(_aspect_key_of, aspect)) for aspect in aspects]
    shapes = inventory.combine_codes(columns)
    distinct, first, place = np.unique(shapes, return_index=True, return_inverse=True)
    codes = np.zeros(len(distinct), np.intp)
    texts: list[str] = []
    for i, number in enumerate(first.tolist()):
        unit = inventory.units[number]
        answer = expression.answer(unit.device, unit.id[0])
        if isinstance(answer, bool):
            codes[i] = YES if answer else NO
            continue
        text = f"CEL runtime error: {answer}"
        if text not in texts:
            texts.append(text)
        codes[i] = 2 + texts.index(text)
    return codes[place], texts


def _aspect_key_of(aspect: Aspect, device: Device, driver: str) -> Hashable:
    return aspect_of(device, driver, aspect)


def selection_of(
    inventory: Inventory,
    owner: str,
    of_class: Sequence[DeviceSelector] | None,
    own: Sequence[DeviceSelector] | None,
) -> DeviceSelection:
    """The selection by a class's selectors, then a request's own. All of them are CEL selectors."""
    features = inventory.features
    selectors = [
        CompiledSelector(
            name,
            place,
            compile_expression(
                selector.cel.expression if selector.cel else "",
                shares=features.dra_consumable_capacity,
                lists=features.dra_list_type_attributes,
            ),
        )
        for name, some in ((owner, of_class), ("", own))
        for place, selector in enumerate(some or ())
    ]
    kept = inventory.selections
    key = tuple((selector.owner, selector.place, selector.expression.text) for selector in selectors)
    selection = kept.get(key)
    if selection is None:
        selection = kept[key] = DeviceSelection(inventory, selectors)
    return selection
