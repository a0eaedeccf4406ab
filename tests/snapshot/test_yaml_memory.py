"""Equal texts of YAML are parsed once, and whoever reads them gets values of his own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.read.yaml_memory import read_yaml_once, remember_yaml
from kwhatif.snapshot.read.yaml_reader import read_yaml
from kwhatif.snapshot.repository.reading_report import ReadingReport

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: '1'}}\n"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {name: db}\n"
DEPLOYER = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: all, namespace: flux-system}
spec:
  path: apps
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}
"""


def test_a_repository_in_two_revisions_has_each_of_its_texts_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: Counter[bytes] = Counter()

    def count(data: bytes, *rest: Any) -> Any:
        parsed[data] += 1
        return read_yaml(data, *rest)

    monkeypatch.setattr("kwhatif.snapshot.read.yaml_memory.read_yaml", count)
    for name, text in {"apps/web.yaml": POD, "flux/settings.yaml": SETTINGS, "flux/all.yaml": DEPLOYER}.items():
        for revision in ("old", "new"):
            file = tmp_path / revision / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    found = []
    with remember_yaml():
        for revision in ("old", "new"):
            (tmp_path / revision / ".git").mkdir()
            found.append(load_manifests(gather_directories([str(tmp_path / revision)], recursive=True)))
    assert [[each.obj.name for each in one] for one in found] == [["settings", "web"]] * 2
    assert parsed == {SETTINGS.encode(): 1, DEPLOYER.encode(): 1, POD.encode(): 1}


def test_nobody_sees_what_another_reader_does_to_the_values() -> None:
    with remember_yaml():
        first, again = (read_yaml_once(POD.encode(), "web.yaml", None, None, False)[0] for _ in range(2))
        assert first == again
        first.value["metadata"]["labels"]["a"] = "2"
        (third,) = read_yaml_once(POD.encode(), "web.yaml", None, None, False)
        assert again.value == third.value != first.value


def test_what_is_wrong_with_a_text_is_said_of_each_file_that_has_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n")
        (tmp_path / f"{name}-twice.yaml").write_text(POD + "kind: Pod\n")
    report = ReadingReport()
    load_manifests([str(tmp_path)], report=report)
    assert [str(each).partition(" document")[0] for each in report.unreadable] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "b.yaml"),
    ]
    assert [each.partition(":")[0] for each in report.duplicates] == [
        str(tmp_path / "a-twice.yaml"),
        str(tmp_path / "b-twice.yaml"),
    ]
    with remember_yaml():
        read_yaml_once(POD.encode(), "a.yaml", [], None, False)
        with pytest.raises(InputError, match="appears twice"):
            read_yaml_once(f"{POD}kind: Pod\n".encode(), "a.yaml", None, None, False)
