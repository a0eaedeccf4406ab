"""Role, ClusterRole and their bindings. Privilege escalation is not checked.

Upstream: pkg/apis/rbac/validation/validation.go, pkg/apis/rbac/v1/defaults.go.
"""

from __future__ import annotations

from functools import partial

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, check_name_in_path, dns_subdomain
from kwhatif.admission.validation.metadata import check_usual_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector

_GROUP = "rbac.authorization.k8s.io"
_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


def _check_role(problems: Problems, obj: Object, *, namespaced: bool) -> None:
    check_usual_metadata(problems, obj)
    for i, rule in enumerate(each(obj, "rules")):
        _rule(problems, rule, f"rules[{i}]", namespaced=namespaced)
    aggregation = None if namespaced else obj.get("aggregationRule")
    if aggregation is not None:
        selectors, path = each(aggregation, "clusterRoleSelectors"), "aggregationRule.clusterRoleSelectors"
        if not selectors:
            problems.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for i, selector in enumerate(selectors):
            check_label_selector(problems, selector, f"{path}[{i}]")


def _rule(problems: Problems, rule: Object, path: str, *, namespaced: bool) -> None:
    if not rule.get("verbs"):
        problems.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            problems.invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            problems.invalid(f"{path}.nonResourceURLs", urls, _BOTH)
        return
    if not rule.get("apiGroups"):
        problems.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        problems.required(f"{path}.resources", "resource rules must supply at least one resource")


def _binding_defaults(request: Request, obj: Object) -> None:
    role = obj["roleRef"] = obj.get("roleRef") or {}
    role["apiGroup"] = role.get("apiGroup") or _GROUP
    for subject in each(obj, "subjects"):
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _GROUP


def _check_binding(problems: Problems, obj: Object, *, namespaced: bool) -> None:
    check_usual_metadata(problems, obj)
    role = obj["roleRef"]
    check_choice(problems, role["apiGroup"], "roleRef.apiGroup", (_GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    check_choice(problems, role.get("kind") or "", "roleRef.kind", kinds)
    check_name_in_path(problems, role, "name", "roleRef")
    for i, subject in enumerate(each(obj, "subjects")):
        _subject(problems, subject, f"subjects[{i}]", namespaced=namespaced)


def _subject(problems: Problems, subject: Object, path: str, *, namespaced: bool) -> None:
    kind, name, group = (subject.get(key) or "" for key in ("kind", "name", "apiGroup"))
    if not name:
        problems.required(f"{path}.name")
    match kind:
        case "ServiceAccount":
            if name:
                problems.invalid(f"{path}.name", name, *dns_subdomain(name))
            check_choice(problems, group, f"{path}.apiGroup", ("",))
            if not namespaced and not subject.get("namespace"):
                problems.required(f"{path}.namespace")
        case "User" | "Group":
            check_choice(problems, group, f"{path}.apiGroup", (_GROUP,))
        case _:
            problems.unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


STRATEGIES = {
    "Role": Strategy(check=partial(_check_role, namespaced=True), has_spec=False),
    "ClusterRole": Strategy(check=partial(_check_role, namespaced=False), has_spec=False),
    "RoleBinding": Strategy(_binding_defaults, partial(_check_binding, namespaced=True), has_spec=False),
    "ClusterRoleBinding": Strategy(_binding_defaults, partial(_check_binding, namespaced=False), has_spec=False),
}
