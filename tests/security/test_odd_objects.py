"""Objects that lack what every object has: read as having none, or refused with their place."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.redaction.redact import LineRedactor, _Line
from kwhatif.redaction.translation import Translation
from kwhatif.snapshot.recording_lines import KIND_OF_PATH
from kwhatif.workloads.objects import controller_of
from tests.cli.running import run
from tests.fuzz.good_files import documents, good_files

ODD: list[Any] = [None, 5, "text", [], {}, True, 1.5]


@pytest.mark.parametrize("odd", ODD)
def test_an_owner_that_is_no_owner_controls_nothing(odd: Any) -> None:
    whole = {"controller": True, "kind": "Job", "name": "a"}
    for key in ("kind", "name"):
        assert controller_of({"metadata": {"ownerReferences": [whole | {key: odd if odd != "text" else ""}]}}) == {}
        assert controller_of({"metadata": {"ownerReferences": [{k: v for k, v in whole.items() if k != key}]}}) == {}
    for metadata in (odd, {"ownerReferences": odd}, {"ownerReferences": [odd]}):
        assert controller_of({"metadata": metadata}) == {}
    assert controller_of({"metadata": {"ownerReferences": [whole]}}) == whole


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", [path for path, kind in KIND_OF_PATH.items() if kind.name in ("Pod", "Node")])
def test_a_recording_of_odd_objects_is_redacted_or_refused(kind: str, odd: Any) -> None:
    redactor = LineRedactor(Translation(), lambda translation: None)
    for value in (odd, {"metadata": odd}, {"metadata": {"name": "a"}, "spec": odd}):
        for line in (_Line(1, kind, event={"type": "ADDED", "object": value}), _Line(1, kind, list={"items": [value]})):
            with contextlib.suppress(InputError):
                assert redactor._line(line) is not None


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The good files, and rules of a gate."""
    folder = tmp_path_factory.mktemp("odd")
    rules = next(each for each in documents("documents.yaml") if each["kind"] == "GatePolicy")
    written = {**good_files(), "rules": {key: rules[key] for key in ("apiVersion", "kind", "rules")}}
    return {name: _write(folder, name, value) for name, value in written.items()}


def _write(folder: Path, name: str, value: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [None, "", 5, [], {}, "missing"])
def test_a_group_of_nodes_without_a_name_is_refused_with_its_place(
    name: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    groups = json.loads(files["groups"].read_text("utf-8"))
    groups["groups"][1] |= {"name": name}
    if name == "missing":
        del groups["groups"][1]["name"]
    odd = _write(tmp_path, "odd", groups)
    ran = run("rightsize", "--snapshot", str(files["cluster"]), "--usage", str(files["usage"]), "--autoscale", str(odd))
    assert (ran.code, ran.out) == (2, "")
    assert f"kwhatif: {odd}: $.groups[1]" in ran.err.splitlines()[-1]


_NAMELESS = ("kind", "metadata", "metadata.name", "apiVersion")


@pytest.mark.parametrize("form", ["tap", "gitlab", "markdown"])
@pytest.mark.parametrize("odd", [None, "", 5, [], {}, "missing"])
@pytest.mark.parametrize("field", _NAMELESS)
def test_an_object_without_kind_or_name_beside_rules_is_no_internal_error(
    field: str, odd: Any, form: str, files: dict[str, Path], tmp_path: Path
) -> None:
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}}
    above, last = (obj["metadata"], "name") if "." in field else (obj, field)
    above[last] = odd
    if odd == "missing":
        del above[last]
    release = _write(tmp_path, "odd", obj)
    rules = ("--snapshot", str(files["cluster"]), "--config", str(files["rules"]), "-o", form)
    for words in ((str(release),), (str(files["release"]), "--base", str(release))):
        ran = run("gate", *words, *rules, env={"KWHATIF_DEBUG": ""})
        assert ran.code in (0, 1, 2)
        assert "internal error" not in ran.err
        if ran.code == 2:
            assert ran.out == ""
            assert f"kwhatif: {release}" in ran.err.splitlines()[-1]
        else:
            assert ran.out


@pytest.mark.parametrize("form", ["tap", "gitlab", "markdown", "sarif", "junit", "github", "json", "table"])
def test_an_object_that_has_no_name_yet_is_reported_beside_rules(
    form: str, files: dict[str, Path], tmp_path: Path
) -> None:
    spec = {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "9000"}}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}, "spec": spec}
    release = _write(tmp_path, "release", pod)
    rules = ("--snapshot", str(files["cluster"]), "--config", str(files["rules"]), "-o", form)
    ran = run("gate", str(release), *rules, env={"KWHATIF_DEBUG": ""})
    assert ran.code == 1
    assert "a-" in ran.out
