"""MutatingAdmissionPolicy: mutations of objects by CEL expressions.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go, generic/policy_dispatcher.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.kinds.strategy import strategy_of
from kwhatif.admission.object_store import name_of
from kwhatif.admission.policies.bound_policies import (
    NO_MESSAGE,
    Policy,
    PolicyInvocation,
    find_matching_policies,
    params_of,
)
from kwhatif.admission.policies.patching import PatchError, apply_configuration, apply_json_patch
from kwhatif.admission.policies.policy_expressions import EvaluationError, compile_expression, evaluate_expression
from kwhatif.admission.policies.request_view import RequestView, to_unstructured
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.api.field_types import newest_types

_KIND = "MutatingAdmissionPolicy"


def admit(request: Request) -> RequestRefusal | None:
    """All matching policies run; an error refuses the request, unless the failure policy is to ignore it.

    In the second pass, after a change, only policies whose reinvocation policy asks for it run again.
    """
    problems: list[tuple[str, str]] = []
    view = RequestView(request)
    for policy, binding in list(find_matching_policies(_KIND, request)):
        if request.is_reinvocation and policy.spec.get("reinvocationPolicy") != "IfNeeded":
            continue
        where = f"policy '{policy.name}' with binding '{name_of(binding)}' denied request"
        try:
            for params in params_of(policy, binding, request):
                for problem in _mutate(request, PolicyInvocation(policy, view, params)):
                    problems += [(f"{where}: {problem}", "Invalid")] * (not policy.ignores)
                view = RequestView(request)
        except EvaluationError as problem:
            problems += [(f"{where}: failed to configure binding: {problem}", "Forbidden")] * (not policy.ignores)
        except LookupError as kind:
            request.doubt(
                _KIND, f"{_KIND} {policy.name} is not asked: its parameters are not known ({kind})", NO_MESSAGE
            )
    if not problems:
        return None
    message, _ = problems[0]
    reason = next((reason for _, reason in problems[:1]), "Forbidden")
    return RequestRefusal(403, reason, message, tuple(StatusCause("", text) for text, _ in problems))


def _mutate(request: Request, asking: PolicyInvocation) -> list[str]:
    """Do what a policy's mutations say, one after the other; what went wrong."""
    policy = asking.policy
    try:
        if not asking.matches_conditions():
            return []
    except EvaluationError as problem:
        return [str(problem)]
    problems, scenery = [], policy.environment()
    for mutation in each(policy.spec, "mutations"):
        apply = mutation.get("patchType") == "ApplyConfiguration"
        text = str((mutation.get("applyConfiguration" if apply else "jsonPatch") or {}).get("expression") or "").strip()
        try:
            program = compile_expression(text, "Object" if apply else "JSONPatch", scenery)
            made = evaluate_expression(
                program, text, policy.with_variables(asking.values | {"object": to_unstructured(request.object)})
            )
            result = (
                _apply_configuration(request.object, made)
                if apply
                else apply_json_patch(to_unstructured(request.object), made)
            )
        except (EvaluationError, PatchError) as problem:
            problems.append(str(problem))
            continue
        if result is not None:
            _keep(request, policy, result)
    return problems


def _apply_configuration(obj: Object, value: Any) -> Object | None:
    """The object with a configuration applied; None if nothing is known of its fields."""
    types = newest_types()
    served = types.api_resource_of(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    return None if served is None else apply_configuration(obj, value, served.type, types)


def _keep(request: Request, policy: Policy, result: Object) -> None:
    before, request.object = request.object, result
    strategy = strategy_of(result)
    strategy.defaults(request, within(result, "spec") if strategy.has_spec else result)
    if result != before:
        request.is_mutated = True
        request.record_change(_KIND, "", f"as {policy.name} says")
