"""The live cluster as the one that is asked about, and which cluster counts where none is named."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import yaml

import kwhatif
from kwhatif.cli import kubectl_complete
from kwhatif.snapshot import live_cache as kept
from kwhatif.snapshot.live.dump import DumpOptions
from tests.cli.running import CLUSTER, TESTS, Ran, refused, run
from tests.snapshot.server import Answer, ApiServer, objects_in

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: small}
spec: {containers: [{name: main, image: nginx, resources: {requests: {cpu: 10m}}}]}
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_clock: None) -> Iterator[ApiServer]:
    """An API server that kubectl would talk to, and a cache of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KWHATIF_SNAPSHOT", raising=False)
    monkeypatch.setattr(kept, "DumpOptions", lambda: DumpOptions(page_size=50))
    with ApiServer() as started:
        (tmp_path / "config").mkdir()
        monkeypatch.setenv("KUBECONFIG", started.kubeconfig(tmp_path / "config"))
        yield started


def place(*words: str) -> Ran:
    return run("place", "-", *words, stdin=POD)


def dumps(server: ApiServer) -> int:
    """How often the cluster was read."""
    return len(server.asked("/version"))


def kept_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "kwhatif").glob("*"))


# --- a live cluster


@pytest.mark.long
def test_python_asks_the_cluster_that_kubectl_would_talk_to_and_keeps_it(server: ApiServer, tmp_path: Path) -> None:
    pod = yaml.safe_load(POD)
    first = kwhatif.place(pod, snapshot=kwhatif.live())
    assert (first.exit_code, first.fidelity.source) == (0, f"loop ({server.url})")
    told = json.loads(place("--live", "-o", "json").out)
    assert first.placements[0].node == told["placements"][0]["node"]
    again = kwhatif.capacity(pod, snapshot=kwhatif.live(kubeconfig=os.environ["KUBECONFIG"]))
    assert again.fits > 0
    assert isinstance(again.fidelity.age_seconds, int)
    assert (dumps(server), len(kept_files(tmp_path))) == (1, 1)
    kwhatif.place(pod, snapshot=kwhatif.live(max_age=0))
    assert dumps(server) == 2


def test_python_is_told_what_cannot_be_asked(server: ApiServer) -> None:
    with pytest.raises(kwhatif.KwhatifError, match="as_groups needs as_user"):
        kwhatif.live(as_groups=["admins"])
    with pytest.raises(kwhatif.KwhatifError, match="nowhere"):
        kwhatif.place(yaml.safe_load(POD), snapshot=kwhatif.live(context="nowhere"))


def test_a_pod_is_placed_on_the_cluster_that_kubectl_would_talk_to(server: ApiServer) -> None:
    ran = place("--live", "-o", "json")
    assert ran.code == 0, ran.err
    fidelity = json.loads(ran.out)["fidelity"]
    assert fidelity["source"] == f"loop ({server.url})"
    assert isinstance(fidelity["ageSeconds"], int)
    assert len(json.loads(ran.out)["placements"]) == 1


def test_the_answer_says_whence_the_cluster_is_and_how_old(server: ApiServer) -> None:
    out = " ".join(place("--live").out.split())
    said = rf"live snapshot of Kubernetes 1\.36 from loop \({re.escape(server.url)}\), \d+ seconds? old\."
    assert re.search(said, out)


