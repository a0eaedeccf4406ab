"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

Upstream: pkg/apis/admissionregistration (v1/defaults.go, validation/validation.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from kwhatif.admission.kinds.strategy import Strategy, static_suffix
from kwhatif.admission.object_store import name_of
from kwhatif.admission.policies.policy_expressions import ExpressionEnvironment, asks_authorizer, compile_expression
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label, dns_subdomain, label_key
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.cel.declarations import Kind

_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
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


def _is_mixed(values: Sequence[str]) -> bool:
    return len(values) > 1 and "*" in values


check_rule = table(
    """
    operations               required
    operations               not mixed: if '*' is present, must not specify other operations
    operations[]             one_of * CONNECT CREATE DELETE UPDATE
    apiGroups                required
    apiGroups                not mixed: if '*' is present, must not specify other API groups
    apiVersions              required
    apiVersions              not mixed: if '*' is present, must not specify other API versions
    apiVersions[]            required
    resources                list & _check_resources
    scope                    one_of * Cluster Namespaced
    """,
    _check_resources,
    mixed=_is_mixed,
)
"""Operations, groups, versions and resources that a policy or a webhook is about."""
_MATCH = table(
    """
    matchPolicy              present & one_of Equivalent Exact
    namespaceSelector        check_label_selector
    objectSelector           check_label_selector
    resourceRules[].resourceNames[]            path_segment
    resourceRules[].resourceNames[]            unique
    resourceRules[]                            check_rule
    excludeResourceRules[].resourceNames[]     path_segment
    excludeResourceRules[].resourceNames[]     unique
    excludeResourceRules[]                     check_rule
    """,
    check_label_selector=check_label_selector,
    check_rule=check_rule,
)


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


_PARAM_REF = table(
    """
    name                     if_nonempty & path_segment
    name                     forbidden if name and selector?: name and selector are mutually exclusive
    selector                 check_label_selector
    selector                 forbidden if name: name and selector are mutually exclusive
    .                        missing unless name or selector?: one of name or selector must be specified
    parameterNotFoundAction  required & one_of Deny Allow
    """,
    check_label_selector=check_label_selector,
)


# --- expressions


def _check_expression(
    problems: Problems, text: str, path: str, kind: str, scenery: ExpressionEnvironment, shown: str = ""
) -> None:
    if asks_authorizer(text):
        return
    program = compile_expression(text, kind, scenery)
    if isinstance(program, str):
        problems.invalid(path, shown or text, program)


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
        _CONDITION(problems, condition, where)
        if name and name in names:
            problems.duplicate(f"{where}.name", name)
        names.add(name)


_CONDITION = table("name required & label_key")


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
        program = compile_expression(text, "any", ExpressionEnvironment(scenery.params, scenery.patches, tuple(known)))
        if isinstance(program, str):
            problems.invalid(f"{where}.expression", text, program)
        else:
            known.append((name, program.kind))
    return ExpressionEnvironment(scenery.params, scenery.patches, tuple(known) if known or scenery.patches else None)


# --- policies


_POLICY = object_table(
    """
    spec.failurePolicy                       present & one_of Fail Ignore
    spec.paramKind                           _check_param_kind
    spec.matchConstraints                    present
    spec.matchConstraints                    match
    spec.matchConstraints?.resourceRules     required
    """,
    _check_param_kind,
    match=_MATCH,
)


def _check_policy(
    check_others: Callable[[Problems, Object, Object, ExpressionEnvironment], None],
    patches: bool,
    problems: Problems,
    obj: Object,
) -> None:
    spec = within(obj, "spec")
    _POLICY(problems, obj)
    if patches and spec.get("matchConstraints") is not None:
        _check_mutable(problems, spec["matchConstraints"], "spec.matchConstraints")
    params = spec.get("paramKind") is not None
    check_conditions(problems, each(spec, "matchConditions"), "spec.matchConditions", params=params)
    check_others(problems, obj, spec, _check_variables(problems, spec, ExpressionEnvironment(params, patches)))


def _check_mutable(problems: Problems, constraints: Object, path: str) -> None:
    for rule in each(constraints, "resourceRules"):
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                problems.not_supported(f"{path}.resourceRules.operations", operation, _MUTABLE)


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
    message_expression = str(validation.get("messageExpression") or "")
    if message_expression and not message_expression.strip():
        problems.invalid(f"{path}.messageExpression", message_expression, "must be non-empty if specified")
    elif message_expression:
        _check_expression(problems, message_expression, f"{path}.messageExpression", "string", scenery)
    if message and not message.strip():
        problems.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _BREAKS.search(message.strip()):
        problems.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        problems.not_supported(f"{path}.reason", reason, _REASONS)


def _check_mutations(problems: Problems, obj: Object, spec: Object, scenery: ExpressionEnvironment) -> None:
    mutations = each(spec, "mutations")
    if not mutations:
        problems.required("spec.mutations", "mutations must contain at least one item")
    for i, mutation in enumerate(mutations):
        _check_mutation(problems, mutation, f"spec.mutations[{i}]", scenery)
    _REINVOCATION(problems, spec, "spec")


_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "jsonPatch", "Object"),
    "JSONPatch": ("jsonPatch", "applyConfiguration", "JSONPatch"),
}
"""The type of a patch -> the field that describes it, the one that must not be there, and what is made."""


_PATCH_TYPE = table("patchType required & one_of ApplyConfiguration JSONPatch")
_REINVOCATION = table("reinvocationPolicy required & one_of IfNeeded Never")


def _check_mutation(problems: Problems, mutation: Object, path: str, scenery: ExpressionEnvironment) -> None:
    _PATCH_TYPE(problems, mutation, path)
    type_ = str(mutation.get("patchType") or "")
    if type_ not in _PATCHES:
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


_PURPOSE = "repeating the same validation failure information in the API response and headers serves no purpose"
_BINDING = """
    spec.policyName              required & dns_subdomain
    spec.paramRef                param_ref
    spec.matchResources          match
"""
_ACTIONS = f"""
    spec.validationActions[]     one_of Audit Deny Warn
    spec.validationActions[]     unique
    spec.validationActions       not both: must not contain both Deny and Warn ({_PURPOSE})
    spec.validationActions       required: at least one validation action is required
"""
_VALIDATING_BINDING = object_table(
    _BINDING + _ACTIONS, param_ref=_PARAM_REF, match=_MATCH, both=lambda actions: {"Deny", "Warn"} <= {*actions}
)
_MUTATING_BINDING = object_table(
    f"{_BINDING}    spec.matchResources          _check_mutable", _check_mutable, param_ref=_PARAM_REF, match=_MATCH
)
STRATEGIES = {
    kind: Strategy(defaults=defaults, check=check, warnings=static_suffix)
    for kind, defaults, check in (
        ("ValidatingAdmissionPolicy", _policy_defaults, partial(_check_policy, _check_validations, False)),
        ("MutatingAdmissionPolicy", _policy_defaults, partial(_check_policy, _check_mutations, True)),
        ("ValidatingAdmissionPolicyBinding", _binding_defaults, _VALIDATING_BINDING),
        ("MutatingAdmissionPolicyBinding", _binding_defaults, _MUTATING_BINDING),
    )
}
