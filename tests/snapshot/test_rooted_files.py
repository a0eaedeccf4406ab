"""What documents of others name is opened below a root, by handles of directories or, without these, by paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.read import rooted_files
from kwhatif.snapshot.read.rooted_files import FileRoot, LeadsOutError
from tests.security.repositories import write_files

pytestmark = pytest.mark.posix


@pytest.fixture(params=[True, False], ids=["by handles", "by paths"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param and not rooted_files._BY_HANDLE:
        pytest.skip("this system opens nothing by handles of directories")
    monkeypatch.setattr(rooted_files, "_BY_HANDLE", request.param)
    monkeypatch.setattr("kwhatif.snapshot.repository.scratch_directories._BY_HANDLE", request.param)
    files = {
        "a/b.yaml": "b",
        "link.yaml": "->a/b.yaml",
        "out.yaml": "->../secret",
        "folder": "->a",
        "up": "->..",
        "p": "|",
    }
    write_files(tmp_path / "root", files)
    write_files(tmp_path, {"secret": "stolen"})
    return tmp_path / "root"


def test_files_and_links_below_the_root_are_read(root: Path) -> None:
    files = FileRoot(str(root))
    assert [files.read(str(root / name), 9) for name in ("a/b.yaml", "link.yaml", "folder/b.yaml")] == [b"b"] * 3
    assert files.entries_in(str(root / "a")) == files.entries_in(str(root / "folder")) == [("b.yaml", False)]
    assert ("a", True) in files.entries_in(str(root))
    assert [files.sort_of(str(root / name)) for name in ("a", "a/b.yaml", "p", "none")] == [
        "folder",
        "file",
        "other",
        "",
    ]


@pytest.mark.parametrize(
    "name", ["out.yaml", "../secret", "up/secret", "/etc/passwd", "/dev/zero", "a/../../secret", "\0"]
)
def test_nothing_outside_is_read(root: Path, name: str) -> None:
    files = FileRoot(str(root))
    with pytest.raises(LeadsOutError):
        files.read(str(root / name), 9)
    assert not files.is_file(str(root / name))


def test_a_pipe_is_not_opened_and_a_link_that_comes_meanwhile_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FileRoot(str(root))
    with pytest.raises(InputError, match="a pipe or a device"):
        files.read(str(root / "p"), 9)
    monkeypatch.setattr(FileRoot, "resolve", lambda self, path: path)
    with pytest.raises(InputError, match=r"a link, which is not followed|a pipe or a device"):
        files.read(str(root / "out.yaml"), 9)


def test_copies_for_programs_are_written_either_way(root: Path, tmp_path: Path) -> None:
    from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory

    scratch = ScratchDirectory(str(root))
    assert Path(scratch.write("new/a.yaml", b"x")).read_bytes() == b"x"
    with pytest.raises(InputError, match="cannot be written for a program"):
        scratch.write("new/a.yaml", b"y")
