"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

Upstream: pkg/apis/admissionregistration (v1/defaults.go, validation/validation.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kwhatif.admission.kinds.strategy import Strategy, static_suffix
from kwhatif.admission.object_store import name_of
from kwhatif.admission.policies.policy_expressions import ExpressionEnvironment, asks_authorizer, compile_expression
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label, dns_subdomain, label_key, path_segment
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.cel.declarations import Kind

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTABLE = ("CREATE", "UPDATE")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
# fmt: off
_RESERVED = frozenset([
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "namespace", "return", "var", "void", "while",
])
# fmt: on
_BREAKS = re.compile(r"[\n\r]")
_NOT_GIVEN = "expression is not specified"


# --- what is filled in


def _policy_defaults(request: Request, spec: Object) -> None:
    spec["failurePolicy"] = "Fail" if spec.get("failurePolicy") is None else spec["failurePolicy"]
    if isinstance(spec.get("matchConstraints"), dict):
        _match_defaults(spec["matchConstraints"])


def _binding_defaults(request: Request, spec: Object) -> None:
    if isinstance(spec.get("matchResources"), dict):
        _match_defaults(spec["matchResources"])


def _match_defaults(constraints: Object) -> None:
    if constraints.get("matchPolicy") is None:
        constraints["matchPolicy"] = "Equivalent"
    within(constraints, "namespaceSelector")
    within(constraints, "objectSelector")
    for rule in (*each(constraints, "resourceRules"), *each(constraints, "excludeResourceRules")):
        if rule.get("scope") is None:
            rule["scope"] = "*"


# --- what is the same in all


def _check_choice(problems: Problems, holder: Object, key: str, path: str, choices: Iterable[str]) -> None:
    value = holder.get(key)
    if value is None:
        problems.required(f"{path}.{key}")
    elif value not in choices:
        problems.unsupported(f"{path}.{key}", value, choices)


def _check_match(problems: Problems, constraints: Object, path: str) -> None:
    _check_choice(problems, constraints, "matchPolicy", path, ("Equivalent", "Exact"))
    for key in ("namespaceSelector", "objectSelector"):
        check_label_selector(problems, constraints.get(key), f"{path}.{key}")
    for key in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(each(constraints, key)):
            seen = set()
            for j, name in enumerate(rule.get("resourceNames") or ()):
                problems.invalid(f"{path}.{key}[{i}].resourceNames[{j}]", name, *path_segment(name))
                if name in seen:
                    problems.duplicate(f"{path}.{key}[{i}].resourceNames[{j}]", name)
                seen.add(name)
            check_rule(problems, rule, f"{path}.{key}[{i}]")


def check_rule(problems: Problems, rule: Object, path: str) -> None:
    """Operations, groups, versions and resources that a policy or a webhook is about."""
    operations: Sequence[str] = rule.get("operations") or ()
    _check_listed(problems, operations, f"{path}.operations", "operations")
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            problems.unsupported(f"{path}.operations[{i}]", operation, _OPERATIONS)
    _check_listed(problems, rule.get("apiGroups") or (), f"{path}.apiGroups", "API groups")
    versions: Sequence[str] = rule.get("apiVersions") or ()
    _check_listed(problems, versions, f"{path}.apiVersions", "API versions")
    for i, version in enumerate(versions):
        if not version:
            problems.required(f"{path}.apiVersions[{i}]")
    _check_resources(problems, rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") is not None and rule["scope"] not in ("*", "Cluster", "Namespaced"):
        problems.unsupported(f"{path}.scope", rule["scope"], ("*", "Cluster", "Namespaced"))


def _check_listed(problems: Problems, values: Sequence[str], path: str, what: str) -> None:
    if not values:
        problems.required(path)
    elif len(values) > 1 and "*" in values:
        problems.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _check_resources(problems: Problems, resources: Sequence[str], path: str) -> None:
    if not resources:
        problems.required(path)
    whole, parts = set(), set()
    alone = False
    for i, resource in enumerate(resources):
        if not resource:
            problems.required(f"{path}[{i}]")
            continue
        name, slash, part = resource.partition("/")
        if not slash:
            alone = resource != "*"
            continue
        if name in whole:
            problems.invalid(f"{path}[{i}]", resource, f"if '{name}/*' is present, must not specify {resource}")
        if part in parts:
            problems.invalid(f"{path}[{i}]", resource, f"if '*/{part}' is present, must not specify {resource}")
        if part == "*":
            whole.add(name)
        if name == "*":
            parts.add(part)
    if len(resources) > 1 and "*/*" in resources:
        problems.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and alone:
        why = "if '*' is present, must not specify other resources without subresources"
        problems.invalid(path, resources, why)


def _check_param_kind(problems: Problems, kind: Object, path: str) -> None:
    version, name = str(kind.get("apiVersion") or ""), str(kind.get("kind") or "")
    where = f"{path}.apiVersion"
    if not version:
        problems.required(where)
    elif version.count("/") > 1:
        problems.invalid(where, version, f"unexpected GroupVersion string: {version}")
    else:
        group, _, own = version.rpartition("/")
        if group and (wrong := dns_subdomain(group)):
            problems.invalid(where, group, ",".join(wrong))
        if not own:
            problems.invalid(where, version, "version must be specified")
        elif wrong := dns_1035_label(own):
            problems.invalid(where, own, ",".join(wrong))
    if not name:
        problems.required(f"{path}.kind")
    elif wrong := dns_1035_label(name.lower()):
        why = "may have mixed case, but should otherwise match: " + ",".join(wrong)
        problems.invalid(f"{path}.kind", name, why)


def _check_param_ref(problems: Problems, ref: Object, path: str) -> None:
    name, selector, action = ref.get("name") or "", ref.get("selector"), ref.get("parameterNotFoundAction") or ""
    both = "name and selector are mutually exclusive"
    if name:
        problems.invalid(f"{path}.name", name, *path_segment(name))
        if selector is not None:
            problems.forbidden(f"{path}.name", both)
    if selector is not None:
        check_label_selector(problems, selector, f"{path}.selector")
        if name:
            problems.forbidden(f"{path}.selector", both)
    if not name and selector is None:
        problems.required(path, "one of name or selector must be specified")
    if not action:
        problems.required(f"{path}.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        problems.unsupported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))


# --- expressions


def _check_expression(
    problems: Problems, text: str, path: str, wanted: str, scenery: ExpressionEnvironment, shown: str = ""
) -> None:
    if asks_authorizer(text):
        return
    found = compile_expression(text, wanted, scenery)
    if isinstance(found, str):
        problems.invalid(path, shown or text, found)


def check_conditions(problems: Problems, conditions: Sequence[Object], path: str, *, params: bool = False) -> None:
    """Match conditions, those of webhooks included."""
    names = set()
    if len(conditions) > 64:
        problems.too_many(path, len(conditions), 64)
    for i, condition in enumerate(conditions):
        where, name = f"{path}[{i}]", condition.get("name") or ""
        text = str(condition.get("expression") or "").strip()
        if not text:
            problems.required(f"{where}.expression")
        else:
            _check_expression(problems, text, f"{where}.expression", "bool", ExpressionEnvironment(params))
        if not name:
            problems.required(f"{where}.name")
        else:
            problems.invalid(f"{where}.name", name, *label_key(name))
            if name in names:
                problems.duplicate(f"{where}.name", name)
            names.add(name)


def _check_variables(problems: Problems, spec: Object, scenery: ExpressionEnvironment) -> ExpressionEnvironment:
    """What an expression after all variables can speak of."""
    known: list[tuple[str, Kind]] = []
    for i, variable in enumerate(each(spec, "variables")):
        where = f"spec.variables[{i}]"
        name, text = str(variable.get("name") or ""), str(variable.get("expression") or "")
        if not name.strip():
            problems.required(f"{where}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            problems.invalid(f"{where}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            problems.required(f"{where}.expression", _NOT_GIVEN)
            continue
        if asks_authorizer(text):
            known.append((name, Kind("dyn")))
            continue
        found = compile_expression(text, "any", ExpressionEnvironment(scenery.params, scenery.patches, tuple(known)))
        if isinstance(found, str):
            problems.invalid(f"{where}.expression", text, found)
        else:
            known.append((name, found.kind))
    return ExpressionEnvironment(scenery.params, scenery.patches, tuple(known) if known or scenery.patches else None)


# --- policies


def _check_policy(
    rest: Callable[[Problems, Object, Object, ExpressionEnvironment], None],
    patches: bool,
    problems: Problems,
    obj: Object,
) -> None:
    check_metadata(problems, obj)
    spec = within(obj, "spec")
    _check_choice(problems, spec, "failurePolicy", "spec", ("Fail", "Ignore"))
    params, constraints = spec.get("paramKind") is not None, spec.get("matchConstraints")
    if params:
        _check_param_kind(problems, spec["paramKind"], "spec.paramKind")
    if constraints is None:
        problems.required("spec.matchConstraints")
    else:
        _check_match(problems, constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            problems.required("spec.matchConstraints.resourceRules")
        if patches:
            _check_mutable(problems, constraints, "spec.matchConstraints")
    check_conditions(problems, each(spec, "matchConditions"), "spec.matchConditions", params=params)
    rest(problems, obj, spec, _check_variables(problems, spec, ExpressionEnvironment(params, patches)))


def _check_mutable(problems: Problems, constraints: Object, path: str) -> None:
    for rule in each(constraints, "resourceRules"):
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                problems.unsupported(f"{path}.resourceRules.operations", operation, _MUTABLE)


def _check_validations(problems: Problems, obj: Object, spec: Object, scenery: ExpressionEnvironment) -> None:
    validations, annotations = each(spec, "validations"), each(spec, "auditAnnotations")
    if not validations and not annotations:
        for key in ("validations", "auditAnnotations"):
            problems.required(f"spec.{key}", "validations or auditAnnotations must contain at least one item")
    for i, validation in enumerate(validations):
        _check_validation(problems, validation, f"spec.validations[{i}]", scenery)
    if len(annotations) > 20:
        problems.invalid("spec.auditAnnotations", annotations, "must not have more than 20 auditAnnotations")
    seen = set()
    for i, annotation in enumerate(annotations):
        where, key = f"spec.auditAnnotations[{i}]", str(annotation.get("key") or "")
        problems.invalid(f"{where}.key", f"{name_of(obj)}/{key}", *label_key(f"{name_of(obj)}/{key}"))
        value = str(annotation.get("valueExpression") or "")
        if not value.strip():
            problems.required(f"{where}.valueExpression", "valueExpression is not specified")
        elif len(value.strip().encode()) > 5 * 1024:
            problems.required(f"{where}.valueExpression", f"must not exceed {5 * 1024} bytes in length")
        else:
            _check_expression(problems, value.strip(), f"{where}.valueExpression", "annotation", scenery, value)
        if key in seen:
            problems.duplicate(f"{where}.key", key)
        seen.add(key)


def _check_validation(problems: Problems, validation: Object, path: str, scenery: ExpressionEnvironment) -> None:
    text, message = str(validation.get("expression") or ""), str(validation.get("message") or "")
    if not text.strip():
        problems.required(f"{path}.expression", _NOT_GIVEN)
    else:
        _check_expression(problems, text, f"{path}.expression", "bool", scenery)
    told = str(validation.get("messageExpression") or "")
    if told and not told.strip():
        problems.invalid(f"{path}.messageExpression", told, "must be non-empty if specified")
    elif told:
        _check_expression(problems, told, f"{path}.messageExpression", "string", scenery)
    if message and not message.strip():
        problems.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _BREAKS.search(message.strip()):
        problems.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        problems.unsupported(f"{path}.reason", reason, _REASONS)


def _check_mutations(problems: Problems, obj: Object, spec: Object, scenery: ExpressionEnvironment) -> None:
    mutations = each(spec, "mutations")
    if not mutations:
        problems.required("spec.mutations", "mutations must contain at least one item")
    for i, mutation in enumerate(mutations):
        _check_mutation(problems, mutation, f"spec.mutations[{i}]", scenery)
    policy = spec.get("reinvocationPolicy") or None
    _check_choice(problems, {"reinvocationPolicy": policy}, "reinvocationPolicy", "spec", ("IfNeeded", "Never"))


_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "jsonPatch", "Object"),
    "JSONPatch": ("jsonPatch", "applyConfiguration", "JSONPatch"),
}
"""The type of a patch -> the field that describes it, the one that must not be there, and what is made."""


def _check_mutation(problems: Problems, mutation: Object, path: str, scenery: ExpressionEnvironment) -> None:
    type_ = str(mutation.get("patchType") or "")
    if type_ not in _PATCHES:
        _check_choice(problems, {"patchType": type_ or None}, "patchType", path, sorted(_PATCHES))
        return
    own, other, wanted = _PATCHES[type_]
    if mutation.get(own) is None:
        problems.required(f"{path}.{own}", f"must be specified when patchType is {type_}")
    elif not (text := str(mutation[own].get("expression") or "").strip()):
        problems.required(f"{path}.{own}.expression")
    else:
        _check_expression(problems, text, f"{path}.{own}.expression", wanted, scenery)
    if mutation.get(other) is not None:
        problems.invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {type_}")


def _check_binding(validating: bool, problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = within(obj, "spec")
    name, resources = spec.get("policyName") or "", spec.get("matchResources")
    if not name:
        problems.required("spec.policyName")
    else:
        problems.invalid("spec.policyName", name, *dns_subdomain(name))
    if spec.get("paramRef") is not None:
        _check_param_ref(problems, spec["paramRef"], "spec.paramRef")
    if resources is not None:
        _check_match(problems, resources, "spec.matchResources")
    if not validating:
        _check_mutable(problems, resources or {}, "spec.matchResources")
        return
    actions, seen, path = spec.get("validationActions") or [], set(), "spec.validationActions"
    for i, action in enumerate(actions):
        if action not in ("Audit", "Deny", "Warn"):
            problems.unsupported(f"{path}[{i}]", action, ("Audit", "Deny", "Warn"))
        if action in seen:
            problems.duplicate(f"{path}[{i}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        purpose = "repeating the same validation failure information in the API response and headers serves no purpose"
        problems.invalid(path, actions, f"must not contain both Deny and Warn ({purpose})")
    if not actions:
        problems.required(path, "at least one validation action is required")


STRATEGIES = {
    kind: Strategy(defaults=defaults, check=check, warnings=static_suffix)
    for kind, defaults, check in (
        ("ValidatingAdmissionPolicy", _policy_defaults, partial(_check_policy, _check_validations, False)),
        ("MutatingAdmissionPolicy", _policy_defaults, partial(_check_policy, _check_mutations, True)),
        ("ValidatingAdmissionPolicyBinding", _binding_defaults, partial(_check_binding, True)),
        ("MutatingAdmissionPolicyBinding", _binding_defaults, partial(_check_binding, False)),
    )
}
