"""Validation of a pod's containers: each by itself and all together, volume mounts, probes and lifecycle hooks.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.environment import check_environment
from kwhatif.admission.validation.field_rules import (
    check_port,
    dns_label,
    header_name,
    no_backsteps,
    port_name,
    port_number,
    relative_path,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_container_resources
from kwhatif.admission.validation.security_context import check_container_security

_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def check_mounts(problems: Problems, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    """``volumes`` are the valid ones of the pod. Some of upstream's paths omit the index."""
    devices = {device.get("name"): device.get("devicePath") for device in each(container, "volumeDevices")}
    places: set[str] = set()
    for i, mount in enumerate(each(container, "volumeMounts")):
        where, name, place = f"{path}[{i}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            problems.required(f"{where}.name")
        if name not in volumes:
            problems.not_found(f"{where}.name", name)
        if not place:
            problems.required(f"{where}.mountPath")
        if place in places:
            problems.invalid(f"{where}.mountPath", place, "must be unique")
        places.add(place)
        if name in devices:
            problems.invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        if place in devices.values():
            problems.invalid(f"{where}.mountPath", place, "must not already exist as a path in volumeDevices")
        sub, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
        problems.invalid(f"{path}.subPath", sub, *relative_path(sub))
        if sub and expression:
            why = "subPathExpr and subPath are mutually exclusive"
            problems.invalid(f"{where}.subPathExpr", expression, why)
        problems.invalid(f"{path}.subPathExpr", expression, *relative_path(expression))
        _propagation(problems, container, mount.get("mountPropagation"), f"{path}.mountPropagation")
        _read_only(problems, mount, f"{path}.recursiveReadOnly")


