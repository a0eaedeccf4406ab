"""Which devices the selectors of a class and of a request let through."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kwhatif.api.devices import Device, DeviceSelector
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.devices.expressions import WHOLE, Aspect, Expression, aspect_of, compiled, unreadable
from kwhatif.devices.inventory import Inventory

NO, YES = 0, 1


@dataclass(frozen=True, slots=True)
class Selector:
    """``owner`` is the class it belongs to, empty for the request's own."""

    owner: str
    place: int
    expression: Expression

    def said(self, problem: str) -> str:
        """An error of the expression; that of a request's own selector lacks its claim."""
        what = f"selector #{self.place}: {problem}"
        return f"class {self.owner}: {what}" if self.owner else what


class Selection:
    """The selectors one request has to satisfy, all asked of all devices.

    codes      intp[D]: NO, YES, or 2 + the place of the error in ``problems``
    problems   (text, whether it is said of the claim)
    stopped    intp[D]: how many selectors a device passed before one stopped it
    """

    def __init__(self, inventory: Inventory, selectors: Sequence[Selector]) -> None:
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

    def _take(self, undecided: BoolArray, selector: Selector, codes: IntpArray, texts: list[str]) -> None:
        self.codes[undecided & (codes == NO)] = NO
        for code in np.unique(codes[undecided & (codes > YES)]).tolist():
            self.problems.append((selector.said(texts[code - 2]), not selector.owner))
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
    columns = [inventory.code(aspect, partial(_shown, aspect)) for aspect in aspects]
    shapes = inventory.combined(columns)
    distinct, first, place = np.unique(shapes, return_index=True, return_inverse=True)
    found = np.zeros(len(distinct), np.intp)
    texts: list[str] = []
    for i, number in enumerate(first.tolist()):
        unit = inventory.units[number]
        answer = expression.answer(unit.device, unit.id[0])
        if isinstance(answer, bool):
            found[i] = YES if answer else NO
            continue
        text = f"CEL runtime error: {answer}"
        if text not in texts:
            texts.append(text)
        found[i] = 2 + texts.index(text)
    return found[place], texts


def _shown(aspect: Aspect, device: Device, driver: str) -> Hashable:
    return aspect_of(device, driver, aspect)


def selection_of(
    inventory: Inventory,
    owner: str,
    of_class: Sequence[DeviceSelector] | None,
    own: Sequence[DeviceSelector] | None,
) -> Selection:
    """The selection by a class's selectors, then a request's own. All of them are CEL selectors."""
    features = inventory.features
    selectors = [
        Selector(
            name,
            place,
            compiled(
                selector.cel.expression if selector.cel else "",
                shares=features.dra_consumable_capacity,
                lists=features.dra_list_type_attributes,
            ),
        )
        for name, some in ((owner, of_class), ("", own))
        for place, selector in enumerate(some or ())
    ]
    kept = inventory.selections
    key = tuple((each.owner, each.place, each.expression.text) for each in selectors)
    found = kept.get(key)
    if found is None:
        found = kept[key] = Selection(inventory, selectors)
    return found
