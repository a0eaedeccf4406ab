"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: which webhooks would be called for a request.

Their answers are unknown, so each webhook that would be called is noted by name. On a server that reaches none of them
(``Request.offline``) their failure policies decide. Upstream: apiserver/pkg/admission/plugin/webhook
(generic/webhook.go, validating and mutating/dispatcher.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from ipaddress import ip_address
from posixpath import join
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kwhatif.admission.object_store import ObjectStore, group_of, name_of
from kwhatif.admission.policies.matching import EXEMPT, ConstraintIndex, constraint_index_of
from kwhatif.admission.policies.policy_expressions import (
    EvaluationError,
    ExpressionEnvironment,
    asks_authorizer,
    compile_expression,
    evaluate_expression,
)
from kwhatif.admission.policies.request_view import ExpressionCache, RequestView
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.api.field_types import types_of
from kwhatif.api.objects import section
from kwhatif.versions import DEFAULT_MINOR

MUTATING, VALIDATING = "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"
_NO_ANSWER = "context deadline exceeded"
_CONFIGURATIONS = {MUTATING: "MutatingWebhookConfiguration", VALIDATING: "ValidatingWebhookConfiguration"}


class _Hook(msgspec.Struct, frozen=True, dict=True):
    """A webhook of a configuration."""

    configuration: Object
    hook: Object

    @cached_property
    def conditions(self) -> list[str]:
        return [str(condition.get("expression") or "") for condition in each(self.hook, "matchConditions")]

    @cached_property
    def expression_cache(self) -> ExpressionCache:
        return ExpressionCache()

    def constraints(self, request: Request) -> Object:
        """Its rules, which are also about other versions of the same resource, and its selectors."""
        rules = each(self.hook, "rules")
        if self.hook.get("matchPolicy") != "Exact":
            rules = [_equivalent(rule, request) for rule in rules]
        return {**{key: self.hook.get(key) for key in ("namespaceSelector", "objectSelector")}, "resourceRules": rules}


def _register(kind: str, world: ObjectStore) -> ConstraintIndex[_Hook]:
    configurations = sorted(world.all(kind), key=name_of)
    hooks = [_Hook(each_one, hook) for each_one in configurations for hook in each(each_one, "webhooks")]
    return ConstraintIndex([hook for hook in hooks if each(hook.hook, "rules")], _Hook.constraints)


def _ask(step: str, request: Request) -> RequestRefusal | None:
    kind = _CONFIGURATIONS[step]
    if group_of(request.object) == EXEMPT:
        return None
    register = constraint_index_of(request.store, (kind,), partial(_register, kind))
    called: list[_Hook] = []
    view = RequestView(request)
    for hook in register.find_matching(request):
        concerned = _matches_conditions(hook, view)
        if isinstance(concerned, str):
            return request.forbidden(concerned)
        if concerned and step == MUTATING:
            # One after the other: the first that cannot be reached ends the request.
            refused = _call_webhook(step, hook.configuration, hook.hook, request)
            if refused is not None:
                return refused
        elif concerned:
            called.append(hook)
    answers = [_call_webhook(step, hook.configuration, hook.hook, request) for hook in called]
    return next((refused for refused in answers if refused is not None), None)


def _call_webhook(step: str, configuration: Object, hook: Object, request: Request) -> RequestRefusal | None:
    policy = hook.get("failurePolicy") or "Fail"
    if request.offline or _has_no_route(hook, request.store):
        return None if policy == "Ignore" else _unreachable(hook, request.store)
    text = "lets the request in" if policy == "Ignore" else "refuses the request"
    what = f"webhook {hook.get('name')} of {name_of(configuration)} would be asked: what it answers is not known"
    request.doubt(step, what, f"if it cannot be reached, its failure policy {policy} {text}")
    return None


def _matches_conditions(hook: _Hook, view: RequestView) -> bool | str:
    """Whether the conditions of a webhook hold; what is wrong where they cannot be worked out."""
    if not hook.conditions or any(map(asks_authorizer, hook.conditions)):
        return True
    failed = []
    for text in hook.conditions:
        try:
            if hook.expression_cache.value(text, "bool", view, None, partial(_condition, text, view)) is False:
                return False
        except EvaluationError as problem:
            failed.append(str(problem))
    if not failed:
        return True
    if hook.hook.get("failurePolicy") == "Ignore":
        return False
    return failed[0] if len(failed) == 1 else f"[{', '.join(failed)}]"


def _condition(text: str, view: RequestView) -> Any:
    return evaluate_expression(compile_expression(text, "bool", ExpressionEnvironment()), text, view.values)


def _equivalent(rule: Object, request: Request) -> Object:
    """A rule about another version of the same resource is about this one, too."""
    group, _, _ = str(request.object.get("apiVersion") or "").rpartition("/")
    others = types_of(DEFAULT_MINOR).versions.get(str(request.object.get("kind") or ""), ())
    versions = {other.rpartition("/")[2] for other in others if other.rpartition("/")[0] == group}
    return {**rule, "apiVersions": ["*"]} if versions & set(rule.get("apiVersions") or ()) else rule


def _unreachable(hook: Object, world: ObjectStore) -> RequestRefusal:
    client: Mapping[str, Any] = section(hook, "clientConfig")
    service, seconds = client.get("service"), hook.get("timeoutSeconds") or 10
    if service is not None:
        port = service.get("port") or 443
        address = f"https://{service.get('name')}.{service.get('namespace')}.svc:{port}"
        address += join("/", (service.get("path") or "").strip("/"))
        why = _no_route(service, port, world)
    else:
        address = str(client.get("url") or "")
        why = _no_connection(address)
    call = f'failed to call webhook: Post "{address}?timeout={seconds}s": {why}'
    message = f'failed calling webhook "{hook.get("name")}": {call}'
    return RequestRefusal(500, "InternalError", f"Internal error occurred: {message}", (StatusCause("", message),))


def _has_no_route(hook: Object, world: ObjectStore) -> bool:
    """Whether the server finds no address for the service of a webhook, whoever listens: it is not there, headless, or
    without the port.
    """
    called = section(hook, "clientConfig").get("service")
    if not called:
        return False
    key = "Service", str(called.get("namespace") or ""), str(called.get("name") or "")
    service = world.get(*key)
    if service is None or world.is_sketch(service):
        return world.lacks(*key)
    return _no_route(called, called.get("port") or 443, world) != _NO_ANSWER


def _no_route(service: Object, port: int, world: ObjectStore) -> str:
    name = service.get("name") or ""
    service_object = world.get("Service", str(service.get("namespace") or ""), name)
    if service_object is None:
        return f'service "{name}" not found'
    spec = section(service_object, "spec")
    if spec.get("clusterIP") == "None":
        return 'cannot route to service with ClusterIP "None"'
    if all(listed.get("port") != port for listed in each(spec, "ports")):
        return f'no service port {port} found for service "{name}"'
    return _NO_ANSWER


def _no_connection(address: str) -> str:
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 443
    try:
        ip_address(host)
    except ValueError:
        return f"dial tcp: lookup {host}: no such host"
    return f"dial tcp {f'[{host}]' if ':' in host else host}:{port}: connect: connection refused"


admit = partial(_ask, MUTATING)
validate = partial(_ask, VALIDATING)
