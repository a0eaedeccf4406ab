"""ApplicationSets: the Applications that lists, git, matrices, merges and clusters make, and what they deploy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif import bounds
from kwhatif.errors import InputError, LimitError
from kwhatif.snapshot.read.yaml_reader import read_yaml
from kwhatif.snapshot.repository.application_sets import ApplicationSets, NotGeneratedError
from kwhatif.snapshot.repository.argo_clusters import ArgoCluster, read_clusters
from kwhatif.snapshot.repository.file_trees import disk_trees
from kwhatif.snapshot.repository.go_templates import render_go
from tests.security.repositories import write_files
from tests.snapshot.repository.test_followed_objects import DEPLOYMENT, read

URL = "https://git.example.com/team/config.git"
FILES = {
    "apps/cart/config.json": json.dumps({"name": "cart", "team": {"name": "blue"}, "sizes": [1, 2], "live": True}),
    "apps/cart/web.yaml": DEPLOYMENT,
    "apps/Shop_1/config.json": json.dumps([{"name": "shop", "team": {"name": "red"}}, {"name": "shop2"}]),
    "apps/Shop_1/web.yaml": DEPLOYMENT,
    "apps/old/web.yaml": DEPLOYMENT,
    "apps/deep/er/config.json": "{}",
    ".hidden/config.json": "{}",
}
CLUSTERS = [
    ArgoCluster("one", "https://one.example.com", labels={"env": "prod"}, annotations={"zone": "a"}),
    ArgoCluster("Two_2", "https://two.example.com", project="p", labels={"env": "test"}),
]


def generate(folder: Path, text: str, clusters: list[ArgoCluster] | None = None) -> list[str]:
    """The names of the Applications, each with its path and namespace, of generators in YAML."""
    write_files(folder, {name: each for name, each in FILES.items() if not (folder / name).exists()})
    (folder / ".git").mkdir(exist_ok=True)
    (document,) = read_yaml(text.replace("HERE", URL).encode(), "set.yaml")
    made = ApplicationSets(disk_trees([str(folder)])[str(folder)], clusters).applications_of({"spec": document.value})
    return [
        " ".join(
            [
                each["metadata"]["name"],
                *filter(None, [each["spec"].get("source", {}).get("path"), each["spec"].get("destination")]),
            ]
        )
        for each in made
    ]


def template(name: str, path: str = "", destination: str = "") -> str:
    spec = {"source": {"path": path, "repoURL": URL}, "destination": destination}
    return f"\ntemplate: {json.dumps({'metadata': {'name': name}, 'spec': spec})}\n"


CASES: dict[str, tuple[str, list[str]]] = {
    "a list": (
        "generators: [{list: {elements: [{a: x, values: {b: '1'}}, {a: w, n: 2}]}}]" + template("{{a}}-{{ values.b }}"),
        ["x-1", "w-{{ values.b }}"],
    ),
    "a list of Go's templates": (
        "goTemplate: true\ngenerators: [{list: {elements: [{a: x, b: {c: [1, 2]}}, {a: w, b: {c: [3, 4]}}]}}]"
        + template("{{.a}}-{{index .b.c 1}}"),
        ["x-2", "w-4"],
    ),
    "directories of git, but for those left out": (
        "generators: [{git: {repoURL: HERE, directories: [{path: apps/*}, {path: apps/old, exclude: true}]}}]"
        + template("{{path.basenameNormalized}}-{{path[0]}}", "{{path}}"),
        ["shop-1-apps apps/Shop_1", "cart-apps apps/cart", "deep-apps apps/deep"],
    ),
    "directories for Go's templates, with a prefix and values": (
        "goTemplate: true\ngenerators:\n- git:\n    repoURL: HERE\n    pathParamPrefix: my\n"
        "    directories: [{path: apps/c*}]\n    values: {v: '{{ .my.path.basename }}-v'}"
        + template("{{.values.v}}-{{index .my.path.segments 0}}", "{{.my.path.path}}"),
        ["cart-v-apps apps/cart"],
    ),
    "files of git": (
        "generators: [{git: {repoURL: HERE, files: [{path: apps/**/config.json}]}}]"
        + template("{{name}}-{{team.name}}-{{sizes.1}}{{live}}-{{path.filenameNormalized}}", "{{path}}"),
        [
            "shop-red-{{sizes.1}}{{live}}-config.json apps/Shop_1",
            "shop2-{{team.name}}-{{sizes.1}}{{live}}-config.json apps/Shop_1",
            "cart-blue-2true-config.json apps/cart",
            "{{name}}-{{team.name}}-{{sizes.1}}{{live}}-config.json apps/deep/er",
        ],
    ),
    "a matrix whose second generator uses the first": (
        "generators:\n- matrix:\n    generators:\n    - list: {elements: [{app: cart}, {app: old}]}\n"
        "    - git: {repoURL: HERE, directories: [{path: 'apps/{{app}}'}]}" + template("{{app}}", "{{path}}"),
        ["cart apps/cart", "old apps/old"],
    ),
    "a merge by a key": (
        "generators:\n- merge:\n    mergeKeys: [a]\n    generators:\n"
        "    - list: {elements: [{a: x, b: '1'}, {a: w, b: '1'}]}\n"
        "    - list: {elements: [{a: w, b: '2'}, {a: z, b: '3'}]}" + template("{{a}}{{b}}"),
        ["x1", "w2"],
    ),
    "clusters by labels": (
        "generators: [{clusters: {selector: {matchLabels: {env: prod}}, values: {v: '{{name}}!'}}}]"
        + template("{{name}}-{{metadata.annotations.zone}}-{{values.v}}", "{{server}}"),
        ["one-a-one! https://one.example.com"],
    ),
    "all clusters, and the one of Argo CD itself": (
        "generators: [{clusters: {}}]" + template("{{nameNormalized}}", "{{server}}"),
        ["one https://one.example.com", "two-2 https://two.example.com", "in-cluster https://kubernetes.default.svc"],
    ),
    "a selector of parameters": (
        "generators:\n- list: {elements: [{a: x}, {a: w}]}\n"
        "  selector: {matchExpressions: [{key: a, operator: In, values: [w]}]}" + template("{{a}}"),
        ["w"],
    ),
    "a template of a generator": (
        "generators:\n- list:\n    elements: [{a: x}]\n    template: {spec: {source: {path: own}}}"
        + template("{{a}}", "all"),
        ["x own"],
    ),
    "two generators": (
        "generators: [{list: {elements: [{a: x}]}}, {list: {elements: [{a: w}]}}]" + template("{{a}}"),
        ["x", "w"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_generators_make_applications(case: tuple[str, list[str]], tmp_path: Path) -> None:
    assert generate(tmp_path, case[0], CLUSTERS) == case[1]


NOT_MADE = {
    "pullRequest: {}": "generated by pullRequest, which only Argo CD can ask",
    "scmProvider: {}": "generated by scmProvider, which only Argo CD can ask",
    "clusters: {}": "generated for clusters, which --clusters names",
    "git: {repoURL: 'https://example.com/other.git', directories: [{path: x}]}": "generated of another repository",
    "matrix: {generators: []}": "generated by a matrix of 0, not of two",
    "list: {elementsYaml: '[]'}": "generated by elementsYaml",
}


@pytest.mark.parametrize("generator", NOT_MADE)
def test_what_cannot_be_known_is_said(generator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.snapshot.repository.file_trees.origin_url", lambda folder: URL)
    with pytest.raises(NotGeneratedError, match=NOT_MADE[generator]):
        generate(tmp_path, f"generators: [{{{generator}}}]" + template("x"))


def test_a_matrix_that_multiplies_to_a_million_is_refused_in_a_line(tmp_path: Path) -> None:
    elements = f"{{list: {{elements: [{', '.join('{a: x}' for _ in range(1000))}]}}}}"
    with pytest.raises(LimitError, match=f"more than the limit of {bounds.APPLICATIONS:,} Applications") as caught:
        generate(tmp_path, f"generators: [{{matrix: {{generators: [{elements}, {elements}]}}}}]" + template("{{a}}"))
    assert len(str(caught.value).splitlines()) == 1


def test_generators_a_thousand_deep_are_refused_in_a_line(tmp_path: Path) -> None:
    inner: dict[str, Any] = {"list": {"elements": [{"a": "x"}]}}
    for _ in range(1000):
        inner = {"matrix": {"generators": [inner, {"list": {"elements": [{}]}}]}}
    tree = disk_trees([str(tmp_path)])[str(tmp_path)]
    with pytest.raises(LimitError, match="too deep in each other"):
        ApplicationSets(tree).applications_of({"spec": {"generators": [inner]}})


SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  goTemplate: true
  generators: [{git: {repoURL: HERE, directories: [{path: apps/*}]}}]
  template:
    metadata: {name: '{{.path.basename}}'}
    spec:
      destination: {namespace: '{{.path.basenameNormalized}}'}
      source: {repoURL: HERE, path: '{{.path.path}}'}
""".replace("HERE", URL)


