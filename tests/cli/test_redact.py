"""``snapshot redact`` and ``snapshot reveal``: there and back, and what is refused."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.running import TESTS, run

SAMPLES = TESTS.parent / "samples"
CLUSTER, PODS = "data/cluster.json", "data/pods.yaml"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder with what would be shared, and the translation."""
    assert run("snapshot", "redact", CLUSTER, "-o", f"{tmp_path}/cluster.json", *private(tmp_path)).code == 0
    assert run("snapshot", "redact", PODS, "-n", "shop", "-o", f"{tmp_path}/pods.yaml", *private(tmp_path)).code == 0
    return tmp_path


def private(folder: Path) -> tuple[str, str]:
    return "--translation", f"{folder}/private.json"


# --- there and back


def same_but_for_origins(text: str) -> str:
    """The text without what it says of the files it is about, and without uids made up from names."""
    text = re.sub(r"(?:Origin:|\"origin\":|origin:|\"uid\":).*", "", text)
    text = re.sub(r"kwhatif place \S+ --snapshot \S+", "kwhatif place", text)
    return re.sub(r" from .*, taken|\"source\": .*|source: .*", "", text)


QUESTIONS = [
    *[("place", "-o", output) for output in ("table", "json", "yaml", "markdown", "name")],
    *[("explain", "-o", output) for output in ("text", "json", "yaml", "markdown")],
    ("expand", "-n", "shop", "-o", "json"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_an_answer_on_what_was_shared_reads_back_as_the_answer(question: tuple[str, ...], shared: Path) -> None:
    command, *options = question
    truth = run(command, PODS, "--snapshot", CLUSTER, *options, columns=200)
    answer = run(command, f"{shared}/pods.yaml", "--snapshot", f"{shared}/cluster.json", *options, columns=200)
    assert answer.code == truth.code
    assert "shop" not in same_but_for_origins(answer.out)
    revealed = run("snapshot", "reveal", *private(shared), stdin=answer.out)
    assert same_but_for_origins(revealed.out) == same_but_for_origins(truth.out)
    assert revealed.code == 0


@pytest.mark.long
def test_the_samples_read_back_with_their_policies(tmp_path: Path) -> None:
    """Several snapshots, manifests and configurations may share one translation."""
    manifests = [str(SAMPLES / "manifests" / name) for name in ("spread.yaml", "too-big.yaml", "urgent.yaml")]
    policy = str(SAMPLES / "policies" / "requested-to-capacity.yaml")
    for source, name in (
        ((str(SAMPLES / "cluster"),), "cluster.json.zst"),
        ((str(SAMPLES / "three-nodes.json"),), "three.json"),
        (manifests, "manifests.yaml"),
        ((policy,), "policy.yaml"),
    ):
        ran = run("snapshot", "redact", *source, "-o", f"{tmp_path}/{name}", *private(tmp_path))
        assert ran.code == 0, ran.err
    for cluster, redacted in ((SAMPLES / "cluster", "cluster.json.zst"), (SAMPLES / "three-nodes.json", "three.json")):
        truth = run("place", *manifests, "--snapshot", str(cluster), "--policy", policy, "-o", "json")
        answer = run(
            *("place", f"{tmp_path}/manifests.yaml", "--snapshot", f"{tmp_path}/{redacted}"),
            *("--policy", f"{tmp_path}/policy.yaml", "-o", "json"),
        )
        revealed = json.loads(run("snapshot", "reveal", *private(tmp_path), stdin=answer.out).out)
        assert decisions(revealed) == decisions(json.loads(truth.out))


def decisions(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    fields = ("outcome", "node", "score", "feasible", "tied", "message", "victims")
    return [tuple(placement.get(field) for field in fields) for placement in answer["placements"]]


def test_what_a_table_is_called_and_what_is_no_table_stays_in_its_place(shared: Path) -> None:
    words = json.loads((shared / "private.json").read_text())["words"]
    shop, web = words["shop"], words["web"]
    text = f"  {shop} is no table\n\nPODS: two of {shop}\nNAME   SPACE\n{web}-1  {shop}\nx      {shop}\n"
    revealed = run("snapshot", "reveal", *private(shared), stdin=text)
    assert revealed.out == "  shop is no table\n\nPODS: two of shop\nNAME   SPACE\nweb-1  shop\nx      shop\n"


GOLDEN = TESTS / "data" / "redacted"


def test_what_is_written_is_the_golden_file_to_the_byte(tmp_path: Path, update_golden: bool) -> None:
    for source in (SAMPLES / "three-nodes.json", SAMPLES / "manifests" / "urgent.yaml"):
        assert run("snapshot", "redact", str(source), "-o", f"{tmp_path}/{source.name}", *private(tmp_path)).code == 0
    for path in sorted(tmp_path.iterdir()):
        golden = GOLDEN / path.name
        if update_golden:
            golden.write_bytes(path.read_bytes())
        assert path.read_bytes() == golden.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["private.json", "three-nodes.json", "urgent.yaml"]


# --- the translation


def test_the_translation_is_its_owners_alone_and_as_its_schema_says(shared: Path) -> None:
    path = shared / "private.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    schema = json.loads((TESTS.parent / "schemas" / "translation.schema.json").read_text())
    jsonschema.validate(json.loads(path.read_text()), schema)


def test_a_translation_only_grows(tmp_path: Path) -> None:
    run("snapshot", "redact", PODS, "-o", f"{tmp_path}/pods.yaml", *private(tmp_path))
    before = json.loads((tmp_path / "private.json").read_text())
    ran = run("snapshot", "redact", CLUSTER, "-o", f"{tmp_path}/cluster.json", *private(tmp_path))
    after = json.loads((tmp_path / "private.json").read_text())
    assert not ran.notes
    for part in ("words", "resources", "nodes", "pools", "uids", "addresses"):
        assert before[part].items() <= after[part].items()
    assert len(after["words"]) > len(before["words"])


@pytest.mark.posix
def test_a_translation_that_others_could_read_is_told_and_closed(shared: Path) -> None:
    path = shared / "private.json"
    path.chmod(0o644)
    ran = run("snapshot", "redact", CLUSTER, "-o", f"{shared}/again.json", *private(shared))
    assert ran.notes == [f"warning: {path}: was readable by others; now it is not"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_nothing_reads_is_left_out_and_told(tmp_path: Path) -> None:
    ran = run("snapshot", "redact", "data/others.yaml", "-o", f"{tmp_path}/others.yaml", *private(tmp_path))
    assert ran.code == 0
    assert any(line.startswith("note: left out, since nothing here reads them: ") for line in ran.notes)


# --- what is refused


def test_what_is_redacted_already_is_not_redacted_again(shared: Path) -> None:
    before = (shared / "private.json").read_bytes()
    ran = run("snapshot", "redact", f"{shared}/cluster.json", "-o", f"{shared}/again.json", *private(shared))
    assert ran.code == 2
    assert "is redacted already: there are no names left to replace" in ran.err
    assert (shared / "private.json").read_bytes() == before
    assert not (shared / "again.json").exists()


def test_the_private_file_cannot_be_the_one_to_share(tmp_path: Path) -> None:
    ran = run("snapshot", "redact", CLUSTER, "-o", f"{tmp_path}/private.json", *private(tmp_path))
    assert ran.code == 2
    assert "name the same file" in ran.err
    assert not list(tmp_path.iterdir())


def test_a_snapshot_cannot_be_written_as_manifests(tmp_path: Path) -> None:
    ran = run("snapshot", "redact", CLUSTER, "-o", f"{tmp_path}/a.yaml", *private(tmp_path))
    assert ran.code == 2
    assert ran.err == (
        f"kwhatif: {CLUSTER}: $.kind: expected manifests, found a whole ClusterSnapshot: "
        "write it to a file that ends in .json\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_legacy_policy_is_redacted_once_it_is_converted(tmp_path: Path) -> None:
    policy = str(SAMPLES / "legacy" / "policy.json")
    redact = ("-o", f"{tmp_path}/shared.yaml", *private(tmp_path))
    refused = run("snapshot", "redact", policy, *redact)
    what = "a legacy Policy, which cannot be redacted: redact what 'kwhatif policy convert' makes of it"
    assert (refused.code, refused.err) == (2, f"kwhatif: {policy}: $.kind: {what}\n")
    (tmp_path / "converted.yaml").write_text(run("policy", "convert", policy).out, encoding="utf-8")
    assert run("snapshot", "redact", f"{tmp_path}/converted.yaml", *redact).code == 0


BROKEN = [
    ('{"kind": "Translation"', "line 1, column 23: not valid JSON"),
    ('{"kind": "Pod"}', '$.kind: expected "Translation", found "Pod"'),
    ('{"apiVersion": "kwhatif.dev/v9"}', '$.apiVersion: expected "kwhatif.dev/v1", found "kwhatif.dev/v9"'),
    ('{"words": {"web": 3}}', "$.words.web: expected a string"),
    ('{"words": {"web": "k501"}}', '$.words.web: expected "w" and digits, the last of them not 0, found "k501"'),
    ('{"words": {"web": "w510"}}', '$.words.web: expected "w" and digits, the last of them not 0, found "w510"'),
    ('{"words": {"web": "w501", "zoo": "w301"}}', '$.words.zoo: expected a code after "w501", found "w301"'),
    ('{"nodes": {"a": "node-5001", "b": "node-5001"}}', '$.nodes.b: expected a code after "node-5001"'),
    ('{"uids": {"a": 1, "b": 1}}', "$.uids: expected the numbers 1 to 2, each once"),
]


@pytest.mark.parametrize(("text", "problem"), BROKEN, ids=[row[1] for row in BROKEN])
def test_a_broken_translation_is_said_to_be_one(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "private.json").write_text(text)
    for words in (
        ("redact", CLUSTER, "-o", f"{tmp_path}/out.json"),
        ("reveal", "-"),
    ):
        ran = run("snapshot", *words, *private(tmp_path), stdin="w501")
        assert ran.code == 2
        assert ran.err.startswith(f"kwhatif: {tmp_path}/private.json: {problem}")
        assert ran.err.count("\n") == 1
        assert not ran.out
    assert (tmp_path / "private.json").read_text() == text
    assert not (tmp_path / "out.json").exists()


def test_an_answer_cannot_be_read_back_without_a_translation(tmp_path: Path) -> None:
    ran = run("snapshot", "reveal", *private(tmp_path), stdin="w501")
    assert ran.code == 2
    assert "private.json" in ran.err
    assert not (tmp_path / "private.json").exists()
