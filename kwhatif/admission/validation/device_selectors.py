"""Expressions that choose devices: whether they can be compiled. Asking them is the business of ``devices/``.

Upstream: pkg/apis/resource/validation/validation.go, dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from functools import lru_cache

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.cel.expression_types import ANY, BOOL, QUANTITY, STRING, Kind, map_of
from kwhatif.cel.faults import CompileError
from kwhatif.cel.program import Program

_LONGEST = 10 * 1024
_DEVICE = "kubernetes.DRADevice"
_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}


def check_selectors(problems: Problems, selectors: list[Object], path: str) -> None:
    for i, selector in enumerate(selectors):
        cel, where = selector.get("cel"), f"{path}[{i}].cel"
        if cel is None:
            problems.required(where)
            continue
        text = cel.get("expression") or ""
        if len(text.encode()) > _LONGEST:
            problems.too_long(f"{where}.expression", _LONGEST)
        else:
            wrong = _problem(text)
            problems.invalid(f"{where}.expression", text, *([wrong] if wrong else []))


@lru_cache(maxsize=1024)
def _problem(text: str) -> str:
    try:
        kind = Program(text, {"device": Kind(_DEVICE)}, {_DEVICE: _FIELDS}).kind
    except CompileError as error:
        return f"compilation failed: {error}"
    return "" if kind in (BOOL, ANY) or kind.loose else f"must evaluate to bool or the unknown type, not {kind}"
