"""Rules for tolerations.

Upstream: pkg/apis/core/validation/validation.go. Operators that compare numbers are behind a feature gate that is off.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.name_rules import check_label_key, label_value
from kwhatif.admission.validation.problems import Problems

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")


def check_tolerations(problems: Problems, tolerations: list[Object], path: str) -> None:
    for i, toleration in enumerate(tolerations):
        where = f"{path}[{i}]"
        key, value = toleration.get("key") or "", toleration.get("value") or ""
        operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
        if key:
            check_label_key(problems, key, f"{where}.key")
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            problems.invalid(f"{where}.operator", operator, why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            problems.invalid(f"{where}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        match operator:
            case "" | "Equal":
                wrong = label_value(value)
                problems.invalid(f"{where}.operator", value, *([";".join(wrong)] if wrong else []))
            case "Exists":
                if value:
                    why = "value must be empty when `operator` is 'Exists'"
                    problems.invalid(f"{where}.operator", value, why)
            case "Lt" | "Gt":
                problems.unsupported(f"{where}.operator", operator, (*_OPERATORS, "Lt", "Gt"))
            case _:
                problems.unsupported(f"{where}.operator", operator, _OPERATORS)
        if effect and effect not in _EFFECTS:
            problems.unsupported(f"{where}.effect", effect, _EFFECTS)
