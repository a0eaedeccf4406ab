"""ValidatingAdmissionPolicy: CEL expressions that refuse, warn or audit.

Upstream: apiserver/pkg/admission/plugin/policy/validating (dispatcher.go, validator.go). The cost budget is kept for
each expression, not for a policy as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from kwhatif.admission.object_store import name_of
from kwhatif.admission.policies.bound_policies import (
    NO_MESSAGE,
    Policy,
    PolicyInvocation,
    find_matching_policies,
    params_of,
)
from kwhatif.admission.policies.policy_expressions import EvaluationError
from kwhatif.admission.policies.request_view import RequestView
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.api.objects import section

_KIND = "ValidatingAdmissionPolicy"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_LONGEST_MESSAGE = 5 * 1024


class _Denial(msgspec.Struct, frozen=True):
    message: str
    reason: str = "Invalid"


def validate(request: Request) -> RequestRefusal | None:
    """The first denial is the answer; warnings go with it."""
    first: RequestRefusal | None = None
    view = RequestView(request)
    for policy, binding in find_matching_policies(_KIND, request):
        configured = True
        try:
            denials = [
                d
                for params in params_of(policy, binding, request)
                for d in _denials(PolicyInvocation(policy, view, params))
            ]
        except EvaluationError as problem:
            configured = False
            denials = [] if policy.ignores else [_Denial(f"failed to configure binding: {problem}")]
        except LookupError as kind:
            request.doubt(
                _KIND, f"{_KIND} {policy.name} is not asked: its parameters are not known ({kind})", NO_MESSAGE
            )
            continue
        for denial in denials:
            for action in section(binding, "spec").get("validationActions") or () if configured else ("Deny",):
                if action == "Warn":
                    where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{name_of(binding)}'"
                    request.warnings.add(f"Validation failed for {where}: {denial.message}")
                elif action == "Deny":
                    first = first or _refuse(request, policy, binding, denial)
    return first


def _refuse(request: Request, policy: Policy, binding: Object, denial: _Denial) -> RequestRefusal:
    why = f"{_KIND} '{policy.name}' with binding '{name_of(binding)}' denied request: {denial.message}"
    refused = request.forbidden(why, StatusCause("", why))
    return replace(refused, code=_CODES.get(denial.reason, 422), reason=denial.reason)


def _denials(asking: PolicyInvocation) -> Iterator[_Denial]:
    try:
        if not asking.matches_conditions():
            return
    except EvaluationError as problem:
        yield _Denial(str(problem))
        return
    for validation in each(asking.policy.spec, "validations"):
        try:
            if asking.value(str(validation.get("expression") or ""), "bool") is not True:
                yield _Denial(_message(asking, validation), validation.get("reason") or "Invalid")
        except EvaluationError as problem:
            if not asking.policy.ignores:
                yield _Denial(str(problem))


def _message(asking: PolicyInvocation, validation: Object) -> str:
    text = str(validation.get("messageExpression") or "")
    message = ""
    if text.strip():
        try:
            answer = asking.value(text, "string")
            message = answer.strip() if isinstance(answer, str) else ""
        except EvaluationError:
            message = ""
        if len(message.encode()) > _LONGEST_MESSAGE or "\n" in message:
            message = ""
    expression = str(validation.get("expression") or "").strip()
    return message or str(validation.get("message") or "").strip() or f"failed expression: {expression}"