def test_what_its_applications_deploy_stands_in_the_place_of_a_set(tmp_path: Path) -> None:
    write_files(tmp_path, {**FILES, "clusters/set.yaml": SET})
    found, report = read(tmp_path)
    assert set(found) == {f"Deployment {name}/web" for name in ("cart", "shop-1", "old")}
    assert report.followed == {"ApplicationSet": 1}


def test_a_set_that_cannot_be_generated_stays_and_is_counted(tmp_path: Path) -> None:
    write_files(tmp_path, {"set.yaml": SET.replace("git:", "plugin:")})
    found, report = read(tmp_path)
    assert set(found) == {"ApplicationSet argocd/all"}
    assert report.not_followed == {"generated by plugin, which only Argo CD can ask": {"ApplicationSet": 1}}


def test_clusters_are_read_of_their_secrets(tmp_path: Path) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"argocd.argoproj.io/secret-type": "cluster", "env": "prod"}},
        "data": {"name": "b25l", "server": "aHR0cHM6Ly9v", "config": "?"},
    }
    path = tmp_path / "clusters.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret]}))
    (found,) = read_clusters([str(path)])
    assert (found.name, found.server, found.labels["env"]) == ("one", "https://o", "prod")
    path.write_text(json.dumps({**secret, "kind": "ConfigMap"}))
    with pytest.raises(InputError, match=r"clusters\.json: \$: expected Secrets of Argo CD's clusters"):
        read_clusters([str(path)])