def test_of_a_file_it_says_when_it_was_taken(server: ApiServer) -> None:
    ran = place("--snapshot", CLUSTER, "-o", "json")
    assert "ageSeconds" not in json.loads(ran.out)["fidelity"]
    assert dumps(server) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("explain", "-f", "POD"),
        ("capacity", "POD", "--limit", "1"),
        ("diff", "POD", "--policy", "default", "--policy", "default@1.34"),
        ("drain", "NODE", "--force", "--ignore-daemonsets", "--delete-emptydir-data"),
        ("gate", "POD"),
        ("expand", "POD"),
        ("autoscale", "groups"),
        ("autoscale", "catalogue"),
        ("snapshot", "info"),
        ("snapshot", "trim", "-f", "POD", "-o", "OUT", "--steps", "1"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_command_that_takes_a_cluster_takes_the_live_one(
    words: tuple[str, ...], server: ApiServer, tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    node = next(objects_in("/api/v1/nodes"))["metadata"]["name"]
    paths = {"POD": str(tmp_path / "pod.yaml"), "OUT": str(tmp_path / "out.json"), "NODE": node}
    ran = run(*(paths.get(word, word) for word in words), "--context", "loop")
    assert ran.code in (0, 1), ran.err
    assert dumps(server) == 1


@pytest.mark.long
def test_a_context_or_a_user_says_that_a_live_cluster_is_meant(server: ApiServer) -> None:
    assert place("--context", "loop").code == 0
    assert (
        place("--context", "nowhere").err.endswith("nowhere does not exist\n")
        or place("--context", "nowhere").code == 2
    )
    assert "nodes is forbidden" in place("--as", "viewer").err


def test_mistakes_are_told_before_a_cluster_is_asked(server: ApiServer) -> None:
    assert place("--live", "--context", "loop", "--policy", "-").code == 2
    assert server.requests == []


def test_a_cluster_is_of_a_file_or_live(server: ApiServer) -> None:
    problem = "the cluster is that of a file, or the live one"
    assert refused("place", "x.yaml", "--snapshot", CLUSTER, "--live") == f"--live: {problem}"
    assert refused("place", "x.yaml", "--snapshot", CLUSTER, "--as", "me") == f"--as: {problem}"
    assert refused("snapshot", "info", CLUSTER, "--context", "loop") == f"--context: {problem}"


# --- which one counts


def test_nobody_says_which_cluster(server: ApiServer) -> None:
    problem = refused("place", "x.yaml")
    assert all(
        name in problem for name in ("--snapshot", "--live", "KWHATIF_SNAPSHOT", ".kwhatif.yaml", "kubectl whatif")
    )
    assert server.requests == []


def test_the_version_that_a_rules_file_gives_goes_with_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text((TESTS / CLUSTER).read_text())
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / ".kwhatif.yaml").write_text(
        'apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nsnapshot: [file.json]\nkubernetesVersion: "1.31"\n'
    )
    with mock.patch("tests.cli.running.TESTS", tmp_path):
        versions = [
            json.loads(run("place", "pod.yaml", "-o", "json", *words).out)["fidelity"]["rules"]
            for words in ((), ("--kubernetes-version", "1.33"))
        ]
    assert versions == ["1.31", "1.33"]


@pytest.mark.long
def test_an_option_counts_more_than_the_variable_that_more_than_the_file_and_that_more_than_the_name(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = json.loads((TESTS / CLUSTER).read_text())
    for name in ("option", "variable", "file"):
        (tmp_path / f"{name}.json").write_text(json.dumps(cluster | {"metadata": {"source": f"by {name}"}}))
    (tmp_path / ".kwhatif.yaml").write_text("apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nsnapshot: [file.json]\n")
    (tmp_path / "pod.yaml").write_text(POD)
    variable = {"KWHATIF_SNAPSHOT": str(tmp_path / "variable.json")}

    def source(*words: str, env: dict[str, str] | None = None) -> str:
        # The nearest rules file is that of the working directory.
        with mock.patch("tests.cli.running.TESTS", tmp_path):
            ran = run("place", "pod.yaml", "-o", "json", *words, env=env)
        assert ran.code == 0, ran.err
        return str(json.loads(ran.out)["fidelity"]["source"])

    assert source("--snapshot", "option.json", env=variable) == "by option"
    assert source("--live", env=variable) == f"loop ({server.url})"
    assert source(env=variable) == "by variable"
    assert source() == "by file"
    monkeypatch.setattr("kwhatif.cli.cluster_options.program", lambda: "kubectl whatif")
    assert source() == "by file"
    (tmp_path / ".kwhatif.yaml").unlink()
    assert source() == f"loop ({server.url})"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pl"], ["place"]),
        (["snapshot", "rec"], ["record"]),
        (["place", "--contex"], ["--context"]),
        (["autoscale", "plan", "-o", "ya"], ["yaml"]),
        (["place", "manifests/"], []),
    ],
    ids=" ".join,
)
def test_kubectl_completes_it(
    words: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-whatif", *words])
    with mock.patch.dict(os.environ):
        kubectl_complete.main()
    assert capsys.readouterr().out.splitlines() == [*found, ":0"]


# --- what is kept


@pytest.mark.long
def test_a_series_of_questions_takes_one_dump(server: ApiServer) -> None:
    first, second = place("--live", "-o", "json"), place("--live", "-o", "json")
    assert dumps(server) == 1
    one, other = json.loads(first.out), json.loads(second.out)
    for each in (one, other):
        del each["fidelity"]["ageSeconds"]
    assert one == other


@pytest.mark.long
@pytest.mark.parametrize("words", [("--max-age", "0"), ("--as", "admin"), ("--insecure-skip-tls-verify",)])
def test_another_question_takes_another_dump(words: tuple[str, ...], server: ApiServer) -> None:
    place("--live")
    assert place("--live", *words).code == 0
    assert dumps(server) == 2


@pytest.mark.long
def test_what_is_kept_can_be_read_by_its_owner_alone(server: ApiServer, tmp_path: Path) -> None:
    place("--live")
    (file,) = kept_files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_nothing_is_kept_where_nothing_may_be_known_of_a_question_before(server: ApiServer, tmp_path: Path) -> None:
    place("--live", "--max-age", "0")
    assert kept_files(tmp_path) == []


def aged(file: Path, seconds: float) -> None:
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


@pytest.mark.long
def test_what_is_too_old_is_asked_for_anew_and_what_is_forgotten_is_removed(server: ApiServer, tmp_path: Path) -> None:
    place("--live", "--as", "admin")
    (other,) = kept_files(tmp_path)
    aged(other, kept.CACHE_LIFETIME_SECONDS + 60)
    (other.parent / ".kwhatif-1.tmp").write_text("killed")
    aged(other.parent / ".kwhatif-1.tmp", kept.CACHE_LIFETIME_SECONDS + 60)
    place("--live")
    (file,) = kept_files(tmp_path)
    aged(file, 90)
    place("--live", "--max-age", "2m")
    assert dumps(server) == 2
    place("--live")
    assert dumps(server) == 3


@pytest.mark.long
@pytest.mark.parametrize("harm", ["damaged", "a link", "of the future"])
def test_what_is_kept_is_not_trusted_if_it_looks_odd(harm: str, server: ApiServer, tmp_path: Path) -> None:
    place("--live")
    (file,) = kept_files(tmp_path)
    match harm:
        case "damaged":
            file.write_text("{")
        case "a link":
            file.rename(tmp_path / "elsewhere.json")
            file.symlink_to(tmp_path / "elsewhere.json")
        case _:
            aged(file, -3600)
    assert place("--live").code == 0
    assert dumps(server) == 2


def test_an_answer_needs_no_cache(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    ran = place("--live")
    assert ran.code == 0
    assert "note: the snapshot is not kept for the next question: " in ran.err


def test_a_cluster_that_cannot_be_read_leaves_nothing(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/api/v1/nodes", Answer(403))
    assert place("--live").code == 2
    assert kept_files(tmp_path) == []
