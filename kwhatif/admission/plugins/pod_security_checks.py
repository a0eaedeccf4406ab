"""The checks of the Pod Security Standards, baseline and restricted, by version.

Upstream: pod-security-admission/policy (check_*.go, registry.go). Each check returns its reason and detail, in the API
server's words, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial

import msgspec

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.api.objects import section

NEWEST = 35
"""The last minor that changed a check."""

Version = int
"""The minor of a version ``v1.x``."""


class Violation(msgspec.Struct, frozen=True):
    """What a pod breaks: ``privileged (container "c" must not set securityContext.privileged=true)``."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class _Pod(msgspec.Struct, frozen=True):
    """A pod, or the pod of a template."""

    metadata: Object
    spec: Object

    @property
    def containers(self) -> Iterator[tuple[str, Object]]:
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for container in each(self.spec, key):
                yield container.get("name") or "", container

    @property
    def contexts(self) -> Iterator[tuple[str, Object]]:
        """The security contexts of the containers, by name."""
        for name, container in self.containers:
            yield name, section(container, "securityContext")

    @property
    def context(self) -> Object:
        return section(self.spec, "securityContext")

    @property
    def windows(self) -> bool:
        return section(self.spec, "os").get("name") == "windows"

    @property
    def own_users(self) -> bool:
        """Whether it runs in a user namespace."""
        return self.spec.get("hostUsers") is False


Check = Callable[[_Pod], Violation | None]


def violations(level: str, version: Version | None, metadata: Object, spec: Object) -> list[Violation]:
    """What a pod breaks of a level, in the server's order. Without a version, the latest holds."""
    if level == "privileged":
        return []
    pod = _Pod(metadata, spec)
    answers = (check(pod) for check in _checks(level, NEWEST if version is None else min(version, NEWEST)))
    return [violation for violation in answers if violation is not None]


@lru_cache(maxsize=256)
def _checks(level: str, version: Version) -> tuple[Check, ...]:
    """The checks of a level: those of baseline first, each by name; restricted ones stand in for some of them."""
    baseline = {name: check for name, versions in _BASELINE.items() if (check := _check_for_version(versions, version))}
    if level == "baseline":
        return tuple(baseline[name] for name in sorted(baseline))
    restricted = {}
    for name, (replaced, versions) in _RESTRICTED.items():
        check = _check_for_version(versions, version)
        if check is not None:
            restricted[name] = check
            baseline.pop(replaced, None)
    return (*(baseline[name] for name in sorted(baseline)), *(restricted[name] for name in sorted(restricted)))


def _check_for_version(versions: Sequence[tuple[Version, Check]], version: Version) -> Check | None:
    return next((check for since, check in reversed(versions) if since <= version), None)


# --- words


def _pluralize(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _name_containers(names: Sequence[str]) -> str:
    """``container "a"``, ``containers "a", "b"``."""
    return f"{_pluralize(len(names), 'container', 'containers')} {_quote_names(names)}"


def _setters(pod: bool, names: Sequence[str]) -> str:
    """``pod and container "a"``: who set something."""
    return " and ".join([*(["pod"] if pod else []), *([_name_containers(names)] if names else [])])


# --- baseline


def _app_armor(pod: _Pod) -> Violation | None:
    def bad(context: Object) -> str | None:
        kind = section(context, "appArmorProfile").get("type") or ""
        wrong = context.get("appArmorProfile") is not None and kind not in ("RuntimeDefault", "Localhost")
        return kind if wrong else None

    values = {
        value for value in (bad(pod.context), *(bad(context) for _, context in pod.contexts)) if value is not None
    }
    names = [name for name, context in pod.contexts if bad(context) is not None]
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in section(pod.metadata, "annotations").items()
        if key.startswith("container.apparmor.security.beta.kubernetes.io/")
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    setters = [text for text in (_setters(bad(pod.context) is not None, names),) if text]
    setters += [_pluralize(len(annotations), "annotation", "annotations")] if annotations else []
    if not setters:
        return None
    profiles = [*sorted(values), *annotations]
    reason = _pluralize(len(profiles), "forbidden AppArmor profile", "forbidden AppArmor profiles")
    return Violation(reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_quote_names(profiles)}")


_DEFAULT_CAPABILITIES = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)


