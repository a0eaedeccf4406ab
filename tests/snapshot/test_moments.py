"""Any moment of a recording is a snapshot."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_recording, load_snapshot
from kwhatif.snapshot.read.files import lines_that_begin
from kwhatif.snapshot.recording import Moment, rfc3339, state_at
from kwhatif.snapshot.recording_lines import is_recording
from tests.cli.running import CLUSTER, TESTS, refused, run

DAY = TESTS / "data/recorded-day.jsonl.gz"


def written(directory: Path, *lines: dict[str, Any]) -> Path:
    """A recording that begins with two nodes at second 1000."""
    nodes = {"metadata": {"resourceVersion": "10"}, "items": [node("a", 1), node("b", 2)]}
    first = {"at": 1000.0, "kind": "v1/nodes", "list": nodes}
    path = directory / "day.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return path


def node(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def told(at: float, type_: str, name: str, version: int) -> dict[str, Any]:
    return {"at": at, "kind": "v1/nodes", "event": {"type": type_, "object": node(name, version)}}


CHANGES = (
    told(1010.0, "ADDED", "c", 11),
    told(1020.0, "DELETED", "a", 12),
    told(1030.0, "ADDED", "late", 15),
    # Of another connection, say, and received after something newer.
    told(1031.0, "ADDED", "d", 14),
    told(4600.0, "DELETED", "b", 20),
)


@pytest.mark.parametrize(
    ("moment", "there", "taken"),
    [
        pytest.param("@+0s", "ab", "1970-01-01T00:16:40Z", id="at the beginning, as the lists have it"),
        pytest.param("@+10s", "abc", "1970-01-01T00:16:50Z", id="with what was received right then"),
        pytest.param("@1970-01-01T00:17:05Z", "bc", "1970-01-01T00:17:05Z", id="at a time"),
        pytest.param("@1970-01-01T02:17:05+02:00", "bc", "1970-01-01T00:17:05Z", id="in another time zone"),
        pytest.param(
            "@+30s", "bcdlate", "1970-01-01T00:17:10Z", id="with what came late and is older than what was known"
        ),
        pytest.param("@+59m59s", "bcdlate", "1970-01-01T01:16:39Z", id="between two changes"),
        pytest.param("@+1h", "cdlate", "1970-01-01T01:16:40Z", id="at the last line"),
        pytest.param("@end", "cdlate", "1970-01-01T01:16:40Z", id="at the end"),
        pytest.param("", "cdlate", "1970-01-01T01:16:40Z", id="at the end, since nothing else is said"),
    ],
)
def test_the_cluster_is_as_it_was_known(moment: str, there: str, taken: str, tmp_path: Path) -> None:
    path = written(tmp_path, *CHANGES)
    snapshot = load_snapshot([f"{path}{moment}"])
    assert "".join(sorted(obj.name for obj in snapshot.objects.by_kind()["Node"])) == there
    assert (snapshot.taken_at, snapshot.source) == (taken, f"{path}{moment} (recording)")


@pytest.mark.parametrize(
    ("moment", "problem"),
    [
        ("@1970-01-01T00:00:00Z", "@1970-01-01T00:00:00Z is before it begins: it spans 1970-01-01T00:16:40Z to "),
        ("@2026-03-01T14:00:00Z", "@2026-03-01T14:00:00Z is after it ends: it spans 1970-01-01T00:16:40Z to "),
        ("@+2h", "1970-01-01T01:16:40Z, @+0s to @+1h0m0s"),
        ("@noon", '@noon: expected a time such as 2026-03-01T14:00:00Z, +2h or end, found "noon"'),
        ("@2026-13-01T14:00:00Z", "@2026-13-01T14:00:00Z: expected a time such as 2026-03-01T14:00:00Z, +2h or end: "),
        ("@2026-03-01T14:00:00", "expected a time such as"),
        ("@+2", "missing unit in duration"),
        ("@", "expected a time such as"),
    ],
)
def test_a_moment_that_is_none_is_refused(moment: str, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path, *CHANGES)
    line = refused("snapshot", "info", f"{path}{moment}")
    assert line.startswith(f"{path}: ")
    assert problem in line


def test_only_recordings_have_moments(tmp_path: Path) -> None:
    assert refused("place", "x.yaml", "--snapshot", f"{CLUSTER}@end").endswith(
        f"{CLUSTER}: @end: only a recording has moments, and this is none"
    ) or "x.yaml" in refused("place", "x.yaml", "--snapshot", f"{CLUSTER}@end")
    assert "only a recording has moments" in refused("snapshot", "info", f"{CLUSTER}@end")
    assert "no such file" in refused("snapshot", "info", f"{tmp_path}/absent.jsonl@end")


def test_a_file_may_have_the_sign_in_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, *CHANGES).rename(tmp_path / "day@end")
    assert load_snapshot([str(path)]).taken_at == "1970-01-01T01:16:40Z"
    assert load_snapshot([f"{path}@+0s"]).taken_at == "1970-01-01T00:16:40Z"


def test_a_recording_was_taken_when_its_first_line_was_written() -> None:
    recording, snapshot = load_recording(str(DAY))
    assert recording.starts_at is not None
    assert snapshot.taken_at == rfc3339(recording.starts_at) == "2026-11-21T23:34:26Z"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_moment_is_what_all_changes_up_to_then_come_to(share: float) -> None:
    recording, _ = load_recording(str(DAY))
    first, last = recording.start[0].at, max(change.at for change in recording.changes)
    at = first + share * (last - first)
    lines = lines_that_begin(str(DAY), is_recording)
    assert lines is not None
    found = {(item.kind, bytes(item.value)) for item in state_at(lines, Moment(at=at)).items()}
    version = max(recording.version_at(at), recording.begins)
    assert found == {
        (change.kind.name, bytes(change.raw)) for change in recording.until(version) if not change.kind.idle
    }


def test_every_command_takes_a_moment(tmp_path: Path) -> None:
    with gzip.open(DAY, "rt") as lines:
        start = json.loads(lines.readline())["at"]
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    ran = run("place", str(tmp_path / "pod.yaml"), "--snapshot", f"{DAY}@+1s", "-o", "json")
    assert json.loads(ran.out)["fidelity"]["takenAt"] == rfc3339(start + 1)
    out = tmp_path / "then.json"
    assert run("snapshot", "convert", f"{DAY}@+1s", "-o", str(out)).code == 0
    assert json.loads(out.read_text())["metadata"]["takenAt"] == rfc3339(start + 1)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_recording_that_breaks_off_is_read_as_far_as_it_goes(kept: float, tmp_path: Path) -> None:
    data = DAY.read_bytes()
    path = tmp_path / "day.jsonl.gz"
    path.write_bytes(data[: int(len(data) * kept)])
    snapshot = load_snapshot([str(path)])
    assert snapshot.inconsistencies[-1].startswith("the recording breaks off after ")
    assert load_recording(str(path))[0].cut


def test_a_line_in_the_middle_that_is_damaged_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, *CHANGES)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], lines[2][:20], *lines[3:]]))
    with pytest.raises(InputError, match="line 3: "):
        load_snapshot([str(path)])
