"""The rules for what configures the API server: definitions, admission policies, webhooks, service accounts.

Whom they are about stays, under pseudonyms. What they say goes: expressions, messages and schemas are full of names
that nobody could tell from words of a language, and a policy that said something else would be worse than none. A
policy whose expressions went says so (``EXPRESSION_GONE``), so that whatever it would have had a part in is known to
lack it.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.policies.policy_expressions import EXPRESSION_GONE
from kwhatif.api.kinds import API_GROUPS, GROUPS, plural_of
from kwhatif.redaction.pseudonyms import Names
from kwhatif.redaction.shared_rules import API_VERSION, KIND, LABEL_SELECTOR, NAME, object_of
from kwhatif.redaction.treatments import GONE, Rule, each, fields, flag, named, number, one_of

_OWN_GROUPS = frozenset({"", "*", *API_GROUPS})
_OWN_RESOURCES = frozenset({"*", "*/*", *map(plural_of, GROUPS)})


def _group(value: Any, names: Names) -> Any:
    if not isinstance(value, str):
        return GONE
    return value if value in _OWN_GROUPS else names.qualified(value)


def _resource(value: Any, names: Names) -> Any:
    """``pods``, ``pods/exec``; those of others are made up names."""
    if not isinstance(value, str):
        return GONE
    plural = value.partition("/")[0]
    return value if value in _OWN_RESOURCES or plural in _OWN_RESOURCES else names.name(value)


def _gone(value: Any, names: Names) -> Any:
    return EXPRESSION_GONE


def _version(value: Any, names: Names) -> Any:
    """``v1``; the version of a pseudonymous group follows from the first part of it."""
    return value if value == "*" else API_VERSION(f"apps/{value}", names).rpartition("/")[2]


_RULE = fields(
    operations=each(one_of("*", "CREATE", "UPDATE", "DELETE", "CONNECT")),
    apiGroups=each(_group),
    apiVersions=each(_version),
    resources=each(_resource),
    resourceNames=each(NAME),
    scope=one_of("*", "Namespaced", "Cluster"),
)
_MATCH = one_of("Exact", "Equivalent")
_FAILURE = one_of("Fail", "Ignore")
_AGAIN = one_of("Never", "IfNeeded")
_SELECTORS: dict[str, Rule] = {
    "matchPolicy": _MATCH,
    "namespaceSelector": LABEL_SELECTOR,
    "objectSelector": LABEL_SELECTOR,
}
_CONSTRAINTS = fields(_SELECTORS, resourceRules=each(_RULE), excludeResourceRules=each(_RULE))
_EXPRESSION = fields(expression=_gone)

_POLICY = object_of(
    {
        "spec": fields(
            failurePolicy=_FAILURE,
            paramKind=fields(apiVersion=API_VERSION, kind=KIND),
            matchConstraints=_CONSTRAINTS,
            matchConditions=each(fields(name=NAME, expression=_gone)),
            validations=each(_EXPRESSION),
            mutations=each(
                fields(
                    patchType=one_of("ApplyConfiguration", "JSONPatch"),
                    applyConfiguration=_EXPRESSION,
                    jsonPatch=_EXPRESSION,
                )
            ),
            reinvocationPolicy=_AGAIN,
        )
    }
)
_BINDING = object_of(
    {
        "spec": fields(
            policyName=NAME,
            paramRef=fields(
                name=NAME,
                namespace=NAME,
                selector=LABEL_SELECTOR,
                parameterNotFoundAction=one_of("Allow", "Deny"),
            ),
            matchResources=_CONSTRAINTS,
            validationActions=each(one_of("Deny", "Warn", "Audit")),
        )
    }
)
_WEBHOOKS = object_of(
    {
        "webhooks": each(
            # Without its conditions a webhook is taken to be asked more often than it is, never less.
            fields(
                _SELECTORS,
                name=NAME,
                rules=each(_RULE),
                failurePolicy=_FAILURE,
                sideEffects=one_of("None", "NoneOnDryRun"),
                timeoutSeconds=number,
                reinvocationPolicy=_AGAIN,
            )
        )
    }
)
_DEFINITION = object_of(
    {
        "spec": fields(
            group=named(Names.qualified),
            scope=one_of("Namespaced", "Cluster"),
            names=fields(kind=NAME, plural=NAME, singular=NAME, listKind=NAME),
            versions=each(fields(name=_version, served=flag, storage=flag, deprecated=flag)),
        )
    }
)

ADMISSION_RULES: dict[str, Rule] = {
    "APIService": object_of(
        {"spec": fields(group=_group, version=_version, service=fields(namespace=NAME, name=NAME))}
    ),
    "CustomResourceDefinition": _DEFINITION,
    "MutatingAdmissionPolicy": _POLICY,
    "MutatingAdmissionPolicyBinding": _BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ServiceAccount": object_of({}),
    "ValidatingAdmissionPolicy": _POLICY,
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
"""Kind -> rule."""
