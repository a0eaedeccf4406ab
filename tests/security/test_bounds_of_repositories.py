"""What a repository may make of little: each that has no end, or leads elsewhere, is refused in a line, and soon."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kwhatif.errors import LimitError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec: {chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: charts}}}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {a0: '%s'}\n"


def with_archive(folder: Path, name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> None:
    """A release, and an archive with a member of a name besides its chart."""
    write_files(folder, {"release.yaml": RELEASE})
    with tarfile.open(folder / "web-1.tgz", "w:gz", compresslevel=1) as archive:
        for named, data in (("web/Chart.yaml", b"name: web\nversion: 1.0.0\n"), (name, b"\0" * size)):
            member = tarfile.TarInfo(named)
            member.size, member.linkname = len(data), "/etc/passwd"
            member.type = kind if named == name else tarfile.REGTYPE
            archive.addfile(member, io.BytesIO(data))


def with_circle(folder: Path) -> None:
    write_files(folder, {f"{one}/kustomization.yaml": f"resources: [../{other}]\n" for one, other in ("ab", "ba")})


def with_depth(folder: Path) -> None:
    for number in range(300):
        write_files(folder, {f"k{number}/kustomization.yaml": f"resources: [../k{number + 1}]\n"})


def with_matrix(folder: Path) -> None:
    numbers = ", ".join(f"{{n: '{number}'}}" for number in range(1000))
    each = f"{{list: {{elements: [{numbers}]}}}}"
    template = "{metadata: {name: '{{n}}'}, spec: {source: {path: a, repoURL: b}, destination: {}}}"
    text = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: many}\nspec:\n"
    write_files(
        folder,
        {"set.yaml": f"{text}  generators: [{{matrix: {{generators: [{each}, {each}]}}}}]\n  template: {template}\n"},
    )


def with_patches(folder: Path) -> None:
    copies = "".join(f"  - {{op: copy, from: /data, path: /data/a{number}}}\n" for number in range(40))
    patch = f"patches:\n- target: {{kind: ConfigMap}}\n  patch: |-\n{copies.replace('  -', '    -')}"
    write_files(folder, {"kustomization.yaml": f"resources: [map.yaml]\n{patch}", "map.yaml": MAP % "a"})


def with_replacements(folder: Path) -> None:
    feeds = "".join(
        f"- source: {{kind: ConfigMap, fieldPath: data}}\n  targets: [{{select: {{kind: ConfigMap}}, "
        f"fieldPaths: [data.a{number}], options: {{create: true}}}}]\n"
        for number in range(1, 40)
    )
    text = f"resources: [map.yaml]\nreplacements:\n{feeds}"
    write_files(folder, {"kustomization.yaml": text, "map.yaml": MAP % "a"})


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link in an archive": (
        lambda folder: with_archive(folder, "web/a", tarfile.SYMTYPE),
        "it has 'web/a', which is neither a file nor a directory",
    ),
    "a hard link": (
        lambda folder: with_archive(folder, "web/a", tarfile.LNKTYPE),
        "it has 'web/a', which is neither a file nor a directory",
    ),
    "a device": (
        lambda folder: with_archive(folder, "web/a", tarfile.CHRTYPE),
        "it has 'web/a', which is neither a file nor a directory",
    ),
    "an absolute name": (lambda folder: with_archive(folder, "/web/a"), "it has '/web/a', a path from the root"),
    "a name that leads out": (lambda folder: with_archive(folder, "web/../../a"), "it has 'web/../../a', "),
    "a bomb": (lambda folder: with_archive(folder, "web/a", size=1 << 22), "larger than the limit of 1,048,576 bytes"),
    "overlays in a circle": (with_circle, "leads back to itself"),
    "overlays that are 300 deep": (with_depth, "more than 64 kustomizations are in each other"),
    "a matrix of a million": (with_matrix, "make more than the limit of 50,000 Applications"),
    "patches that double a document": (with_patches, "kustomizations copy more than 20,000 values"),
    "replacements that feed each other": (with_replacements, "kustomizations copy more than 20,000 values"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_end_or_leads_elsewhere_is_refused_in_a_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, expected = CASES[name]
    make(tmp_path)
    monkeypatch.setattr("kwhatif.bounds.COPIED_VALUES", 20_000)
    monkeypatch.setattr("kwhatif.bounds.MANIFEST_BYTES", 1 << 20)
    report, began = ReadingReport(), time.process_time()
    options = ReadingOptions(charts=ChartLibrary([str(tmp_path)]), may_be_empty=True)
    try:
        load_manifests(gather_directories([str(tmp_path)]), options=options, report=report)
    except LimitError as error:
        lines = [str(error)]
    else:
        lines = [*report.not_rendered.values(), *report.not_followed]
    assert any(expected in line for line in lines), lines
    assert all("\n" not in line for line in lines)
    assert time.process_time() - began < 60
