"""Rules for what the kubelet asks of a running container: probes, and hooks of its lifecycle.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.choices import check_port
from kwhatif.admission.validation.name_rules import header_name
from kwhatif.admission.validation.problems import Problems

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_ASKED = ("exec", "httpGet", "tcpSocket", "grpc")
_DONE = ("exec", "httpGet", "tcpSocket", "sleep")


def check_hooks(problems: Problems, container: Object, grace: int | None, path: str) -> None:
    """Lifecycle and probes; ``grace`` is the pod's ``terminationGracePeriodSeconds``."""
    for key in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(key)
        if handler is not None:
            _handler(problems, handler, _DONE, grace, f"{path}.lifecycle.{key}")
    for key in _PROBES:
        probe = container.get(key)
        if probe is not None:
            _probe(problems, probe, key, f"{path}.{key}")


def forbid_hooks(problems: Problems, container: Object, path: str) -> None:
    """An init container that is to end has none."""
    for key in ("lifecycle", *_PROBES):
        if container.get(key) is not None:
            problems.forbidden(f"{path}.{key}", "may not be set for init containers without restartPolicy=Always")


def _probe(problems: Problems, probe: Object, kind: str, path: str) -> None:
    _handler(problems, probe, _ASKED, None, path)
    for key in _SECONDS:
        if (probe.get(key) or 0) < 0:
            problems.invalid(f"{path}.{key}", probe[key], "must be greater than or equal to 0")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        problems.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            why = "must not be set for readinessProbes"
            problems.invalid(f"{path}.terminationGracePeriodSeconds", grace, why)
    elif (probe.get("successThreshold") or 1) != 1:
        problems.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler(problems: Problems, handler: Object, kinds: tuple[str, ...], grace: int | None, path: str) -> None:
    given = [kind for kind in kinds if handler.get(kind) is not None]
    if not given:
        problems.required(path, "must specify a handler type")
        return
    first, found = f"{path}.{given[0]}", handler[given[0]]
    match given[0]:
        case "exec":
            if not found.get("command"):
                problems.required(f"{first}.command")
        case "httpGet":
            check_port(problems, 0 if found.get("port") is None else found["port"], f"{first}.port")
            scheme = found.get("scheme") or "HTTP"
            if scheme not in ("HTTP", "HTTPS"):
                problems.unsupported(f"{first}.scheme", scheme, ("HTTP", "HTTPS"))
            for header in each(found, "httpHeaders"):
                name = header.get("name") or ""
                problems.invalid(f"{first}.httpHeaders", name, *header_name(name))
        case "tcpSocket" | "grpc":
            check_port(problems, 0 if found.get("port") is None else found["port"], f"{first}.port")
        case "sleep":
            seconds = found.get("seconds") or 0
            if grace is not None and not 0 <= seconds <= grace:
                why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                problems.invalid(first, seconds, why)
    for kind in given[1:]:
        problems.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")
