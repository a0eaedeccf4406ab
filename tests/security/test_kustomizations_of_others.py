"""Kustomizations, and what lays something over them, by strangers: nothing else is read, and nothing is fetched."""

from __future__ import annotations

import http.server
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import POD, SECRET, write_files

pytestmark = pytest.mark.posix

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {destination: {namespace: shop}, source: {repoURL: 'https://git.example.com/a', path: base, kustomize: %s}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: %s
"""


class _Server(http.server.BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(SECRET.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server on loopback that everybody could reach."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository beside files that must not be read."""
    write_files(tmp_path, {"outside/pod.yaml": SECRET, "outside/kustomization.yaml": "resources: [pod.yaml]\n"})
    folder = tmp_path / "checkout"
    write_files(folder, {"base/kustomization.yaml": "resources: [pod.yaml]\n", "base/pod.yaml": POD})
    (folder / ".git").mkdir()
    _Server.asked.clear()
    return folder


def read(folder: Path, render: str) -> tuple[list[str], str]:
    """Names of the objects with their values, and all that is said."""
    report = ReadingReport()
    options = ReadingOptions(render=render, may_be_empty=True)
    try:
        found = load_manifests(gather_directories([str(folder)], may_be_empty=True), options=options, report=report)
    except InputError as error:
        return [], str(error)
    unread = [*map(str, report.unreadable)]
    values = [f"{each.obj.name} {each.raw}" for each in found]
    return values, "\n".join([*report.notes(), *map(str, report.gaps()), *unread])


OUTSIDE = [
    *("../../outside", "../../outside/pod.yaml", "/etc/passwd", "/proc/kmsg", "/proc/self/environ", "/dev/stdin"),
    *(
        "../../../../../../../../proc/kmsg",
        "link",
        "link/pod.yaml",
        "file.yaml",
        "pipe.yaml",
        "zero.yaml",
        "..//../outside",
    ),
    *("base/../../../outside/pod.yaml", "file:///etc/passwd", "a\n../../outside", "./../../outside/", "\0"),
]
LINKS = {
    "prod/link": "->../../outside",
    "prod/file.yaml": "->../../outside/pod.yaml",
    "prod/pipe.yaml": "|",
    "prod/zero.yaml": "->/dev/zero",
}
FIELDS = [
    *("resources: [%s]", "RESOURCES: [%s]", "bases: [%s]", "Components: [%s]", "crds: [%s]", "configurations: [%s]"),
    *("patches: [{path: %s}]", "Patches: [{PATH: %s}]", "patchesStrategicMerge: [%s]", "replacements: [{path: %s}]"),
    *("patchesJson6902: [{path: %s, target: {kind: Pod, name: web}}]", "openapi: {path: %s}", "patches: [%s]"),
    *("configMapGenerator: [{name: a, files: [%s]}]", "secretGenerator: [{name: a, envs: [%s]}]"),
    *("configMapGenerator: [{name: a, env: %s}]", "transformers: [%s]", "generators: [%s]", "validators: [%s]"),
    "re\u017fource\u017f: [%s]",
]


def quoted(text: str) -> str:
    import json

    return json.dumps(text)


@pytest.mark.long
@pytest.mark.parametrize("render", ["never", "auto"])
def test_nothing_outside_of_the_repository_is_read_by_any_field(checkout: Path, render: str) -> None:
    links = {name: text for name, text in LINKS.items() if not name.endswith(".yaml")}
    others = {name.replace(".yaml", ""): text for name, text in LINKS.items() if name.endswith(".yaml")}
    write_files(checkout, {**links, **others})
    for field in FIELDS:
        for number, name in enumerate([*OUTSIDE, "file", "pipe", "zero"] if field == FIELDS[0] else OUTSIDE[:6]):
            write_files(checkout, {"prod/kustomization.yaml": field % quoted(name) + "\nnamespace: prod\n"})
            names, said = read(checkout, render)
            assert "stolen" not in f"{names}{said}", (field, name)
            assert "root:" not in f"{names}{said}", (field, name)
            assert [each.split()[0] for each in names] == ["web"], (field, name)
            is_plugin = field.startswith(("generators", "validators"))
            assert is_plugin or render == "never" or "prod was not rendered: " in said, (field, number, name, said)


@pytest.mark.parametrize("name", ["../../outside", "/etc", "link"])
def test_what_is_outside_is_a_gap_where_nothing_is_built(checkout: Path, name: str) -> None:
    write_files(
        checkout, {"prod/link": "->../../outside", "prod/kustomization.yaml": f"resources: [{name}, ../base]\n"}
    )
    names, said = read(checkout, "never")
    assert len(names) == 1
    assert f"prod/kustomization.yaml asks for '{name}', which is outside of the repository" in said


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
@pytest.mark.parametrize("text", ["|", "->/dev/zero", "->../../outside/kustomization.yaml", "->/proc/kmsg"])
@pytest.mark.parametrize("render", ["never", "auto"])
def test_a_kustomization_that_is_a_pipe_or_leads_out_is_none(checkout: Path, name: str, text: str, render: str) -> None:
    write_files(checkout, {f"prod/{name}": text})
    names, said = read(checkout, render)
    assert "stolen" not in f"{names}{said}"


REMOTE = [
    *(
        "{url}/x.yaml",
        "{url}//x?ref=a",
        "git::{url}/x.git",
        "127.0.0.1:1/x.git",
        "git@127.0.0.1:x/y.git",
        "ssh://127.0.0.1/x",
    ),
    *("github.com/a/b", "github.com/a/b//c?ref=v1", "gh:a/b", "file://{folder}/x", "{url}/_git/x"),
]


@pytest.mark.long
def test_nothing_is_fetched_by_any_field_even_where_a_file_is_called_like_an_address(
    checkout: Path, server: str
) -> None:
    number = 0
    for field in FIELDS:
        for which, each in enumerate(REMOTE if field == FIELDS[0] else REMOTE[:2]):
            name = each.format(url=server, folder=checkout)
            files = {"kustomization.yaml": field % quoted(name) + "\nnamespace: a\n"}
            write_files(checkout / f"a{number}", files)
            write_files(
                checkout / f"b{number}", {**files, f"{name}/kustomization.yaml" if which else name: "resources: []"}
            )
            number += 1
    names, said = read(checkout, "auto")
    assert "stolen" not in f"{names}{said}"
    assert _Server.asked == []


@pytest.mark.parametrize(
    "key", ["patches", "components", "Patches", "resources", "helmCharts", "transformers", "generators"]
)
@pytest.mark.parametrize("kind", ["Argo CD", "Flux"])
def test_what_is_laid_over_a_directory_reads_and_fetches_nothing_else(
    checkout: Path, server: str, kind: str, key: str
) -> None:
    for name in ("../../outside/pod.yaml", f"{server}/x.yaml", "/etc/passwd", "../../outside"):
        entry = f"{{path: {quoted(name)}}}" if key.lower() == "patches" else quoted(name)
        argo = APPLICATION % f"{{namePrefix: a-, {key}: [{entry}]}}"
        flux = FLUX % f"{{path: ./base, {key}: [{entry}], namePrefix: a-}}"
        write_files(checkout, {"apps/a.yaml": argo if kind == "Argo CD" else flux})
        names, said = read(checkout, "auto")
        assert "stolen" not in f"{names}{said}"
        assert "root:" not in f"{names}{said}"
        assert len(names) == 1
    assert _Server.asked == []


@pytest.mark.parametrize("path", ["../outside", "/../outside", "/etc", "link", "base/../../outside", "..", "${A}"])
@pytest.mark.parametrize("render", ["never", "auto"])
def test_a_path_that_is_deployed_is_one_of_the_repository(checkout: Path, path: str, render: str) -> None:
    write_files(checkout, {"link": "->../outside", "apps/a.yaml": FLUX % f"{{path: '{path}'}}"})
    write_files(checkout, {"apps/b.yaml": (APPLICATION % "{}").replace("path: base", f"path: '{path}'")})
    names, said = read(checkout, render)
    assert "stolen" not in f"{names}{said}"


@pytest.mark.parametrize("render", ["never", "auto"])
def test_linked_directories_are_not_gone_into(checkout: Path, render: str) -> None:
    write_files(checkout, {"more/link": "->../../outside", "more/root": "->/", "more/again": "->."})
    names, said = read(checkout, render)
    assert "stolen" not in f"{names}{said}"
    assert [each.split()[0] for each in names] == ["web"]


@pytest.mark.long
@pytest.mark.parametrize("render", ["never", "auto"])
def test_directories_that_are_very_deep_are_refused_in_a_line(checkout: Path, render: str) -> None:
    here = os.open(checkout, os.O_RDONLY)
    for _ in range(250):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert "its directories are more than 200 in each other" in read(checkout, render)[1]


def test_kustomizations_in_each_other_are_counted_before_they_are_built(checkout: Path) -> None:
    for depth in range(12):
        bases = [f"../{depth + 1}-{number}" for number in range(3)] if depth < 11 else []
        for number in range(3):
            write_files(
                checkout,
                {f"k/{depth}-{number}/kustomization.yaml": f"resources: {quoted_list(bases)}\nnamePrefix: a\n"},
            )
    write_files(
        checkout,
        {"loop/kustomization.yaml": "resources: [../loop2]\n", "loop2/kustomization.yaml": "resources: [../loop]\n"},
    )
    began = time.process_time()
    _, said = read(checkout, "auto")
    assert "has more than 10,000 kustomizations built" in said
    assert time.process_time() - began < 60


def quoted_list(names: list[str]) -> str:
    return f"[{', '.join(names)}]"


def test_patches_without_end_and_words_of_many_bytes_take_little_time(checkout: Path) -> None:
    word = "x" * 70_000
    write_files(checkout, {"prod/kustomization.yaml": f"resources: [../base]\npatches: [{{patch: '{word}: ['}}]\n"})
    began = time.process_time()
    _, said = read(checkout, "auto")
    assert "prod was not rendered: " in said
    assert len(said) < 2_000
    assert time.process_time() - began < 60


def test_a_patch_that_stands_in_a_kustomization_is_no_address(checkout: Path, server: str) -> None:
    for text in (f"{server}/x#: 1\nkind: a", f"{server}/x?{{kind: a}}", f"{server}/x\n", f"kind: a\n{server}/x: 1\n"):
        fields = f"resources: [../base]\nnamespace: a\npatchesStrategicMerge: [{quoted(text)}]\n"
        write_files(checkout, {"prod/kustomization.yaml": fields})
        assert "prod was not rendered: " in read(checkout, "auto")[1]
    assert _Server.asked == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["x", "x%d"])
