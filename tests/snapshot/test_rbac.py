"""``kwhatif snapshot rbac``: enough for a dump, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kwhatif.api.kinds import LASTING
from tests.cli.running import refused, run
from tests.snapshot.server import ApiServer


def printed(*words: str) -> list[dict[str, Any]]:
    ran = run("snapshot", "rbac", *words)
    assert (ran.code, ran.err) == (0, "")
    return list(yaml.safe_load_all(ran.out))


def allowed(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Group, plural and verb of all that rules allow."""
    return {(g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}


def test_the_role_allows_to_list_the_kinds_of_the_catalogue_and_nothing_else() -> None:
    (role,) = printed()
    assert (role["kind"], role["metadata"]) == ("ClusterRole", {"name": "kwhatif-snapshot"})
    *kinds, maps = role["rules"]
    assert allowed(kinds) == {(form.group, form.plural, "list") for kind in LASTING for form in kind.forms}
    assert not any("resourceNames" in rule for rule in kinds)
    assert "secrets" not in str(role)
    assert "configmaps" not in str(kinds)
    assert maps["resourceNames"] == [
        *("cluster-autoscaler-status", "cluster-autoscaler-priority-expander"),
        *("descheduler", "descheduler-policy-configmap"),
    ]
    assert allowed([maps]) == {("", "configmaps", "list")}


def test_all_that_a_dump_asks_for_is_allowed(tmp_path: Path) -> None:
    """But for the version and the API groups, which everybody may read."""
    with ApiServer() as server:
        config = server.kubeconfig(tmp_path)
        run("snapshot", "dump", "--kubeconfig", config, "-o", str(tmp_path / "c.json"), "--chunk-size", "50")
        paths = {urlsplit(asked.path).path for asked in server.requests} - {"/version", "/apis"}
    (role,) = printed()
    asked = set()
    for path in paths:
        parts = path.strip("/").split("/")
        asked.add((parts[1] if parts[0] == "apis" else "", parts[-1], "list"))
    assert asked <= allowed(role["rules"])


def test_to_watch_is_allowed_only_where_it_is_asked_for() -> None:
    (role,) = printed("--watch")
    *kinds, _ = role["rules"]
    there = {(form.group, form.plural) for kind in LASTING for form in kind.forms} | {("", "events")}
    assert allowed(kinds) == {(*one, verb) for one in there for verb in ("list", "watch")}


def test_a_service_account_is_given_the_role() -> None:
    role, binding = printed("--name", "reader", "--service-account", "tools/kwhatif")
    assert (binding["kind"], binding["metadata"]["name"]) == ("ClusterRoleBinding", "reader")
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "kwhatif", "namespace": "tools"}]
    assert role["metadata"]["name"] == "reader"


def test_one_config_map_can_be_allowed_and_no_other() -> None:
    _, _, role, binding = printed("--service-account", "tools/kwhatif", "--scheduler-config", "kube-system/scheduler")
    assert role["metadata"] == {"name": "kwhatif-snapshot", "namespace": "kube-system"}
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["scheduler"], "verbs": ["get"]}
    ]
    assert (binding["kind"], binding["metadata"]["namespace"]) == ("RoleBinding", "kube-system")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--service-account", "kwhatif"), "--service-account: expected NAMESPACE/NAME, found 'kwhatif'"),
        (("--scheduler-config", "a/b/c"), "--scheduler-config: expected NAMESPACE/NAME, found 'a/b/c'"),
        (("--name", "A role"), "--name: expected a name such as kwhatif-snapshot, found 'A role'"),
    ],
)
def test_what_is_no_name_is_refused(words: tuple[str, ...], line: str) -> None:
    assert refused("snapshot", "rbac", *words) == line
