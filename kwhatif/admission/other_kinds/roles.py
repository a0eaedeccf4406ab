"""Role, ClusterRole and their bindings. Privilege escalation is not checked.

Upstream: pkg/apis/rbac/validation/validation.go, pkg/apis/rbac/v1/defaults.go.
"""

from __future__ import annotations

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import path_segment
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.objects import section

_GROUP = "rbac.authorization.k8s.io"
_VERBS = """
    rules[].verbs                required: verbs must contain at least one value
"""
_OF_NAMESPACE = """
    rules[].nonResourceURLs      if_nonempty & invalid: namespaced rules cannot apply to non-resource URLs
"""
_RULES = """
    rules[].nonResourceURLs      if_nonempty & invalid if apiGroups or resources or resourceNames:
            rules cannot apply to both regular resources and non-resource URLs
    rules[]                      stop if nonResourceURLs
    rules[].apiGroups            required: resource rules must supply at least one api group
    rules[].resources            required: resource rules must supply at least one resource
"""
_AGGREGATION = """
    aggregationRule?.clusterRoleSelectors      required:
            at least one clusterRoleSelector required if aggregationRule is non-nil
    aggregationRule?.clusterRoleSelectors[]    _selector
"""
_BINDING = f"""
    roleRef.apiGroup             one_of {_GROUP}
    roleRef.kind                 text & one_of {{kinds}}
    roleRef.name                 required & path_segment
    subjects[].name              required
    subjects[].name              if_nonempty & dns_subdomain if kind=ServiceAccount
    subjects[].apiGroup          if_nonempty & _core if kind=ServiceAccount
    subjects[].apiGroup          text & one_of {_GROUP} if kind=User|Group
    subjects[].kind              text & one_of ServiceAccount User Group
"""


def _selector(problems: Problems, selector: Object, path: str) -> None:
    before = len(problems.causes)
    check_label_selector(problems, selector, path)
    if len(problems.causes) > before:
        problems.invalid(path, None, "invalid label selector.")


def _core(problems: Problems, group: str, path: str) -> None:
    problems.not_supported(path, group, ("",))


def _binding_defaults(request: Request, obj: Object) -> None:
    role = obj["roleRef"] = section(obj, "roleRef")
    role["apiGroup"] = role.get("apiGroup") or _GROUP
    for subject in each(obj, "subjects"):
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _GROUP


def _role(rows: str) -> Strategy:
    return Strategy(check=object_table(rows, _selector, names=path_segment), has_spec=False)


def _binding(kinds: str, more: str = "") -> Strategy:
    rows = _BINDING.format(kinds=kinds) + more
    return Strategy(_binding_defaults, object_table(rows, _core, names=path_segment), has_spec=False)


STRATEGIES = {
    "Role": _role(_VERBS + _OF_NAMESPACE + _RULES),
    "ClusterRole": _role(_VERBS + _RULES + _AGGREGATION),
    "RoleBinding": _binding("Role ClusterRole"),
    "ClusterRoleBinding": _binding("ClusterRole", "    subjects[].namespace         required if kind=ServiceAccount\n"),
}