def _added_capabilities_of(context: Object) -> Sequence[str]:
    return section(context, "capabilities").get("add") or ()


def _capabilities(pod: _Pod) -> Violation | None:
    bad = {name: set(_added_capabilities_of(context)) - _DEFAULT_CAPABILITIES for name, context in pod.contexts}
    names = [name for name, context in pod.contexts if set(_added_capabilities_of(context)) - _DEFAULT_CAPABILITIES]
    if not names:
        return None
    capabilities = _quote_names(sorted(set().union(*bad.values())))
    detail = f"{_name_containers(names)} must not include {capabilities} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _host_namespaces(pod: _Pod) -> Violation | None:
    parts = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(key)]
    return Violation("host namespaces", ", ".join(parts)) if parts else None


def _host_path(pod: _Pod) -> Violation | None:
    names = [volume.get("name") or "" for volume in each(pod.spec, "volumes") if volume.get("hostPath") is not None]
    if not names:
        return None
    return Violation("hostPath volumes", f"{_pluralize(len(names), 'volume', 'volumes')} {_quote_names(names)}")


def _host_ports(pod: _Pod) -> Violation | None:
    ports = {
        name: [port["hostPort"] for port in each(c, "ports") if port.get("hostPort")] for name, c in pod.containers
    }
    names = [name for name, numbers_used in ports.items() if numbers_used]
    if not names:
        return None
    numbers = sorted({str(port) for numbers_used in ports.values() for port in numbers_used})
    verb, noun = _pluralize(len(names), "uses", "use"), _pluralize(len(numbers), "hostPort", "hostPorts")
    return Violation("hostPort", f"{_name_containers(names)} {verb} {noun} {', '.join(numbers)}")


def _handler_hosts(pod: _Pod) -> Violation | None:
    names: set[str] = set()
    hosts: set[str] = set()
    for name, container in pod.containers:
        lifecycle = section(container, "lifecycle")
        handlers = [container.get(key) for key in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        for handler in handlers:
            hosts_named = [((handler or {}).get(key) or {}).get("host") for key in ("httpGet", "tcpSocket")]
            if any(hosts_named):
                names.add(name)
                hosts.update(filter(None, hosts_named))
    if not names:
        return None
    what = "probe or lifecycle host"
    verb, noun = _pluralize(len(names), "uses", "use"), _pluralize(len(hosts), what, what + "s")
    return Violation(what, f"{_name_containers(sorted(names))} {verb} {noun} {_quote_names(sorted(hosts))}")


def _check_privileged(pod: _Pod) -> Violation | None:
    names = [name for name, context in pod.contexts if context.get("privileged")]
    return (
        Violation("privileged", f"{_name_containers(names)} must not set securityContext.privileged=true")
        if names
        else None
    )


def _proc_mount(pod: _Pod) -> Violation | None:
    mounts = [(name, context["procMount"]) for name, context in pod.contexts if context.get("procMount")]
    bad = [(name, mount) for name, mount in mounts if mount != "Default"]
    if not bad:
        return None
    types = _quote_names(sorted({mount for _, mount in bad}))
    return Violation(
        "procMount", f"{_name_containers([n for n, _ in bad])} must not set securityContext.procMount to {types}"
    )


_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def _selinux(types: frozenset[str], pod: _Pod) -> Violation | None:
    def wrong(context: Object) -> bool:
        options = section(context, "seLinuxOptions")
        return bool((options.get("type") or "") not in types or options.get("user") or options.get("role"))

    names = [name for name, context in pod.contexts if wrong(context)]
    setters = _setters(wrong(pod.context), names)
    if not setters:
        return None
    options = [section(context, "seLinuxOptions") for context in (pod.context, *(c for _, c in pod.contexts))]
    bad = sorted({option.get("type") or "" for option in options} - types)
    parts = [f"{_pluralize(len(bad), 'type', 'types')} {_quote_names(bad)}"] if bad else []
    parts += [f"{key} may not be set" for key in ("user", "role") if any(option.get(key) for option in options)]
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(parts)}")


