"""No file through a link, none that somebody else owns, none that is no regular file, and no two runs on one."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kwhatif.commands.gate.gate_policy import rules_of
from kwhatif.commands.gate.rule import all_rules
from kwhatif.errors import InputError, UsageError
from kwhatif.fleet.dispatch import run as answers_of
from kwhatif.fleet.executors import LocalExecutor
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.rows_parquet import read_lines
from kwhatif.fleet.study import Study
from kwhatif.simulation.repository_policy import find_policy, read_policy
from kwhatif.snapshot import live_cache
from kwhatif.snapshot.format.atomic_files import AppendOnlyFile, check_private_directory, draft_of
from tests.cli.running import CLUSTER, refused, run
from tests.fleet.squares import Base, squares

pytestmark = pytest.mark.posix


def run_study(study: Study[Any, Any, Any], executor: LocalExecutor, rows: RowsFile) -> Iterator[Any]:
    """The rows of a study, of whatever type."""
    return answers_of(study, executor, rows)


# --- what is written


def test_a_link_at_the_name_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out.json").symlink_to(tmp_path / "mine")
    ran = run("snapshot", "convert", CLUSTER, "-o", str(tmp_path / "out.json"))
    assert ran.code == 0
    assert "out.json was a link: it is a file of its own now" in ran.err
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_recording_and_rows_are_written_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for resume in (False, True):
        with pytest.raises(OSError, match=r"exists|symbolic"):
            AppendOnlyFile(str(tmp_path / "link"), resume=resume)
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("fails", ["write", "fsync", "close"])
def test_a_full_disk_leaves_no_draft(tmp_path: Path, fails: str) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    real = os.close

    def full_at_close(descriptor: int) -> None:
        real(descriptor)
        full()

    def write_all() -> None:
        with draft_of(str(tmp_path / "out")) as file:
            file.write(b"all")
            if fails == "write":
                full()
            if fails == "close":
                patches.enter_context(mock.patch("os.close", full_at_close))

    with pytest.raises(OSError, match="No space"), ExitStack() as patches:  # noqa: PT012
        if fails == "fsync":
            patches.enter_context(mock.patch("os.fsync", full))
        write_all()
    assert list(tmp_path.iterdir()) == []


# --- the cache


def test_a_cache_directory_that_is_a_link_or_open_to_others_is_neither_read_nor_written(tmp_path: Path) -> None:
    elsewhere, cache = tmp_path / "elsewhere", tmp_path / "cache"
    elsewhere.mkdir(mode=0o700)
    cache.mkdir()
    (cache / "kwhatif").symlink_to(elsewhere)
    with pytest.raises(OSError, match="is a link"), draft_of(str(cache / "kwhatif" / "x"), private_directory=True):
        pass
    assert list(elsewhere.iterdir()) == []
    (cache / "kwhatif").unlink()
    (cache / "kwhatif").mkdir()
    (cache / "kwhatif").chmod(0o777)
    with (
        pytest.raises(OSError, match="others may write"),
        draft_of(str(cache / "kwhatif" / "x"), private_directory=True),
    ):
        pass
    assert list((cache / "kwhatif").iterdir()) == []


def test_of_two_users_on_one_cache_the_second_neither_reads_nor_writes(tmp_path: Path) -> None:
    cache = tmp_path / "kwhatif"
    cache.mkdir(mode=0o700)
    (cache / "live-1.json").write_text("{}")
    with mock.patch("os.geteuid", return_value=os.getuid() + 1):
        with (
            pytest.raises(OSError, match="belongs to another user"),
            draft_of(str(cache / "x"), private_directory=True),
        ):
            pass
        with pytest.raises(OSError, match="belongs to another user"):
            check_private_directory(str(cache))
    assert [path.name for path in cache.iterdir()] == ["live-1.json"]


def test_where_nothing_can_be_written_one_line_says_so(tmp_path: Path) -> None:
    real = os.open

    def opened(path: Any, flags: int, *rest: Any, **names: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(path, flags, *rest, **names)

    for words in (
        ("snapshot", "convert", CLUSTER, "-o", str(tmp_path / "out.json")),
        ("place", "data/pods.yaml", "--snapshot", CLUSTER, "--write-snapshot", str(tmp_path / "out.json")),
        ("place", "data/pods.yaml", "--snapshot", CLUSTER, "--report", f"html={tmp_path / 'out.html'}"),
        ("outage", "--snapshot", CLUSTER, "--each", "nodes", "--workers", "1", "--out", str(tmp_path / "out.jsonl")),
        ("snapshot", "redact", CLUSTER, "-o", str(tmp_path / "o.json"), "--translation", str(tmp_path / "names")),
    ):
        with mock.patch("os.open", opened):
            ran = run(*words)
        assert ran.code == 2
        assert "Read-only file system" in ran.err.splitlines()[-1]
        assert "internal error" not in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("home", ["", "~nobody-of-this-name/cache", "relative/cache"])
def test_without_a_home_there_is_no_cache_and_no_error(home: str, tmp_path: Path) -> None:
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": home}), mock.patch("os.path.expanduser", lambda path: path):
        assert live_cache.directory() is None


def test_of_two_runs_on_one_file_the_second_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    first = run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path))
    next(first)
    with pytest.raises(UsageError, match="another run is writing to it"):
        list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path, resume=True)))
    assert len(list(first)) == 2


# --- rows that are there


def written_rows(tmp_path: Path) -> tuple[Path, list[bytes]]:
    path = tmp_path / "rows.jsonl"
    list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(path))))
    return path, path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"my diary", "no line of this study"),
        (b"my diary\n", "line 1"),
        (b'{"a": 1}\n', "line 1"),
        (b"\n\n\n", "line 1"),
    ],
)
def test_a_file_that_is_no_study_is_refused_and_stays(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(path), resume=True)))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"index":1', b'"index":2', r"\$\.world: this is not world 2"),
        (b'"index":1', b'"index":7', r"\$\.index: expected a number from 0 to 2, found 7"),
        (b'"index":1', b'"index":-1', r"\$\.index: expected a number from 0 to 2"),
        (b'{"value":1}', b'{"value":2}', r"\$\.world: this is not world 1"),
        (b'"square":1', b'"square":"x"', "rows.jsonl"),
    ],
)
def test_a_row_of_another_world_is_not_believed(tmp_path: Path, old: bytes, new: bytes, problem: str) -> None:
    path, lines = written_rows(tmp_path)
    path.write_bytes(b"".join(lines).replace(old, new))
    with pytest.raises(InputError, match=problem):
        list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(path), resume=True)))


def test_a_pipe_in_place_of_rows_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="a pipe or a device"):
        list(
            run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(str(tmp_path / "rows.jsonl"), resume=True))
        )


def test_parquet_that_stands_for_more_than_it_has_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "rows.parquet")
    for column, problem in (
        (["x" * 100_000] * 3, "expected lines as texts that are not packed"),
        ([1, 2, 3], "expected lines as texts"),
        (["x"] * 4, "no more than 3 worlds"),
    ):
        pyarrow.parquet.write_table(pyarrow.table({"line": column}), path)
        with pytest.raises(InputError, match=problem):
            list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path, resume=True)))
    pyarrow.parquet.write_table(pyarrow.table({"line": ["x" * 100_000] * 3}), path, compression="none")
    with pytest.raises(InputError, match="stands for more than"):
        list(read_lines(path, 3))
    os.unlink(path)
    list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path)))
    assert len(list(run_study(squares(Base(tmp_path), 3), LocalExecutor(1), RowsFile(path, resume=True)))) == 3


# --- what a rules file names

HEAD = "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\n"


NAMED = [
    *(
        "snapshot: [{}]",
        "policy: {}",
        "autoscale: {}",
        "autoscale: [{}]",
        "rules: {{request-vs-usage: {{usage: [{}]}}}}",
    ),
    *("rules: {{evicted-again: {{policy: {}}}}}", "rules: {{evicted-again: [{{level: warn, metrics: [{}]}}]}}"),
]


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize(
    "path", ["/dev/zero", "/proc/kmsg", "../outside.json", "link.json", "pipe", "day.jsonl@end", "folder", "'-'"]
)
def test_a_rules_file_names_regular_files_below_the_checkout_only(tmp_path: Path, named: str, path: str) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / "folder").mkdir()
    (tmp_path / "outside.json").write_text("{}")
    (checkout / "link.json").symlink_to(tmp_path / "outside.json")
    (checkout / "day.jsonl").symlink_to(tmp_path / "outside.json")
    os.mkfifo(checkout / "pipe")
    os.mkfifo(checkout / "folder" / "pipe.json")
    (checkout / ".kwhatif.yaml").write_text(HEAD + named.format(path))
    with contextlib.chdir(checkout), pytest.raises(InputError, match="a rules file may name"):
        rules_of(read_policy(".kwhatif.yaml"), all_rules())


def test_files_that_rules_name_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "below").mkdir()
    (tmp_path / "usage.json").write_text("{}")
    (tmp_path / ".kwhatif.yaml").write_text(HEAD + "rules: {request-vs-usage: {usage: [usage.json]}}")
    with contextlib.chdir(tmp_path / "below"):
        (rule,) = rules_of(read_policy(find_policy(os.curdir)), all_rules())
    assert rule.given.usage == ("../usage.json",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
@pytest.mark.parametrize("depth", ["shared", "shared/mine", "shared/mine/deeper"])
def test_a_rules_file_in_a_directory_that_others_write_to_does_not_decide(
    tmp_path: Path, mode: int, depth: str
) -> None:
    if find_policy(str(tmp_path)) is not None or any((above / ".git").exists() for above in tmp_path.parents):
        pytest.skip("there are rules, or a repository, above the directory for tests")
    shared = tmp_path / "shared"
    (tmp_path / depth).mkdir(parents=True)
    (shared / ".kwhatif.yaml").write_text(HEAD + "rules: {}")
    shared.chmod(mode)
    assert find_policy(str(tmp_path / depth)) is None
    with contextlib.chdir(tmp_path / depth):
        told = read_policy(None).description
    problem = "is not read, as others may write to its directory"
    assert told == f"kwhatif's own defaults ({shared / '.kwhatif.yaml'} {problem})"
    shared.chmod(0o755)
    assert find_policy(str(tmp_path / depth)) is not None


def test_a_rules_file_of_another_user_does_not_decide_nor_does_a_repository_that_he_puts_there(tmp_path: Path) -> None:
    (tmp_path / ".kwhatif.yaml").write_text(HEAD + "rules: {}")
    (tmp_path / ".git").mkdir()
    (tmp_path / "mine").mkdir()
    real, mine = os.stat, str(tmp_path / "mine")

    def stat_of_others(path: Any, **options: Any) -> os.stat_result:
        about = real(path, **options)
        user = 12345 if str(path).startswith(str(tmp_path)) and str(path) != mine else about.st_uid
        return os.stat_result((*about[:4], user, *about[5:]))

    def lstat_of_others(path: Any) -> os.stat_result:
        return stat_of_others(path, follow_symlinks=False)

    assert find_policy(mine) is not None
    with mock.patch("os.stat", stat_of_others), mock.patch("os.lstat", lstat_of_others):
        assert find_policy(mine) is None
        # Who works in another user's checkout, such as the user of a container, works by its rules.
        assert find_policy(str(tmp_path)) == ".kwhatif.yaml"


def test_a_rules_file_is_no_link_that_leads_out_of_the_checkout(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text(HEAD)
    (checkout / ".kwhatif.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(InputError, match="is not below"):
        find_policy(str(checkout))


# --- what there may not be


@pytest.mark.long
def test_closed_standard_input_is_told(tmp_path: Path) -> None:
    script = "import sys; sys.argv = ['kwhatif', 'snapshot', 'info', '-']; from kwhatif.cli.main import main; main()"
    command = f'exec "{sys.executable}" -c "{script}" <&-'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (2, "kwhatif: standard input: it is closed: there is nothing to read from\n")


@pytest.mark.long
def test_an_empty_file_takes_no_room(tmp_path: Path) -> None:
    import resource

    (tmp_path / "empty.json").touch()
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
    code += f"import sys; sys.argv = ['kwhatif', 'snapshot', 'info', {str(tmp_path / 'empty.json')!r}]\n"
    code += "from kwhatif.cli.main import main; main()"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 2
    assert "internal error" not in ran.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)


def test_a_group_that_lacks_too_many_nodes_is_refused(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    template = "{capacity: {cpu: 8, memory: 64Gi, pods: 110}}"
    groups.write_text(
        "apiVersion: kwhatif.dev/v1\nkind: NodeGroups\ngroups:\n"
        f"- {{name: g, max: 200000, target: 200000, scaleUpRequestedAgo: 10s, template: {template}}}\n"
    )
    told = refused(
        "autoscale", "../samples/manifests/too-big.yaml", "--snapshot", "../samples/cluster", "--groups", str(groups)
    )
    assert "expected no more than 20,000 new nodes in all, found 200,000" in told
