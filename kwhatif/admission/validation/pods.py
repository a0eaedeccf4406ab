"""Validation of pods and pod templates, including DNS, hostnames and the host's namespaces.

Upstream: pkg/apis/core/validation/validation.go and pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import containers_of, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.addresses import check_address, ip_rules
from kwhatif.admission.validation.containers import check_containers, check_host_network, check_own_image
from kwhatif.admission.validation.environment import check_file_variables
from kwhatif.admission.validation.field_rules import check_labels, label_key, search_domain
from kwhatif.admission.validation.metadata import check_annotations, check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_overhead, check_pod_resources
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import (
    check_affinity,
    check_spread_constraints,
    check_tolerations,
)
from kwhatif.admission.validation.security_context import (
    check_host_processes,
    check_operating_system,
    check_pod_annotations,
    check_pod_security,
    check_profiles,
)
from kwhatif.admission.validation.volumes import check_resource_claims, check_volumes
from kwhatif.api.decode import convert
from kwhatif.api.meta import LabelSelector
from kwhatif.api.objects import section
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.versions import Features

DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES = 3, 32, 2048


def check_dns(problems: Problems, spec: Object, path: str) -> None:
    """``path`` is that of the configuration."""
    config = spec.get("dnsConfig")
    servers, searches = ((config or {}).get(key) or [] for key in ("nameservers", "searches"))
    if spec.get("dnsPolicy") == "None":
        if config is None:
            problems.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            problems.required(f"{path}.nameservers", why)
            return
    if len(servers) > _MOST_SERVERS:
        problems.invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for i, server in enumerate(servers):
        problems.invalid(f"{path}.nameservers[{i}]", server, *ip_rules(server, problems.features))
    if len(searches) > _MOST_SEARCHES:
        problems.invalid(f"{path}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches).encode()) > _LONGEST_SEARCHES:
        why = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        problems.invalid(f"{path}.searches", searches, why)
    for i, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems.invalid(f"{path}.searches[{i}]", domain, *search_domain(domain))
    for i, option in enumerate(each(config, "options")):
        if not option.get("name"):
            problems.required(f"{path}.options[{i}]", "must not be empty")


def check_host_users(problems: Problems, spec: Object, path: str) -> None:
    """A pod with users of its own shares no other namespace with its node."""
    if spec.get("hostUsers") is not False:
        return
    for key, field in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            problems.forbidden(f"{path}.{field}", "when `hostUsers` is false")
    for where, container in containers_of(spec, path):
        if container.get("volumeDevices"):
            problems.forbidden(f"{where}.volumeDevices", "when `hostUsers` is false")


_SOUND: dict[bytes, Features] = {}
"""The last pod specs, as JSON, in which nothing was wrong by some rules: many pods are made of few templates."""
_MOST_SOUND, _LONGEST_SOUND = 256, 64 * 1024


def check_pod(problems: Problems, pod: Object) -> None:
    spec, metadata = section(pod, "spec"), pod.get("metadata")
    check_metadata(problems, pod)
    check_pod_annotations(problems, metadata, spec, "metadata.annotations")
    written = msgspec.json.encode(spec)
    if _SOUND.get(written) is not problems.features:
        _check_own_spec(problems, spec, name_of(pod), written)
    check_profiles(problems, metadata, spec, "spec")


def _check_own_spec(problems: Problems, spec: Object, name: str, written: bytes) -> None:
    before = len(problems.causes)
    check_pod_spec(problems, spec, "spec", pod=name)
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            check_own_image(problems, container, f"spec.{key}[{i}]")
    if each(spec, "ephemeralContainers"):
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and each(spec, "schedulingGates"):
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    # The claims of ephemeral volumes are named after the pod.
    if len(problems.causes) == before and not any(volume.get("ephemeral") for volume in each(spec, "volumes")):
        if len(_SOUND) >= _MOST_SOUND:
            _SOUND.clear()
        if len(written) <= _LONGEST_SOUND:
            _SOUND[written] = problems.features


def check_pod_spec(problems: Problems, spec: Object, path: str, *, pod: str = "") -> None:
    """``pod`` is the pod's name; without one this is the pod of a template."""
    volumes = check_volumes(problems, each(spec, "volumes"), f"{path}.volumes", pod)
    check_resource_claims(problems, each(spec, "resourceClaims"), f"{path}.resourceClaims")
    check_containers(problems, spec, volumes, path)
    if section(spec, "os").get("name") == "windows" and spec.get("resources") is not None:
        problems.forbidden(f"{path}.resources", "may not be set for a windows pod")
    else:
        check_pod_resources(problems, spec, f"{path}.resources")
    check_host_network(problems, spec, path, in_pod=bool(pod))
    _POD_SPEC(problems, spec, path)


def _dns(problems: Problems, spec: Object, path: str) -> None:
    check_dns(problems, spec, f"{path}.dnsConfig")


