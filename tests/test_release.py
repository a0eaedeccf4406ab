"""What a release is held to: distributions of the same bytes, a wheel of the package alone, examples that run."""

from __future__ import annotations

import os
import runpy
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import python_script

release = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "release.py"))
FailedCheckError = release["FailedCheckError"]


def pack(archive: Path, names: list[str], *, mtime: int, mode: int, user: str) -> None:
    with tarfile.open(archive, "w:gz") as packed:
        for name in names:
            info = tarfile.TarInfo(name)
            info.mtime, info.mode, info.uname = mtime, mode, user
            packed.addfile(info)


def test_an_sdist_does_not_tell_when_where_and_by_whom_it_was_packed(tmp_path: Path) -> None:
    one, other = tmp_path / "one.tar.gz", tmp_path / "other.tar.gz"
    pack(one, ["k/a", "k/b"], mtime=1, mode=0o600, user="ann")
    pack(other, ["k/b", "k/a"], mtime=2, mode=0o664, user="ben")
    for archive in (one, other):
        release["_normalize"](archive, 1_000_000_000)
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as packed:
        assert [(each.name, each.mtime, each.mode, each.uname) for each in packed] == [
            (name, 1_000_000_000, 0o644, "") for name in ("k/a", "k/b")
        ]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"tests/test_api.py": 1}, "the wheel has tests beside the package"),
        ({"kwhatif/large": 3_000_000}, "the wheel has 3,0.* bytes, more than 3,000,000"),
    ],
)
def test_a_wheel_with_more_than_users_need_is_refused(tmp_path: Path, files: dict[str, int], problem: str) -> None:
    wheel = tmp_path / "kwhatif.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, size in {"kwhatif/__init__.py": 1, **files}.items():
            packed.writestr(name, bytes(size))
    with pytest.raises(FailedCheckError, match=problem):
        release["_check_wheel"](wheel)


def program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "kwhatif"
    path.write_text(python_script(f"import os, sys\n{text}"))
    path.chmod(0o755)
    return path


EXAMPLES = [("place", "'a b' -o json"), ("demo", ""), ("snapshot dump", "-o x")]


@pytest.mark.skipif(os.name != "posix", reason="runs a script as a program")
def test_examples_run_where_the_demo_put_its_samples(tmp_path: Path) -> None:
    says = "print(os.listdir()); open('samples', 'w'); print(sys.argv[1:]); sys.exit(2 * ('dump' in sys.argv))"
    printed: dict[str, Any] = release["try_out"](program(tmp_path, says), EXAMPLES, tmp_path / "empty")
    assert list(printed) == ["demo", "place 'a b' -o json", "snapshot dump -o x"]
    assert "samples" not in printed["demo"]
    there, words = printed["place 'a b' -o json"].splitlines()
    assert "samples" in there
    assert words == "['place', 'a b', '-o', 'json']"


@pytest.mark.skipif(os.name != "posix", reason="runs a script as a program")
@pytest.mark.parametrize("fault", ["sys.exit(2)", "sys.exit(1 * bool(sys.stderr.write('Traceback')))"])
def test_an_example_that_fails_ends_it_and_is_named(tmp_path: Path, fault: str) -> None:
    with pytest.raises(FailedCheckError, match=r"^kwhatif demo: exit code"):
        release["try_out"](program(tmp_path, fault), EXAMPLES, tmp_path / "empty")
