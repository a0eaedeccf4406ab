"""Rules for update strategies.

Upstream: pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.choices import check_share, check_share_at_most_all, share
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_template import not_negative

_ROLLING = "RollingUpdate"


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
            check_share(problems, most, f"{where}.maxUnavailable")
            check_share(problems, more, f"{where}.maxSurge")
            if not share(most) and not share(more):
                problems.invalid(f"{where}.maxUnavailable", most, "may not be 0 when `maxSurge` is 0")
            check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
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
            check_share(problems, most, f"{where}.maxUnavailable")
            check_share(problems, more, f"{where}.maxSurge")
            check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
            check_share_at_most_all(problems, more, f"{where}.maxSurge")
            if share(most) and share(more):
                problems.invalid(f"{where}.maxSurge", more, "may not be set when maxUnavailable is non-zero")
            if not share(most) and not share(more):
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
                check_share(problems, most, f"{where}.maxUnavailable")
                if not share(most):
                    problems.invalid(f"{where}.maxUnavailable", most, "cannot be 0")
                check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            problems.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled"):
        if retention.get(key) not in ("Retain", "Delete"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            problems.unsupported(where, retention.get(key), ("Retain", "Delete"))
