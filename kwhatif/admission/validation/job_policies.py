"""Rules for what a job makes of its failed and its successful pods.

Upstream: pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.choices import check_choice
from kwhatif.admission.validation.name_rules import label_key
from kwhatif.admission.validation.problems import Problems

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MOST_RULES, _MOST_SUCCESS_RULES, _MOST_CODES, _MOST_CONDITIONS = 20, 20, 255, 20
_LONGEST_INDEXES = 64 * 1024


class _BadIndexes(Exception):
    """Indexes that cannot be read, and why."""


def check_pod_failure_policy(problems: Problems, spec: Object, path: str) -> None:
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    rules, path = each(policy, "rules"), f"{path}.rules"
    if len(rules) > _MOST_RULES:
        problems.too_many(path, len(rules), _MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {container.get("name") for key in ("containers", "initContainers") for container in each(pod, key)}
    for i, rule in enumerate(rules):
        where, action = f"{path}[{i}]", rule.get("action") or ""
        if action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                problems.invalid(f"{where}.action", action, "requires the backoffLimitPerIndex to be set")
        else:
            _word(problems, action, f"{where}.action", _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), each(rule, "onPodConditions")
        if codes is not None:
            _exit_codes(problems, codes, f"{where}.onExitCodes", names)
        if conditions:
            _conditions(problems, conditions, f"{where}.onPodConditions")
        if codes is not None and conditions:
            problems.wrong(where, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            problems.wrong(where, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(problems: Problems, codes: Object, path: str, names: set[str | None]) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    _word(problems, operator, f"{path}.operator", ("In", "NotIn"))
    container = codes.get("containerName")
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        problems.invalid(f"{path}.containerName", container, why)
    if not values:
        problems.invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > _MOST_CODES:
        problems.too_many(f"{path}.values", len(values), _MOST_CODES)
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            problems.invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator")
        if value in values[:i]:
            problems.duplicate(f"{path}.values[{i}]", value)
    if values != sorted(values):
        problems.invalid(f"{path}.values", values, "must be ordered")


def _conditions(problems: Problems, conditions: list[Object], path: str) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        problems.too_many(path, len(conditions), _MOST_CONDITIONS)
    for i, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        problems.invalid(f"{path}[{i}].type", kind, *label_key(kind))
        _word(problems, condition.get("status") or "", f"{path}[{i}].status", ("False", "True", "Unknown"))


def _word(problems: Problems, value: str, path: str, allowed: tuple[str, ...]) -> None:
    """One of a few words that cannot be left out."""
    if not value:
        listed = " ".join(f'"{word}"' for word in allowed)
        problems.required(path, f"valid values: [{listed}]")
    else:
        check_choice(problems, value, path, allowed)


def check_success_policy(problems: Problems, spec: Object, path: str) -> None:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        problems.invalid(path, policy, "requires indexed completion mode")
        return
    rules, path = each(policy, "rules"), f"{path}.rules"
    if not rules:
        problems.required(path, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_SUCCESS_RULES:
        problems.too_many(path, len(rules), _MOST_SUCCESS_RULES)
    for i, rule in enumerate(rules):
        _success(problems, rule, f"{path}[{i}]", spec.get("completions") or 0)


def _success(problems: Problems, rule: Object, path: str, completions: int) -> None:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        problems.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    if indexes is not None:
        if len(indexes.encode()) > _LONGEST_INDEXES:
            problems.too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)
        try:
            total = _how_many(indexes, completions)
        except _BadIndexes as error:
            problems.invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is not None:
        where = f"{path}.succeededCount"
        if count < 0:
            problems.invalid(where, count, "must be greater than or equal to 0")
        if count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            problems.invalid(where, count, why)
        if indexes is not None and count > total:
            which = "the number of indexes in the specified succeededIndexes field"
            problems.invalid(where, count, f"must be less than or equal to {total} ({which})")


def _how_many(text: str, completions: int) -> int:
    """The number of indexes in a text such as ``1,3-5``."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2:
            what = "an index interval can have at most two parts separated by '-'"
            raise _BadIndexes(f'the fragment "{part}" violates the requirement that {what}')
        first, final = _index(ends[0], completions), _index(ends[-1], completions)
        if len(ends) == 2 and first >= final:
            raise _BadIndexes(f"non-increasing order, previous: {first}, current: {final}")
        if last is not None and last >= first:
            raise _BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + final - first + 1, final
    return total


def _index(text: str, completions: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise _BadIndexes(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise _BadIndexes(f'too large index: "{text}"')
    return int(text)


def check_pod_replacement_policy(problems: Problems, spec: Object, path: str) -> None:
    """With rules for failed pods only those that have failed are replaced."""
    allowed = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
    check_choice(problems, spec.get("podReplacementPolicy"), path, allowed)