def _gate_name(problems: Problems, gate: Object, path: str) -> None:
    problems.invalid(path, gate.get("name") or "", *label_key(gate.get("name") or ""))


def _group(problems: Problems, group: Object, path: str) -> None:
    if group.get("podGroupName") is None:
        problems.invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")


_POD_SPEC = table(
    f"""
    restartPolicy                if_nonempty & one_of Always OnFailure Never
    dnsPolicy                    if_nonempty & one_of {" ".join(DNS_POLICIES)}
    nodeSelector                 check_labels
    .                            check_pod_security
    affinity                     check_affinity
    .                            _dns
    readinessGates[].conditionType    text & label_key
    schedulingGates[]            _gate_name
    schedulingGates[]            unique name here
    topologySpreadConstraints    check_spread_constraints
    .                            check_host_processes
    .                            check_host_users
    hostnameOverride             forbidden if setHostnameAsFQDN: may not be specified when setHostnameAsFQDN is true
    hostnameOverride             forbidden if hostNetwork: may not be specified when hostNetwork is true
    hostnameOverride             longest 64 & dns_subdomain
    serviceAccountName           if_nonempty & dns_subdomain
    serviceAccount               if_nonempty & dns_subdomain unless serviceAccountName @ serviceAccountName
    nodeName                     if_nonempty & dns_subdomain
    activeDeadlineSeconds        between 1 {2**31 - 1}
    hostname                     if_nonempty & dns_label
    subdomain                    if_nonempty & dns_label
    tolerations                  check_tolerations
    hostAliases[].ip             text & check_address
    hostAliases[].hostnames[]    dns_subdomain
    priorityClassName            if_nonempty & dns_subdomain
    runtimeClassName             dns_subdomain
    preemptionPolicy             missing if preempts_nothing
    preemptionPolicy             if_nonempty & one_of PreemptLowerPriority Never
    overhead                     check_overhead
    .                            check_operating_system
    schedulingGroup              _group
    schedulingGroup?.podGroupName    dns_subdomain
    .                            check_file_variables
    """,
    *(check_labels, _dns, check_spread_constraints, check_host_processes, check_host_users),
    *(check_address, check_overhead, check_operating_system, _group, check_file_variables),
    _gate_name,
    check_affinity=check_affinity,
    check_tolerations=check_tolerations,
    check_pod_security=check_pod_security,
    preempts_nothing=lambda spec: spec.get("preemptionPolicy") == "",
)


def check_template(problems: Problems, owner: Object, path: str) -> None:
    """The template of ``owner`` at ``path``."""
    template = section(owner, "template")
    spec, metadata = section(template, "spec"), template.get("metadata")
    check_labels(problems, (metadata or {}).get("labels"), f"{path}.labels")
    check_annotations(problems, (metadata or {}).get("annotations"), f"{path}.annotations")
    check_pod_annotations(problems, metadata, spec, f"{path}.annotations")
    check_pod_spec(problems, spec, f"{path}.spec")
    check_profiles(problems, metadata, spec, f"{path}.spec")
    if each(spec, "ephemeralContainers"):
        problems.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def labels_match(problems: Problems, spec: Object, selector: Object | None) -> None:
    """A selector must select the pods of the template beside it."""
    labels = section(spec, "template", "metadata").get("labels")
    if not matches(selector, labels):
        labels_mismatch(problems, spec)


def labels_mismatch(problems: Problems, spec: Object) -> None:
    labels = section(spec, "template", "metadata").get("labels")
    shown = None if labels is None else dict(sorted(labels.items()))
    problems.invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`")


def format_selector(selector: Object) -> Object:
    """A selector as upstream shows it: fields in their order, labels by key, nothing that is empty."""
    labels = dict(sorted(section(selector, "matchLabels").items()))
    items = [
        {key: item[key] for key in ("key", "operator", "values") if item.get(key)}
        for item in each(selector, "matchExpressions")
    ]
    return {key: value for key, value in (("matchLabels", labels), ("matchExpressions", items)) if value}


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a template's labels are selected. No selector selects nothing; a broken one is judged elsewhere."""
    if selector is None:
        return False
    try:
        compiled = Selector.from_label_selector(convert(selector, LabelSelector))
    except SelectorError:
        return True
    return all(requirement.matches((labels or {}).get(requirement.key)) for requirement in compiled.requirements)


def not_negative(problems: Problems, owner: Object, key: str, path: str = "spec") -> None:
    value = owner.get(key)
    if value is not None and value < 0:
        problems.invalid(f"{path}.{key}", value, "must be greater than or equal to 0")


def only_always(problems: Problems, spec: Object, kind: str) -> None:
    """Pods that are replaced when they end restart their containers and have no deadline."""
    pod = section(spec, "template", "spec")
    if pod.get("restartPolicy") != "Always":
        problems.not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy"), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        problems.forbidden("spec.template.spec.activeDeadlineSeconds", why)