_SECCOMP = ("RuntimeDefault", "Localhost")
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_annotations(pod: _Pod) -> Violation | None:
    annotations = section(pod.metadata, "annotations")
    bad = set()
    for key in (_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{name}" for name, _ in pod.containers)):
        value = annotations.get(key)
        fine = value in (None, "runtime/default", "docker/default") or str(value).startswith("localhost/")
        if not fine:
            bad.add(f'{key}="{value}"')
    if not bad:
        return None
    text = f"forbidden {_pluralize(len(bad), 'annotation', 'annotations')} {', '.join(sorted(bad))}"
    return Violation("seccompProfile", text)


def _seccomp_type(context: Object) -> str | None:
    profile = context.get("seccompProfile")
    return None if profile is None else profile.get("type") or ""


def _seccomp(pod: _Pod) -> Violation | None:
    own = _seccomp_type(pod.context)
    kinds = [(name, _seccomp_type(context)) for name, context in pod.contexts]
    bad = [(name, kind) for name, kind in kinds if kind is not None and kind not in _SECCOMP]
    wrong = own is not None and own not in _SECCOMP
    setters = _setters(wrong, [name for name, _ in bad])
    if not setters:
        return None
    values = sorted({kind for _, kind in bad if kind is not None} | ({own} if wrong and own is not None else set()))
    return Violation(
        "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {_quote_names(values)}"
    )


_SYSCTLS = frozenset(
    {
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    }
)
_SYSCTLS_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"),
    *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _sysctls(allowed: frozenset[str], pod: _Pod) -> Violation | None:
    names = [sysctl.get("name") or "" for sysctl in each(pod.context, "sysctls")]
    bad = [name for name in names if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: _Pod) -> Violation | None:
    def asks(context: Object) -> bool:
        return bool(section(context, "windowsOptions").get("hostProcess"))

    setters = _setters(asks(pod.context), [name for name, context in pod.contexts if asks(context)])
    if not setters:
        return None
    return Violation("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true")


# --- restricted


def _escalation(pod: _Pod) -> Violation | None:
    names = [name for name, context in pod.contexts if context.get("allowPrivilegeEscalation") is not False]
    if not names:
        return None
    detail = f"{_name_containers(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _check_restricted_capabilities(pod: _Pod) -> Violation | None:
    keeping = [
        name for name, context in pod.contexts if "ALL" not in (section(context, "capabilities").get("drop") or ())
    ]
    adding = [name for name, context in pod.contexts if set(_added_capabilities_of(context)) - {"NET_BIND_SERVICE"}]
    parts = [f'{_name_containers(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        bad = sorted(
            set().union(*(_added_capabilities_of(context) for _, context in pod.contexts)) - {"NET_BIND_SERVICE"}
        )
        parts.append(
            f"{_name_containers(adding)} must not include {_quote_names(bad)} in securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(parts)) if parts else None


_VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
    "secret",
)
_OTHER_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


def _volumes(pod: _Pod) -> Violation | None:
    def has(volume: Object, kinds: Sequence[str]) -> str | None:
        return next((kind for kind in kinds if volume.get(kind) is not None), None)

    bad = [volume for volume in each(pod.spec, "volumes") if has(volume, _VOLUMES) is None]
    if not bad:
        return None
    names = [volume.get("name") or "" for volume in bad]
    kinds = sorted({has(volume, _OTHER_VOLUMES) or "unknown" for volume in bad})
    what = "restricted volume type"
    text = f"{_pluralize(len(bad), 'uses', 'use')} {_pluralize(len(kinds), what, what + 's')} {_quote_names(kinds)}"
    return Violation(what + "s", f"{_pluralize(len(bad), 'volume', 'volumes')} {_quote_names(names)} {text}")


def _non_root(pod: _Pod) -> Violation | None:
    reason, own = "runAsNonRoot != true", pod.context.get("runAsNonRoot")
    bad = [name for name, context in pod.contexts if context.get("runAsNonRoot") is False]
    setters = _setters(own is False, bad)
    if setters:
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, context in pod.contexts if context.get("runAsNonRoot") is None and not own]
    if not silent:
        return None
    return Violation(reason, f"pod or {_name_containers(silent)} must set securityContext.runAsNonRoot=true")