def test_very_many_names_are_not_all_looked_for(checkout: Path, name: str) -> None:
    names = [name % number if "%" in name else name for number in range(24_000)]
    write_files(
        checkout, {"prod/x": POD, "prod/kustomization.yaml": f"resources:\n- {quoted_lines(names)}\nnamespace: a\n"}
    )
    began = time.process_time()
    assert [each.split()[0] for each in read(checkout, "never")[0]] == ["web", "web"][: 2 if name == "x" else 1]
    assert time.process_time() - began < 60


def quoted_lines(names: list[str]) -> str:
    return "\n- ".join(names)


@pytest.mark.parametrize("by", ["kustomizations", "deployments"])
def test_a_file_that_is_deployed_again_and_again_counts_each_time(
    checkout: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(checkout, {"apps/pod.yaml": f"{POD}# {'x' * 10_000}\n"})
    for number in range(50):
        flux = (FLUX % f"{{path: ./apps, targetNamespace: a{number}}}").replace("name: apps", f"name: a{number}")
        one = f"resources: [../apps/pod.yaml]\nnamespace: a{number}\n"
        files = {f"k{number}/kustomization.yaml": one} if by == "kustomizations" else {f"flux/{number}.yaml": flux}
        write_files(checkout, files)
    assert len(read(checkout, "never")[0]) > 50
    monkeypatch.setattr("kwhatif.bounds.MANIFEST_BYTES", 300_000)
    assert "files that are deployed more than once come to more than 300,000 bytes" in read(checkout, "never")[1]
