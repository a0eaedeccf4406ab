"""Rules for update strategies.

Upstream: pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

import re
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_template import not_negative

__all__ = ["check_daemon_set", "check_deployment", "check_stateful_set"]

_ROLLING = "RollingUpdate"
_PERCENT = re.compile("[0-9]+%")


def check_deployment(problems: Problems, strategy: Object, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                why = "may not be specified when strategy `type` is 'Recreate'"
                problems.forbidden(f"{path}.rollingUpdate", why)
        case "RollingUpdate":
            where = f"{path}.rollingUpdate"
            most, more = (rolling or {}).get("maxUnavailable"), (rolling or {}).get("maxSurge")
            _count(problems, most, f"{where}.maxUnavailable")
            _count(problems, more, f"{where}.maxSurge")
            if not _number(most) and not _number(more):
                problems.invalid(f"{where}.maxUnavailable", most, "may not be 0 when `maxSurge` is 0")
            _not_above_all(problems, most, f"{where}.maxUnavailable")
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            problems.unsupported(path, shown, ("Recreate", _ROLLING))


def check_daemon_set(problems: Problems, strategy: Object, path: str) -> None:
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            where, rolling = f"{path}.rollingUpdate", strategy.get("rollingUpdate") or {}
            most, more = rolling.get("maxUnavailable"), rolling.get("maxSurge")
            _count(problems, most, f"{where}.maxUnavailable")
            _count(problems, more, f"{where}.maxSurge")
            _not_above_all(problems, most, f"{where}.maxUnavailable")
            _not_above_all(problems, more, f"{where}.maxSurge")
            if _number(most) and _number(more):
                problems.invalid(f"{where}.maxSurge", more, "may not be set when maxUnavailable is non-zero")
            if not _number(most) and not _number(more):
                problems.required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")
        case other:
            shown = {"Type": other, "RollingUpdate": strategy.get("rollingUpdate")}
            problems.unsupported(path, shown, (_ROLLING, "OnDelete"))


def check_stateful_set(problems: Problems, spec: Object) -> None:
    """Pod management, update strategy and what becomes of claims."""
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        problems.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy, path = spec.get("updateStrategy") or {}, "spec.updateStrategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                why = "only allowed for updateStrategy 'RollingUpdate'"
                problems.invalid(f"{path}.rollingUpdate", rolling, why)
        case "RollingUpdate":
            where = f"{path}.rollingUpdate"
            not_negative(problems, rolling or {}, "partition", where)
            most = (rolling or {}).get("maxUnavailable")
            if most is not None:
                _count(problems, most, f"{where}.maxUnavailable")
                if not _number(most):
                    problems.invalid(f"{where}.maxUnavailable", most, "cannot be 0")
                _not_above_all(problems, most, f"{where}.maxUnavailable")
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            problems.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled"):
        if retention.get(key) not in ("Retain", "Delete"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            problems.unsupported(where, retention.get(key), ("Retain", "Delete"))


def _count(problems: Problems, value: Any, path: str) -> None:
    """A count of pods, or a share of them."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            what = "a valid percent string must be a numeric string followed by an ending '%'"
            problems.invalid(path, value, f"{what} (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')")
    elif value is not None and value < 0:
        problems.invalid(path, value, "must be greater than or equal to 0")


def _not_above_all(problems: Problems, value: Any, path: str) -> None:
    if isinstance(value, str) and _PERCENT.fullmatch(value) and _number(value) > 100:
        problems.invalid(path, value, "must not be greater than 100%")


def _number(value: Any) -> int:
    """The number or the percentage; what is no percentage counts as nothing."""
    if isinstance(value, str):
        return int(value[:-1]) if _PERCENT.fullmatch(value) else 0
    return int(value or 0)
