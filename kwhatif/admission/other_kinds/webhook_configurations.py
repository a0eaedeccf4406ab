"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

Upstream: pkg/apis/admissionregistration (v1/defaults.go, validation/validation.go),
apiserver/pkg/util/webhook/validation.go.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from kwhatif.admission.kinds.strategy import Strategy, static_suffix
from kwhatif.admission.other_kinds.policy_kinds import check_conditions, check_rule
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label, dns_subdomain
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.objects import section

_FORM = "; desired format: https://host[/path]"


def _defaults(request: Request, configuration: Object, *, mutating: bool) -> None:
    for hook in each(configuration, "webhooks"):
        fields = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
        for key, value in (fields | ({"reinvocationPolicy": "Never"} if mutating else {})).items():
            hook[key] = value if hook.get(key) is None else hook[key]
        within(hook, "namespaceSelector")
        within(hook, "objectSelector")
        for rule in each(hook, "rules"):
            rule["scope"] = "*" if rule.get("scope") is None else rule["scope"]
        service = section(hook, "clientConfig").get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443


def check_reviews(problems: Problems, versions: list[str], path: str) -> None:
    seen: set[str] = set()
    for i, version in enumerate(versions):
        wrong = ["duplicate version"] if version in seen else dns_1035_label(version)
        problems.invalid(f"{path}[{i}]", version, *wrong)
        seen.add(version)
    if not seen & {"v1", "v1beta1"}:
        problems.invalid(path, versions, "must include at least one of v1, v1beta1")


def _name(name: str) -> list[str]:
    wrong = dns_subdomain(name)
    few = [] if name.count(".") > 1 else ["should be a domain with at least three segments separated by dots"]
    return [",".join(wrong)] if wrong else few


def _check_url(problems: Problems, url: str, path: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        problems.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        problems.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        problems.invalid(path, host, f"host must be specified{_FORM}")
    if at:
        problems.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        problems.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        problems.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _path(path: str) -> list[str]:
    if path in ("", "/"):
        return []
    if path == "//":
        return ["segment[0] may not be empty"]
    wrong = [] if path.startswith("/") else ["must start with a '/'"]
    for i, step in enumerate(path[1:].removesuffix("/").split("/")):
        wrong += [f"segment[{i}]: {why}" for why in dns_subdomain(step)] if step else [f"segment[{i}] may not be empty"]
    return wrong


# Upstream reports a missing namespace at the field of the name, and a missing name at that of the namespace.
check_client = table(
    """
    .                        missing! if url? and service?: exactly one of url or service is required
    .                        missing unless url? or service?: exactly one of url or service is required
    service?.namespace       required @ name
    service?.name            required @ namespace
    service?.port            number & service_port
    service?.path            text & _path
    url                      _check_url
    """,
    *(_path, _check_url),
)
_HOOK = """
    webhooks[].name                          required & _name
    webhooks[].rules[]                       check_rule
    webhooks[].failurePolicy                 one_of Fail Ignore
    webhooks[].matchPolicy                   one_of Equivalent Exact
    webhooks[].sideEffects                   present: must specify one of None, NoneOnDryRun
    webhooks[].sideEffects                   one_of None NoneOnDryRun
    webhooks[].timeoutSeconds                between 1 30: the timeout value must be between 1 and 30 seconds
    webhooks[].namespaceSelector             check_label_selector
    webhooks[].objectSelector                check_label_selector
    webhooks[].reinvocationPolicy            reinvocation
    webhooks[].clientConfig                  part & check_client
    webhooks[].matchConditions               check_conditions
    webhooks[].admissionReviewVersions       required: must specify one of v1, v1beta1
    webhooks[].admissionReviewVersions       if_nonempty & check_reviews
    webhooks[]                               unique name if_nonempty
"""


def _strategy(*, mutating: bool) -> Strategy:
    return Strategy(
        defaults=partial(_defaults, mutating=mutating),
        check=object_table(
            _HOOK.replace("reinvocation\n", "one_of IfNeeded Never\n") if mutating else _HOOK,
            *(_name, check_conditions, check_reviews),
            check_label_selector=check_label_selector,
            check_rule=check_rule,
            check_client=check_client,
            reinvocation=lambda policy: [],
        ),
        warnings=static_suffix,
        has_spec=False,
    )


STRATEGIES = {
    "ValidatingWebhookConfiguration": _strategy(mutating=False),
    "MutatingWebhookConfiguration": _strategy(mutating=True),
}
