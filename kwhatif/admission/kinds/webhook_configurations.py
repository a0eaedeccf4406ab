"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

Upstream: pkg/apis/admissionregistration (v1/defaults.go, validation/validation.go),
apiserver/pkg/util/webhook/validation.go.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from kwhatif.admission.kinds.policy_kinds import check_conditions, check_rule
from kwhatif.admission.kinds.strategy import Strategy, static_suffix
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_choice,
    dns_1035_label,
    dns_subdomain,
    port_number,
    within_range,
)
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector

_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def _defaults(request: Request, configuration: Object, *, mutating: bool) -> None:
    for hook in each(configuration, "webhooks"):
        told = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
        for key, value in (told | ({"reinvocationPolicy": "Never"} if mutating else {})).items():
            hook[key] = value if hook.get(key) is None else hook[key]
        within(hook, "namespaceSelector")
        within(hook, "objectSelector")
        for rule in each(hook, "rules"):
            rule["scope"] = "*" if rule.get("scope") is None else rule["scope"]
        service = (hook.get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443


def _check(problems: Problems, configuration: Object, *, mutating: bool) -> None:
    check_metadata(problems, configuration)
    names: set[str] = set()
    for i, hook in enumerate(each(configuration, "webhooks")):
        path, name = f"webhooks[{i}]", hook.get("name") or ""
        _check_hook(problems, hook, path, mutating=mutating)
        _check_reviews(problems, hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name in names:
            problems.duplicate(f"{path}.name", name)
        elif name:
            names.add(name)


def _check_hook(problems: Problems, hook: Object, path: str, *, mutating: bool) -> None:
    _check_name(problems, hook.get("name") or "", f"{path}.name")
    for i, rule in enumerate(each(hook, "rules")):
        check_rule(problems, rule, f"{path}.rules[{i}]")
    check_choice(problems, hook.get("failurePolicy"), f"{path}.failurePolicy", ("Fail", "Ignore"))
    check_choice(problems, hook.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"))
    if hook.get("sideEffects") is None:
        problems.required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    check_choice(problems, hook.get("sideEffects"), f"{path}.sideEffects", _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and within_range(seconds, 1, 30):
        why = "the timeout value must be between 1 and 30 seconds"
        problems.invalid(f"{path}.timeoutSeconds", seconds, why)
    for key in ("namespaceSelector", "objectSelector"):
        check_label_selector(problems, hook.get(key), f"{path}.{key}")
    if mutating:
        again = ("IfNeeded", "Never")
        check_choice(problems, hook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", again)
    check_client(problems, hook.get("clientConfig") or {}, f"{path}.clientConfig")
    check_conditions(problems, each(hook, "matchConditions"), f"{path}.matchConditions")


def _check_name(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
        return
    wrong = dns_subdomain(name)
    if wrong:
        problems.invalid(path, name, ",".join(wrong))
    elif name.count(".") < 2:
        problems.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _check_reviews(problems: Problems, versions: list[str], path: str) -> None:
    if not versions:
        problems.required(path, f"must specify one of {', '.join(_REVIEWS)}")
        return
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            problems.invalid(f"{path}[{i}]", version, "duplicate version")
        else:
            problems.invalid(f"{path}[{i}]", version, *dns_1035_label(version))
        seen.add(version)
    if not seen & {*_REVIEWS}:
        problems.invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")


def check_client(problems: Problems, client: Object, path: str) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        problems.required(path, "exactly one of url or service is required")
    elif service is not None:
        _check_service(problems, service, f"{path}.service")
    else:
        _check_url(problems, str(url), f"{path}.url")


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


def _check_service(problems: Problems, service: Object, path: str) -> None:
    """Upstream reports a missing namespace at the field of the name, and a missing name at that of the namespace."""
    for key, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            problems.required(f"{path}.{key}")
    port = service.get("port") or 0
    wrong = port_number(port)
    if wrong:
        problems.invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}")
    place = service.get("path") or ""
    where = f"{path}.path"
    if place in ("", "/"):
        return
    if place == "//":
        problems.invalid(where, place, "segment[0] may not be empty")
        return
    if not place.startswith("/"):
        problems.invalid(where, place, "must start with a '/'")
    for i, step in enumerate(place[1:].removesuffix("/").split("/")):
        if not step:
            problems.invalid(where, place, f"segment[{i}] may not be empty")
        else:
            problems.invalid(where, place, *(f"segment[{i}]: {why}" for why in dns_subdomain(step)))


def _strategy(*, mutating: bool) -> Strategy:
    return Strategy(
        defaults=partial(_defaults, mutating=mutating),
        check=partial(_check, mutating=mutating),
        warnings=static_suffix,
        has_spec=False,
    )


STRATEGIES = {
    "ValidatingWebhookConfiguration": _strategy(mutating=False),
    "MutatingWebhookConfiguration": _strategy(mutating=True),
}
