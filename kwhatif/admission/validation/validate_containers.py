"""Rules for the containers of a pod, one by one and together.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.name_rules import dns_label, port_name, port_number
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_environment import check_environment
from kwhatif.admission.validation.validate_handlers import check_hooks, forbid_hooks
from kwhatif.admission.validation.validate_mounts import check_devices, check_mounts
from kwhatif.admission.validation.validate_resources import check_container_resources
from kwhatif.admission.validation.validate_security import check_container_security

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

    ``volumes`` are those of the pod in which nothing is wrong.
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
