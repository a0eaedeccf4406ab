"""Which files of a repository are its manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import gather_files

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


def test_manifests_below_a_directory_are_read_in_order_but_for_hidden_and_kustomization_files(repository: Path) -> None:
    assert relative(gather_files([str(repository)]), repository) == [
        *("a.yml", "b.yaml", "c.json.gz"),
        *("shop/web.yaml", "shop/deep/cart.json"),
    ]


def test_without_recursion_only_those_of_the_directory_itself(repository: Path) -> None:
    found = gather_files([str(repository)], recursive=False)
    assert relative(found, repository) == ["a.yml", "b.yaml", "c.json.gz"]


def test_a_file_named_by_itself_may_be_called_anything_and_none_is_read_twice(repository: Path) -> None:
    web = str(repository / "shop" / "web.yaml")
    assert gather_files([web, str(repository / "README.md"), "-", str(repository / "shop")]) == [
        *(web, str(repository / "README.md"), "-"),
        str(repository / "shop" / "deep" / "cart.json"),
    ]


def test_what_is_not_there_is_an_error(repository: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file or directory"):
        gather_files([str(repository / "nowhere")])


def test_a_directory_without_manifests_is_an_error_unless_it_may_be_empty(repository: Path) -> None:
    empty = str(repository / "empty")
    with pytest.raises(InputError, match=r"has no \.json, \.yaml or \.yml files, nor do those below it"):
        gather_files([empty])
    assert gather_files([empty], may_be_empty=True) == []
