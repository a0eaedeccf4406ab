"""ValidatingAdmissionPolicy: expressions say what is refused, warned of or noted.

Upstream: apiserver/pkg/admission/plugin/policy/validating (dispatcher.go, validator.go). What a policy costs in all is
not counted, only each of its expressions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.policies.bound_policies import UNSAID, Asking, Policy, asked, params_of
from kwhatif.admission.policies.policy_expressions import Failed
from kwhatif.admission.policies.view import View
from kwhatif.admission.request import Request, each
from kwhatif.admission.world import name_of

_KIND = "ValidatingAdmissionPolicy"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_LONGEST_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Denial:
    message: str
    reason: str = "Invalid"


def validate(request: Request) -> Refused | None:
    """The first denial is told; what is only warned of goes with it."""
    first: Refused | None = None
    view = View(request)
    for policy, binding in asked(_KIND, request):
        configured = True
        try:
            denials = [
                d for params in params_of(policy, binding, request) for d in _denials(Asking(policy, view, params))
            ]
        except Failed as problem:
            configured = False
            denials = [] if policy.ignores else [_Denial(f"failed to configure binding: {problem}")]
        except LookupError as kind:
            request.doubt(_KIND, f"{_KIND} {policy.name} is not asked: its parameters are not known ({kind})", UNSAID)
            continue
        for denial in denials:
            for action in (binding.get("spec") or {}).get("validationActions") or () if configured else ("Deny",):
                if action == "Warn":
                    where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{name_of(binding)}'"
                    request.warnings.append(f"Validation failed for {where}: {denial.message}")
                elif action == "Deny":
                    first = first or _refused(request, policy, binding, denial)
    return first


def _refused(request: Request, policy: Policy, binding: Object, denial: _Denial) -> Refused:
    why = f"{_KIND} '{policy.name}' with binding '{name_of(binding)}' denied request: {denial.message}"
    refused = request.forbidden(why, Cause("", why))
    return replace(refused, code=_CODES.get(denial.reason, 422), reason=denial.reason)


def _denials(asking: Asking) -> Iterator[_Denial]:
    try:
        if not asking.concerned():
            return
    except Failed as problem:
        yield _Denial(str(problem))
        return
    for validation in each(asking.policy.spec, "validations"):
        try:
            if asking.value(str(validation.get("expression") or ""), "bool") is not True:
                yield _Denial(_message(asking, validation), validation.get("reason") or "Invalid")
        except Failed as problem:
            if not asking.policy.ignores:
                yield _Denial(str(problem))


def _message(asking: Asking, validation: Object) -> str:
    text = str(validation.get("messageExpression") or "")
    message = ""
    if text.strip():
        try:
            found = asking.value(text, "string")
            message = found.strip() if isinstance(found, str) else ""
        except Failed:
            message = ""
        if len(message.encode()) > _LONGEST_MESSAGE or "\n" in message:
            message = ""
    expression = str(validation.get("expression") or "").strip()
    return message or str(validation.get("message") or "").strip() or f"failed expression: {expression}"
