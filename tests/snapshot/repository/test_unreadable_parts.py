"""One odd thing in a directory does not end a run: it is left out, said with its place, and the rest is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import FidelityError, InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.yaml_reader import read_yaml
from kwhatif.snapshot.repository.reading_report import ReadingReport
from tests.security.repositories import write_files

CLUSTER = str(Path(__file__).parents[3] / "samples" / "cluster")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: a, image: a}]}\n"
CLUSTER_OF_POSTGRES = (
    "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\n"
    "spec: {instances: 2, storage: {size: 1Gi}, resources: {requests: {cpu: 10zz}}}\n"
)
ODD = {
    "a broken document": (
        f"{POD % 'one'}---\nkind: Pod\nmetadata: {{name: x\n---\n{POD % 'two'}",
        "document 2: line 8, column 1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping",
        ["one", "two", "web"],
    ),
    "a broken document at the end": (
        f"{POD % 'one'}---\n{POD % 'two'}---\na: [\n",
        "document 3: line 12, column 1: not valid YAML: ",
        ["one", "two", "web"],
    ),
    "an object without a name": (
        f"{POD % 'one'}---\nkind: Pod\napiVersion: v1\nmetadata: {{labels: {{a: b}}}}\n",
        'document 2 (line 6): $.metadata.name: Pod "" is invalid: metadata.name: Required value',
        ["one", "web"],
    ),
    "a name that is no text": (POD % "y", "$.metadata.name: expected a string, found true", ["web"]),
    "an element of a list that is no object": (
        "apiVersion: v1\nkind: List\nitems: [{kind: Pod, metadata: {name: a}}]\n",
        '$.items[0].apiVersion: expected a string such as "v1", found none',
        ["web"],
    ),
    "a bad quantity in a custom resource": (
        CLUSTER_OF_POSTGRES,
        '$.spec.resources.requests.cpu: expected a quantity such as "500m" or "1Gi", found "10zz"',
        ["web"],
    ),
    "a file that git-crypt has locked": ("\0GITCRYPT\0", "a file that git-crypt has locked", ["web"]),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_it_is_a_gap_with_its_place_and_the_rest_is_placed(odd: tuple[str, str, list[str]], tmp_path: Path) -> None:
    text, problem, names = odd
    write_files(tmp_path, {"odd.yaml": text, "web.yaml": POD % "web"})
    result = kwhatif.place([str(tmp_path)], snapshot=[CLUSTER])
    assert sorted(each.pod.partition("/")[2] for each in result.placements) == names
    (gap,) = [each for each in result.fidelity.gaps if each.pods == ("<input>",)]
    assert gap.what.startswith(f"{tmp_path / 'odd.yaml'}: {problem}")
    assert gap.effect == "it is not judged"


@pytest.mark.long
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_it_is_refused_strictly_and_by_a_gate_unless_it_is_accepted(
    odd: tuple[str, str, list[str]], tmp_path: Path
) -> None:
    write_files(tmp_path, {"odd.yaml": odd[0], "web.yaml": POD % "web"})
    with pytest.raises(FidelityError, match=r"odd\.yaml"):
        kwhatif.place([str(tmp_path)], snapshot=[CLUSTER], strict=True)
    judged = kwhatif.gate([str(tmp_path)], snapshot=[CLUSTER])
    assert (judged.verdict, judged.exit_code) == ("unknown", 2)
    assert [each.file for each in judged.files.missing] == [str(tmp_path / "odd.yaml")]
    assert kwhatif.gate([str(tmp_path)], snapshot=[CLUSTER], accept=["odd.yaml"]).exit_code == 0


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_file_that_was_named_itself_has_to_be_right(odd: tuple[str, str, list[str]], tmp_path: Path) -> None:
    write_files(tmp_path, {"odd.yaml": odd[0], "web.yaml": POD % "web"})
    with pytest.raises(InputError, match=r"odd\.yaml"):
        kwhatif.place([str(tmp_path / "odd.yaml"), str(tmp_path)], snapshot=[CLUSTER])


def test_a_directory_of_nothing_else_is_refused_by_what_is_wrong(tmp_path: Path) -> None:
    write_files(tmp_path, {"odd.yaml": "kind: Pod\nmetadata: {name: x\n"})
    with pytest.raises(InputError, match="not valid YAML"):
        load_manifests([str(tmp_path)])


def test_a_limit_still_ends_the_run(tmp_path: Path) -> None:
    large = CLUSTER_OF_POSTGRES.replace("10zz", "1").replace("instances: 2", "instances: 2000000")
    write_files(tmp_path, {"odd.yaml": large, "web.yaml": POD % "web"})
    with pytest.raises(InputError, match="--max-pods"):
        kwhatif.place([str(tmp_path)], snapshot=[CLUSTER])


def test_broken_documents_of_a_stream_leave_the_others_their_numbers_and_lines() -> None:
    data = b"a: 1\n---\nb: {\n---\n# a remark\nc: 3\n---\n- 'x\n---\nd: 4\n--- [\n--- {e: 5}\n"
    broken: list[InputError] = []
    found = [(each.number, each.line, each.value) for each in read_yaml(data, "a.yaml", broken=broken)]
    assert found == [(1, 1, {"a": 1}), (3, 6, {"c": 3}), (5, 10, {"d": 4}), (7, 12, {"e": 5})]
    assert [each.source for each in broken] == [f"a.yaml document {number}" for number in (2, 4, 6)]


def test_a_stream_with_many_broken_documents_is_broken_as_a_whole() -> None:
    with pytest.raises(InputError, match="document 11"):
        list(read_yaml(b"--- {\n" * 20, "a.yaml", broken=[]))


def test_the_report_tells_what_was_left_out(tmp_path: Path) -> None:
    write_files(tmp_path, {"odd.yaml": f"{POD % 'one'}---\na: {{\n", "web.yaml": POD % "web"})
    report = ReadingReport()
    assert [each.obj.name for each in load_manifests([str(tmp_path)], report=report)] == ["one", "web"]
    assert [each.source for each in report.unreadable] == [f"{tmp_path / 'odd.yaml'} document 2"]