VALUES = {"a": "x", "b": {"c": [1, "two"], "d": "Up", "t": True}, "none": None, "k.l": "dot"}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("plain", "plain"),
        ("{{.a}}/{{ .b.d | lower }}", "x/up"),
        ("{{ .b.c }} {{index .b.c 0}} {{ index . \"k.l\" }}", "[1 two] 1 dot"),
        ("{{ .missing }} {{ default \"y\" .missing }} {{ .a | default \"y\" }}", "<no value> y x"),
        ("a {{- .a -}} b{{/* a remark */}}", "axb"),
        ("{{ if .b.t }}yes{{ else }}no{{ end }}{{ if not .a }}1{{ else if eq .a \"x\" }}2{{ end }}", "yes2"),
        ("{{ printf \"%s-%v\" .a (index .b.c 0) | upper | quote }}", '"X-1"'),
        ("{{ trimSuffix \"wo\" (index .b.c 1) }}{{ replace \"x\" \"z\" .a }}", "tz"),
        ("{{ dig \"b\" \"d\" \"no\" . }} {{ dig \"b\" \"x\" \"no\" . }}", "Up no"),
        ("{{ hasKey .b \"d\" }}{{ get .b \"x\" }}", "true"),
        ("{{ coalesce .missing .none .a }} {{ empty .none }}", "x true"),
        ("{{ normalize \"A_b.\" }}{{ ternary \"1\" \"2\" .b.t }}", "a-b1"),
    ],
)  # fmt: skip
def test_gos_templates(text: str, made: str) -> None:
    assert render_go(text, VALUES) == made


@pytest.mark.parametrize(
    "text", ["{{ range .b.c }}{{ end }}", "{{ env \"HOME\" }}", "{{ .a | }}", "{{ (.a }}", "{{ 'a' }}", "{{ .a .b }}"]
)  # fmt: skip
def test_what_is_not_evaluated_of_gos_templates_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="template"):
        render_go(text, VALUES)
