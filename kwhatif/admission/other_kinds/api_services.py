"""APIService: aggregated API servers.

Upstream: kube-aggregator/pkg/apis/apiregistration (validation/validation.go, v1/defaults.go).
"""

from __future__ import annotations

from base64 import b64decode

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import path_segment
from kwhatif.admission.validation.metadata import check_named, object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import part_of


def _service_defaults(request: Request, spec: Object) -> None:
    service = spec.get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def _metadata(problems: Problems, obj: Object, path: str) -> None:
    spec = part_of(obj, "spec")
    wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"

    def rule(name: str) -> list[str]:
        other = [] if name == wanted else [f'must be `spec.version+"."+spec.group`: "{wanted}"']
        return path_segment(name) or other

    check_named(problems, obj, rule)


def _bundle(problems: Problems, bundle: str, path: str) -> None:
    problems.invalid(path, f"{len(b64decode(bundle))} bytes", "local APIServices may not have a caBundle")


_SERVICE = object_table(
    """
    .                            _metadata
    spec.group                   missing unless spec.group or spec.version=v1:
            only v1 may have an empty group and it better be legacy kube
    spec.group                   if_nonempty & dns_subdomain
    spec.version                 text & dns_1035_label
    spec.groupPriorityMinimum    number & between 1 20000: must be positive and less than 20000
    spec.versionPriority         number & between 1 1000: must be positive and less than 1000
    spec.caBundle                if_nonempty & _bundle unless spec.service?
    spec.insecureSkipTLSVerify   if_nonempty & invalid unless spec.service?:
            local APIServices may not have insecureSkipTLSVerify
    spec.service?.namespace      required
    spec.service?.name           required
    spec.service?.port           service_port
    spec.insecureSkipTLSVerify   if_nonempty & invalid if spec.service? and spec.caBundle:
            may not be true if caBundle is present
    """,
    *(_metadata, _bundle),
    names=None,
)
STRATEGIES = {"APIService": Strategy(_service_defaults, _SERVICE)}
