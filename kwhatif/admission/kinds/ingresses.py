"""Ingresses and their classes.

Upstream: pkg/apis/networking/validation/validation.go, pkg/registry/networking/ingress/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import each
from kwhatif.admission.validation.addresses import read_address
from kwhatif.admission.validation.choices import check_choice, check_domain_path, check_name_in_path
from kwhatif.admission.validation.name_rules import (
    dns_label,
    dns_subdomain,
    port_name,
    port_number,
    wildcard_subdomain,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_metadata

_CLASS = "kubernetes.io/ingress.class"
_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_WITHIN = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")
_LONGEST_CONTROLLER = 250


def _check(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    rules, default = each(spec, "rules"), spec.get("defaultBackend")
    if not rules and default is None:
        problems.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if default is not None:
        _backend(problems, default, "spec.defaultBackend")
    for i, rule in enumerate(rules):
        where, host = f"spec.rules[{i}]", rule.get("host") or ""
        if host:
            if read_address(host) is not None:
                problems.invalid(f"{where}.host", host, "must be a DNS name, not an IP address")
            _host(problems, host, f"{where}.host")
        if rule.get("http") is not None:
            _paths(problems, each(rule["http"], "paths"), f"{where}.http.paths")
    for i, tls in enumerate(each(spec, "tls")):
        for j, host in enumerate(tls.get("hosts") or ()):
            _host(problems, host or "", f"spec.tls[{i}].hosts[{j}]")
        secret = tls.get("secretName")
        if secret:
            problems.invalid(f"spec.tls[{i}].secretName", secret, *dns_subdomain(secret))
    its_class = spec.get("ingressClassName")
    if its_class is not None:
        problems.invalid("spec.ingressClassName", its_class, *dns_subdomain(its_class))
    annotated = ((obj.get("metadata") or {}).get("annotations") or {}).get(_CLASS)
    if annotated is not None and its_class is not None and annotated != its_class:
        why = "must match `ingressClassName` when both are specified"
        problems.invalid(f"annotations.{_CLASS}", annotated, why)


def _host(problems: Problems, host: str, path: str) -> None:
    problems.invalid(path, host, *(wildcard_subdomain(host) if "*" in host else dns_subdomain(host)))


def _paths(problems: Problems, paths: list[Object], path: str) -> None:
    if not paths:
        problems.required(path)
    for i, item in enumerate(paths):
        where, kind, text = f"{path}[{i}]", item.get("pathType"), item.get("path") or ""
        if kind is None:
            problems.required(f"{where}.pathType", "pathType must be specified")
            continue
        check_choice(problems, kind, f"{where}.pathType", _TYPES)
        exact = kind in ("Exact", "Prefix")
        if not text.startswith("/") and (exact or (text and kind == "ImplementationSpecific")):
            problems.invalid(f"{where}.path", text, "must be an absolute path")
        if exact:
            bad = [f"must not contain '{part}'" for part in _NOT_WITHIN if part in text]
            bad += [f"cannot end with '{part}'" for part in _NOT_AT_THE_END if text.endswith(part)]
            problems.invalid(f"{where}.path", text, *bad)
        _backend(problems, item.get("backend") or {}, f"{where}.backend")


def _backend(problems: Problems, backend: Object, path: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        problems.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        _reference(problems, resource, f"{path}.resource")
    elif service is None:
        problems.invalid(path, "", "resource or service backend is required")
    else:
        name = service.get("name") or ""
        if not name:
            problems.required(f"{path}.service.name")
        else:
            problems.invalid(f"{path}.service.name", name, *dns_label(name))
        port = service.get("port") or {}
        named, number = port.get("name") or "", port.get("number") or 0
        if named and number:
            problems.invalid(path, "", "cannot set both port name & port number")
        elif named:
            problems.invalid(f"{path}.service.port.name", named, *port_name(named))
        elif number:
            problems.invalid(f"{path}.service.port.number", number, *port_number(number))
        else:
            problems.required(path, "port name or number is required")


def _reference(problems: Problems, reference: Object, path: str) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        problems.invalid(f"{path}.apiGroup", group, *dns_subdomain(group))
    check_name_in_path(problems, reference, "kind", path)
    check_name_in_path(problems, reference, "name", path)


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    annotated = _CLASS in ((obj.get("metadata") or {}).get("annotations") or {})
    if old is None and annotated and (obj.get("spec") or {}).get("ingressClassName") is None:
        yield f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def _check_class(problems: Problems, obj: Object) -> None:
    spec = obj.get("spec") or {}
    check_metadata(problems, obj)
    controller, parameters = spec.get("controller") or "", spec.get("parameters")
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        problems.too_long("spec.controller", _LONGEST_CONTROLLER)
    check_domain_path(problems, controller, "spec.controller")
    if parameters is None:
        return
    path, namespace = "spec.parameters", parameters.get("namespace")
    _reference(problems, parameters, path)
    match parameters.get("scope"):
        case None:
            problems.required(f"{path}.scope")
        case "Namespace" if namespace is None:
            problems.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        case "Namespace":
            problems.invalid(f"{path}.namespace", namespace, *dns_label(namespace))
        case "Cluster" if namespace is not None:
            problems.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
        case scope:
            check_choice(problems, scope, f"{path}.scope", ("Cluster", "Namespace"))


def _default_class(request: object, spec: Object) -> None:
    if spec.get("parameters") is not None and spec["parameters"].get("scope") is None:
        spec["parameters"]["scope"] = "Cluster"


STRATEGIES = {
    "Ingress": Strategy(check=_check, warnings=_warnings),
    "IngressClass": Strategy(defaults=_default_class, check=_check_class),
}
