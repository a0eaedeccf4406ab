"""APIService: aggregated API servers.

Upstream: kube-aggregator/pkg/apis/apiregistration (validation/validation.go, v1/defaults.go).
"""

from __future__ import annotations

from base64 import b64decode

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label, dns_subdomain, path_segment, port_number
from kwhatif.admission.validation.metadata import check_named
from kwhatif.admission.validation.problems import Problems


def _service_defaults(request: Request, spec: Object) -> None:
    service = spec.get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def _check_service(problems: Problems, obj: Object) -> None:
    spec = obj["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""
    wanted = f"{version}.{group}"

    def rule(name: str) -> list[str]:
        other = [] if name == wanted else [f'must be `spec.version+"."+spec.group`: "{wanted}"']
        return path_segment(name) or other

    check_named(problems, obj, rule)
    if not group and version != "v1":
        problems.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        problems.invalid("spec.group", group, *dns_subdomain(group))
    problems.invalid("spec.version", version, *dns_1035_label(version))
    for key, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
        value = spec.get(key) or 0
        if not 0 < value <= most:
            problems.invalid(f"spec.{key}", value, f"must be positive and less than {most}")
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        _check_local(problems, bundle, insecure=insecure)
        return
    for key in ("namespace", "name"):
        if not service.get(key):
            problems.required(f"spec.service.{key}")
    if wrong := port_number(service["port"]):
        problems.invalid("spec.service.port", service["port"], f"port is not valid: {', '.join(wrong)}")
    if insecure and bundle:
        problems.invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present")


def _check_local(problems: Problems, bundle: str | None, *, insecure: bool) -> None:
    """A version that the server itself serves."""
    if bundle:
        size = f"{len(b64decode(bundle))} bytes"
        problems.invalid("spec.caBundle", size, "local APIServices may not have a caBundle")
    if insecure:
        problems.invalid("spec.insecureSkipTLSVerify", insecure, "local APIServices may not have insecureSkipTLSVerify")


STRATEGIES = {"APIService": Strategy(_service_defaults, _check_service)}
