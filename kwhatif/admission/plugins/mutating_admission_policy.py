"""MutatingAdmissionPolicy: expressions say what is set in an object.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go, generic/policy_dispatcher.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.kinds.strategy import strategy_of
from kwhatif.admission.policies.bound_policies import UNSAID, Asking, Policy, asked, params_of
from kwhatif.admission.policies.patching import Inapplicable, applied, patched
from kwhatif.admission.policies.policy_expressions import Failed, compiled, evaluated
from kwhatif.admission.policies.view import View, seen
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.world import name_of
from kwhatif.api.field_types import newest_types

_KIND = "MutatingAdmissionPolicy"


def admit(request: Request) -> Refused | None:
    """All policies are asked; what fails refuses the request, unless the policy passes errors over.

    When the others have been asked again because of a change, those policies are that want to be.
    """
    problems: list[tuple[str, str]] = []
    view = View(request)
    for policy, binding in list(asked(_KIND, request)):
        if request.again and policy.spec.get("reinvocationPolicy") != "IfNeeded":
            continue
        where = f"policy '{policy.name}' with binding '{name_of(binding)}' denied request"
        try:
            for params in params_of(policy, binding, request):
                for problem in _mutate(request, Asking(policy, view, params)):
                    problems += [(f"{where}: {problem}", "Invalid")] * (not policy.ignores)
                view = View(request)
        except Failed as problem:
            problems += [(f"{where}: failed to configure binding: {problem}", "Forbidden")] * (not policy.ignores)
        except LookupError as kind:
            request.doubt(_KIND, f"{_KIND} {policy.name} is not asked: its parameters are not known ({kind})", UNSAID)
    if not problems:
        return None
    message, _ = problems[0]
    reason = next((reason for _, reason in problems[:1]), "Forbidden")
    return Refused(403, reason, message, tuple(Cause("", text) for text, _ in problems))


def _mutate(request: Request, asking: Asking) -> list[str]:
    """Do what a policy's mutations say, one after the other; what went wrong."""
    policy = asking.policy
    try:
        if not asking.concerned():
            return []
    except Failed as problem:
        return [str(problem)]
    problems, scenery = [], policy.scenery()
    for mutation in each(policy.spec, "mutations"):
        apply = mutation.get("patchType") == "ApplyConfiguration"
        text = str((mutation.get("applyConfiguration" if apply else "jsonPatch") or {}).get("expression") or "").strip()
        try:
            program = compiled(text, "Object" if apply else "JSONPatch", scenery)
            made = evaluated(program, text, policy.with_variables(asking.values | {"object": seen(request.object)}))
            result = _applied(request.object, made) if apply else patched(seen(request.object), made)
        except (Failed, Inapplicable) as problem:
            problems.append(str(problem))
            continue
        if result is not None:
            _keep(request, policy, result)
    return problems


def _applied(obj: Object, made: Any) -> Object | None:
    """The object with a configuration applied; None if nothing is known of its fields."""
    types = newest_types()
    served = types.served(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    return None if served is None else applied(obj, made, served.type, types)


def _keep(request: Request, policy: Policy, result: Object) -> None:
    before, request.object = request.object, result
    strategy = strategy_of(result)
    strategy.defaults(request, within(result, "spec") if strategy.has_spec else result)
    if result != before:
        request.mutated = True
        request.changed(_KIND, "", f"as {policy.name} says")