def check_devices(problems: Problems, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    mounts = {mount.get("name"): mount.get("mountPath") for mount in each(container, "volumeMounts")}
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(each(container, "volumeDevices")):
        where, name, place = f"{path}[{i}]", device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            problems.required(f"{where}.name")
        if name in names:
            problems.invalid(f"{where}.name", name, "must be unique")
        if volume is None:
            problems.not_found(f"{where}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            problems.invalid(f"{where}.name", name, why)
        if not place:
            problems.required(f"{where}.devicePath")
        if place in places:
            problems.invalid(f"{where}.devicePath", place, "must be unique")
        if no_backsteps(place):
            problems.invalid(f"{where}.devicePath", place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mounts:
            problems.invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if place in mounts.values():
            problems.invalid(f"{where}.devicePath", place, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _propagation(problems: Problems, container: Object, mode: str | None, path: str) -> None:
    if mode is None:
        return
    if mode not in _PROPAGATION:
        problems.unsupported(path, mode, _PROPAGATION)
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        problems.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _read_only(problems: Problems, mount: Object, path: str) -> None:
    mode = mount.get("recursiveReadOnly")
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            problems.forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            problems.forbidden(path, "may only be specified when mountPropagation is None or not specified")
    elif mode is not None and mode not in _READ_ONLY:
        problems.unsupported(path, mode, _READ_ONLY)


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
    """An init container that is no sidecar has no probes or hooks."""
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


_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTARTS = ("Always", "Never", "OnFailure")
_MESSAGES = ("File", "FallbackToLogsOnError")
_PULLS = ("Always", "IfNotPresent", "Never")
_RESIZES = ("NotRequired", "RestartContainer")
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)
_MOST_RULES, _MOST_CODES = 20, 255


def check_containers(problems: Problems, spec: Object, volumes: Mapping[str, Object], path: str) -> None:
    """Containers, then init and ephemeral containers; no two of them have the same name.

    ``volumes`` are the valid ones of the pod.
    """
    regular, grace = each(spec, "containers"), spec.get("terminationGracePeriodSeconds")
    if not regular:
        problems.required(f"{path}.containers")
    names: set[str] = set()
    for i, container in enumerate(regular):
        where = f"{path}.containers[{i}]"
        _container(problems, spec, container, volumes, where)
        _unique_name(problems, container, where, names)
        check_hooks(problems, container, grace, where)
        _restart_policy(problems, container, where)
    _unique_ports(problems, regular, f"{path}.containers")
    for i, container in enumerate(each(spec, "initContainers")):
        where = f"{path}.initContainers[{i}]"
        _container(problems, spec, container, volumes, where)
        _restart_policy(problems, container, where)
        _unique_name(problems, container, where, names)
        # Init containers run one by one. The index is upstream's: each of them is judged as a list of its own.
        _unique_ports(problems, [container], f"{path}.initContainers")
        if container.get("restartPolicy") == "Always":
            check_hooks(problems, container, grace, where)
        else:
            forbid_hooks(problems, container, where)
            _no_restart_on_resize(problems, container, f"{where}.resizePolicy")
    _ephemeral(problems, spec, volumes, f"{path}.ephemeralContainers", names)


def check_host_network(problems: Problems, spec: Object, path: str, *, in_pod: bool) -> None:
    """On the host's network a container's ports are the host's. A template may leave them out."""
    if not spec.get("hostNetwork"):
        return
    for i, container in enumerate(each(spec, "containers")):
        for k, port in enumerate(each(container, "ports")):
            host, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if host != own and (in_pod or host):
                why = "must match `containerPort` when `hostNetwork` is true"
                problems.invalid(f"{path}.containers[{i}].ports[{k}].hostPort", host, why)


def _container(problems: Problems, spec: Object, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    """What holds for containers of all sorts."""
    name = container.get("name") or ""
    if not name:
        problems.required(f"{path}.name")
    else:
        problems.invalid(f"{path}.name", name, *dns_label(name))
    if not container.get("image"):
        problems.required(f"{path}.image")
    _one_of(problems, container.get("terminationMessagePolicy"), _MESSAGES, f"{path}.terminationMessagePolicy")
    _ports(problems, each(container, "ports"), f"{path}.ports")
    check_environment(problems, container, path)
    if container.get("volumeMounts"):
        check_mounts(problems, container, volumes, f"{path}.volumeMounts")
    if container.get("volumeDevices"):
        check_devices(problems, container, volumes, f"{path}.volumeDevices")
    _one_of(problems, container.get("imagePullPolicy"), _PULLS, f"{path}.imagePullPolicy")
    claims = [str(claim["name"]) for claim in each(spec, "resourceClaims") if claim.get("name")]
    check_container_resources(problems, container.get("resources"), f"{path}.resources", claims)
    never = spec.get("restartPolicy") == "Never"
    _resize_policy(problems, each(container, "resizePolicy"), f"{path}.resizePolicy", never=never)
    context, own_users = container.get("securityContext"), spec.get("hostUsers") is False
    check_container_security(problems, context, f"{path}.securityContext", own_users=own_users)


def _one_of(problems: Problems, value: str | None, values: tuple[str, ...], path: str) -> None:
    """What is left out has a default."""
    if value and value not in values:
        problems.unsupported(path, value, values)


def _resize_policy(problems: Problems, policies: list[Object], path: str, *, never: bool) -> None:
    """``never``: the pod is not restarted."""
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            problems.duplicate(f"{path}[{i}]", name)
        seen.add(name)
        for value, values in ((name, ("cpu", "memory")), (restart, _RESIZES)):
            if not value:
                problems.required(path)
            elif value not in values:
                problems.unsupported(path, value, values)
        if never and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            problems.invalid(path, restart, why)


def _no_restart_on_resize(problems: Problems, container: Object, path: str) -> None:
    for i, policy in enumerate(each(container, "resizePolicy")):
        if policy.get("restartPolicy") == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            problems.invalid(f"{path}[{i}].restartPolicy", "RestartContainer", why)


def _ephemeral(problems: Problems, spec: Object, volumes: Mapping[str, Object], path: str, others: set[str]) -> None:
    names = {*others}
    for i, container in enumerate(each(spec, "ephemeralContainers")):
        where, target = f"{path}[{i}]", container.get("targetContainerName")
        _container(problems, spec, container, volumes, where)
        check_own_image(problems, container, where)
        _unique_name(problems, container, where, names)
        if target and target not in others:
            problems.not_found(f"{where}.targetContainerName", target)
        for key in _NOT_EPHEMERAL:
            if container.get(key):
                problems.forbidden(f"{where}.{key}", "cannot be set for an Ephemeral Container")
        for k, mount in enumerate(each(container, "volumeMounts")):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    problems.forbidden(f"{where}.volumeMounts[{k}].{key}", "cannot be set for an Ephemeral Container")


def check_own_image(problems: Problems, container: Object, path: str) -> None:
    """A pod's image has no spaces around it; a template's may have."""
    image = container.get("image") or ""
    if image != image.strip():
        problems.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _unique_name(problems: Problems, container: Object, path: str, names: set[str]) -> None:
    name = container.get("name") or ""
    if name in names:
        problems.duplicate(f"{path}.name", name)
    names.add(name)


def _ports(problems: Problems, ports: list[Object], path: str) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"{path}[{i}]", port.get("name") or ""
        wrong = port_name(name) if name else []
        problems.invalid(f"{where}.name", name, *wrong)
        if name and not wrong:
            if name in names:
                problems.duplicate(f"{where}.name", name)
            names.add(name)
        own, host, protocol = port.get("containerPort") or 0, port.get("hostPort") or 0, port.get("protocol") or ""
        if not own:
            problems.required(f"{where}.containerPort")
        else:
            problems.invalid(f"{where}.containerPort", own, *port_number(own))
        if host:
            problems.invalid(f"{where}.hostPort", host, *port_number(host))
        if protocol not in _PROTOCOLS:
            problems.unsupported(f"{where}.protocol", protocol, _PROTOCOLS)


def _unique_ports(problems: Problems, containers: list[Object], path: str) -> None:
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for k, port in enumerate(each(container, "ports")):
            if not port.get("hostPort"):
                continue
            said = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if said in taken:
                problems.duplicate(f"{path}[{i}].ports[{k}].hostPort", said)
            taken.add(said)


def _restart_policy(problems: Problems, container: Object, path: str) -> None:
    policy, rules = container.get("restartPolicy"), each(container, "restartPolicyRules")
    if policy is None:
        if rules:
            problems.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        problems.unsupported(f"{path}.restartPolicy", policy, _RESTARTS)
    if len(rules) > _MOST_RULES:
        problems.too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for i, rule in enumerate(rules):
        where, action, codes = f"{path}.restartPolicyRules[{i}]", rule.get("action") or "", rule.get("exitCodes")
        if action not in ("Restart", "RestartAllContainers"):
            problems.unsupported(f"{where}.action", action, ("Restart", "RestartAllContainers"))
        if codes is None:
            problems.required(f"{where}.exitCodes", "must be specified")
            continue
        operator, values = codes.get("operator") or "", codes.get("values") or []
        if operator not in ("In", "NotIn"):
            problems.unsupported(f"{where}.exitCodes.operator", operator, ("In", "NotIn"))
        if len(values) > _MOST_CODES:
            problems.too_many(f"{where}.exitCodes.values", len(values), _MOST_CODES)
