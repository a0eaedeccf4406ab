"""Validation of a pod's containers: each by itself and all together, volume mounts, probes and lifecycle hooks.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.environment import check_environment
from kwhatif.admission.validation.field_rules import header_name, no_backsteps, port_name, relative_path
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_container_resources
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.security_context import check_container_security
from kwhatif.api.objects import section

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
        problems.not_supported(path, mode, _PROPAGATION)
    if mode == "Bidirectional" and not section(container, "securityContext").get("privileged"):
        problems.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _read_only(problems: Problems, mount: Object, path: str) -> None:
    mode = mount.get("recursiveReadOnly")
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            problems.forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            problems.forbidden(path, "may only be specified when mountPropagation is None or not specified")
    elif mode is not None and mode not in _READ_ONLY:
        problems.not_supported(path, mode, _READ_ONLY)


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ASKED = ("exec", "httpGet", "tcpSocket", "grpc")
_DONE = ("exec", "httpGet", "tcpSocket", "sleep")


def _hooks(problems: Problems, container: Object, grace: int | None, path: str) -> None:
    """Lifecycle and probes; ``grace`` is the pod's ``terminationGracePeriodSeconds``."""
    for key in ("postStart", "preStop"):
        handler = section(container, "lifecycle").get(key)
        if handler is not None:
            _handler(problems, handler, _DONE, grace, f"{path}.lifecycle.{key}")
    for key in _PROBES:
        if container.get(key) is not None:
            _handler(problems, container[key], _ASKED, None, f"{path}.{key}")
            (_READINESS if key == "readinessProbe" else _LIVENESS)(problems, container[key], f"{path}.{key}")


_PROBE = """
    initialDelaySeconds              at_least 0
    timeoutSeconds                   at_least 0
    periodSeconds                    at_least 0
    successThreshold                 at_least 0
    failureThreshold                 at_least 0
    terminationGracePeriodSeconds    at_least 1: must be greater than 0
"""
_READINESS = table(f"{_PROBE}    terminationGracePeriodSeconds    invalid: must not be set for readinessProbes")
_LIVENESS = table(f"{_PROBE}    successThreshold                 if_nonempty & between 1 1: must be 1")
_NO_HOOKS = table(
    "".join(
        f"{key} forbidden: may not be set for init containers without restartPolicy=Always\n"
        for key in ("lifecycle", *_PROBES)
    )
)


def _handler(problems: Problems, handler: Object, kinds: tuple[str, ...], grace: int | None, path: str) -> None:
    given = [kind for kind in kinds if handler.get(kind) is not None]
    if not given:
        problems.required(path, "must specify a handler type")
        return
    first, handler_value = f"{path}.{given[0]}", handler[given[0]]
    if given[0] == "sleep":
        seconds = handler_value.get("seconds") or 0
        if grace is not None and not 0 <= seconds <= grace:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            problems.invalid(first, seconds, why)
    else:
        _HANDLERS[given[0]](problems, handler_value, first)
    for kind in given[1:]:
        problems.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _headers(problems: Problems, headers: list[Object], path: str) -> None:
    for header in headers:
        problems.invalid(path, header.get("name") or "", *header_name(header.get("name") or ""))


_PORT = "port number & check_port"
_HANDLERS = {
    "exec": table("command required"),
    "httpGet": table(
        f"""
    {_PORT}
    scheme                   if_nonempty & one_of HTTP HTTPS
    httpHeaders              _headers
    """,
        _headers,
    ),
    "tcpSocket": table(_PORT),
    "grpc": table(_PORT),
}
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


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
        _hooks(problems, container, grace, where)
        _RESTART_POLICY(problems, container, where)
    _unique_ports(problems, regular, f"{path}.containers")
    for i, container in enumerate(each(spec, "initContainers")):
        where = f"{path}.initContainers[{i}]"
        _container(problems, spec, container, volumes, where)
        _RESTART_POLICY(problems, container, where)
        _unique_name(problems, container, where, names)
        # Init containers run one by one. The index is upstream's: each of them is judged as a list of its own.
        _unique_ports(problems, [container], f"{path}.initContainers")
        if container.get("restartPolicy") == "Always":
            _hooks(problems, container, grace, where)
        else:
            _NO_HOOKS(problems, container, where)
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
    _NAME_AND_PORTS(problems, container, path)
    check_environment(problems, container, path)
    if container.get("volumeMounts"):
        check_mounts(problems, container, volumes, f"{path}.volumeMounts")
    if container.get("volumeDevices"):
        check_devices(problems, container, volumes, f"{path}.volumeDevices")
    _PULL_POLICY(problems, container, path)
    claims = [str(claim["name"]) for claim in each(spec, "resourceClaims") if claim.get("name")]
    check_container_resources(problems, container.get("resources"), f"{path}.resources", claims)
    if container.get("resizePolicy"):
        never = spec.get("restartPolicy") == "Never"
        _resize_policy(problems, container["resizePolicy"], f"{path}.resizePolicy", never=never)
    if container.get("securityContext"):
        check = check_container_security[spec.get("hostUsers") is False]
        check(problems, container["securityContext"], f"{path}.securityContext")


def _port_names(problems: Problems, ports: list[Object], path: str) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        where, name = f"{path}[{i}]", port.get("name") or ""
        wrong = port_name(name) if name else []
        problems.invalid(f"{where}.name", name, *wrong)
        if name and not wrong:
            if name in names:
                problems.duplicate(f"{where}.name", name)
            names.add(name)
        _CONTAINER_PORT(problems, port, where)


_CONTAINER_PORT = table("""
    containerPort                required & port_number
    hostPort                     if_nonempty & port_number
    protocol                     text & one_of SCTP TCP UDP
""")
_NAME_AND_PORTS = table(
    """
    name                         required & dns_label
    image                        required
    terminationMessagePolicy     if_nonempty & one_of File FallbackToLogsOnError
    ports                        _port_names
    """,
    _port_names,
)
_PULL_POLICY = table("imagePullPolicy if_nonempty & one_of Always IfNotPresent Never")
_RESIZE = table("""
    resourceName                 required & one_of cpu memory @ .
    restartPolicy                required & one_of NotRequired RestartContainer @ .
""")


def _resize_policy(problems: Problems, policies: list[Object], path: str, *, never: bool) -> None:
    """``never``: the pod is not restarted. Upstream's paths do not say which policy."""
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            problems.duplicate(f"{path}[{i}]", name)
        seen.add(name)
        _RESIZE(problems, policy, path)
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


_RESTART_POLICY = table(
    """
    restartPolicy                missing if restartPolicyRules and unset:
            must specify restartPolicy when restart rules are used
    restartPolicy                one_of Always Never OnFailure
    restartPolicyRules           most 20
    restartPolicyRules[].action                  text & one_of Restart RestartAllContainers
    restartPolicyRules[].exitCodes               present: must be specified
    restartPolicyRules[].exitCodes?.operator     text & one_of In NotIn
    restartPolicyRules[].exitCodes?.values       most 255
""",
    unset=lambda container: container.get("restartPolicy") is None,
)