def _user(pod: _Pod) -> Violation | None:
    names = [name for name, context in pod.contexts if context.get("runAsUser") == 0]
    setters = _setters(pod.context.get("runAsUser") == 0, names)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _seccomp_set(pod: _Pod) -> Violation | None:
    wrong = _seccomp(pod)
    if wrong is not None or _seccomp_type(pod.context) is not None:
        return wrong
    silent = [name for name, context in pod.contexts if _seccomp_type(context) is None]
    if not silent:
        return None
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_name_containers(silent)} {what}")


def _unless(exempt: str, check: Check) -> Check:
    """The check, from which pods with this property are exempt."""

    def exempting(pod: _Pod) -> Violation | None:
        return None if getattr(pod, exempt) else check(pod)

    return exempting


_BASELINE: dict[str, Sequence[tuple[Version, Check]]] = {
    "appArmorProfile": [(0, _app_armor)],
    "capabilities_baseline": [(0, _capabilities)],
    "hostNamespaces": [(0, _host_namespaces)],
    "hostPathVolumes": [(0, _host_path)],
    "hostPorts": [(0, _host_ports)],
    "hostProbesAndHostLifecycle": [(34, _handler_hosts)],
    "privileged": [(0, _check_privileged)],
    "procMount": [(0, _proc_mount), (35, _unless("own_users", _proc_mount))],
    "seLinuxOptions": [
        (0, partial(_selinux, _SELINUX_TYPES)),
        (31, partial(_selinux, _SELINUX_TYPES | {"container_engine_t"})),
    ],
    "seccompProfile_baseline": [(0, _seccomp_annotations), (19, _seccomp)],
    "sysctls": [
        (0, partial(_sysctls, _SYSCTLS)),
        (27, partial(_sysctls, _SYSCTLS_27)),
        (29, partial(_sysctls, _SYSCTLS_29)),
        (32, partial(_sysctls, _SYSCTLS_32)),
    ],
    "windowsHostProcess": [(0, _host_process)],
}
"""Name -> the check, from each version on."""

_RESTRICTED: dict[str, tuple[str, Sequence[tuple[Version, Check]]]] = {
    "allowPrivilegeEscalation": ("", [(8, _escalation), (25, _unless("windows", _escalation))]),
    "capabilities_restricted": (
        "capabilities_baseline",
        [(22, _check_restricted_capabilities), (25, _unless("windows", _check_restricted_capabilities))],
    ),
    "procMount_restricted": ("procMount", [(35, _proc_mount)]),
    "restrictedVolumes": ("hostPathVolumes", [(0, _volumes)]),
    "runAsNonRoot": ("", [(0, _non_root), (35, _unless("own_users", _non_root))]),
    "runAsUser": ("", [(23, _user), (35, _unless("own_users", _user))]),
    "seccompProfile_restricted": (
        "seccompProfile_baseline",
        [(19, _seccomp_set), (25, _unless("windows", _seccomp_set))],
    ),
}
"""Name -> the check of baseline that it stands in for, and the check from each version on."""
