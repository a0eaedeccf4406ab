"""Which files of a repository are its manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories, list_manifests
from kwhatif.snapshot.read.path_patterns import is_excluded

FILES = (
    *("b.yaml", "a.yml", "c.json.gz", "README.md", ".kwhatif.yaml", "kustomization.yaml"),
    *("shop/web.yaml", "shop/deep/cart.json", ".git/config.yaml", "empty/notes.txt"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


def relative(paths: list[str], to: Path) -> list[str]:
    return [os.path.relpath(path, to) for path in paths]


def test_manifests_below_a_directory_are_read_in_order_but_for_hidden_files(repository: Path) -> None:
    folders = gather_directories([str(repository)])
    assert relative(folders, repository) == [".", "shop", "shop/deep"]
    files = [file for folder in folders for file in list_manifests(folder)]
    assert relative(files, repository) == [
        *("a.yml", "b.yaml", "c.json.gz", "kustomization.yaml"),
        *("shop/web.yaml", "shop/deep/cart.json"),
    ]


def test_without_recursion_only_those_of_the_directory_itself(repository: Path) -> None:
    found = gather_directories([str(repository)], recursive=False)
    assert relative(found, repository) == ["."]


def test_a_file_named_by_itself_may_be_called_anything(repository: Path) -> None:
    web = str(repository / "shop" / "web.yaml")
    assert gather_directories([web, str(repository / "README.md"), "-", str(repository / "shop" / "deep")]) == [
        *(web, str(repository / "README.md"), "-"),
        str(repository / "shop" / "deep"),
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "left_out"),
    [
        pytest.param("tests", "apps/tests/web.yaml", True, id="a name leaves out a directory wherever it is"),
        pytest.param("tests", "apps/my-tests/web.yaml", False, id="a name is a whole one"),
        pytest.param("*-ci.yaml", "apps/web-ci.yaml", True, id="a star stands for part of a name"),
        pytest.param("apps/*/web.yaml", "repo/apps/shop/web.yaml", True, id="with a slash it is the end of a path"),
        pytest.param("apps/*/web.yaml", "apps/a/b/web.yaml", False, id="a star does not stand for a slash"),
        pytest.param("apps/**/web.yaml", "apps/a/b/web.yaml", True, id="two stars do"),
        pytest.param("apps/**/web.yaml", "apps/web.yaml", True, id="two stars stand for no directory, too"),
        pytest.param("charts/", "charts/web/a.yaml", True, id="a slash at the end changes nothing"),
        pytest.param("", "web.yaml", False, id="nothing leaves out nothing"),
    ],
)
def test_patterns_leave_out_files_and_directories(pattern: str, path: str, left_out: bool) -> None:
    assert is_excluded(path, [pattern]) is left_out


def test_what_is_not_there_is_an_error(repository: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file or directory"):
        gather_directories([str(repository / "nowhere")])


def test_a_directory_without_manifests_is_an_error_unless_it_may_be_empty(repository: Path) -> None:
    empty = str(repository / "empty")
    with pytest.raises(InputError, match=r"has no \.json, \.yaml or \.yml files, nor do those below it"):
        gather_directories([empty])
    assert gather_directories([empty], may_be_empty=True) == []


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b"])
def test_what_cannot_be_the_name_of_a_file_is_refused_in_a_line(path: str) -> None:
    with pytest.raises(InputError, match=r"no file can have this name|no such file"):
        load_manifests([path])
