"""What is built is what is in the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def setuptools_of_project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def packed_files(package: str, folder: Path) -> set[Path]:
    """The files that come with a package, as patterns say."""
    patterns = setuptools_of_project()["package-data"][package]
    return {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}


def test_every_file_of_the_tree_is_built() -> None:
    assert setuptools_of_project()["packages"] == ["kwhatif", "kwhatif.samples", "kwhatif.schemas"]
    assert files_below(ROOT / "kwhatif") - packed_files("kwhatif", ROOT / "kwhatif") == set()


def test_every_directory_with_modules_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "kwhatif").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_schemas_are_a_package_of_their_own_with_their_files() -> None:
    project = setuptools_of_project()
    assert project["package-dir"]["kwhatif.schemas"] == "schemas"
    assert project["package-data"]["kwhatif.schemas"] == ["*.json"]
    assert (ROOT / "schemas" / "__init__.py").is_file()
    assert {path.suffix for path in (ROOT / "schemas").iterdir() if path.is_file()} == {".py", ".json"}


def test_the_samples_are_a_package_of_their_own_with_all_their_files() -> None:
    project = setuptools_of_project()
    assert project["package-dir"]["kwhatif.samples"] == "samples"
    assert (ROOT / "samples" / "__init__.py").is_file()
    assert files_below(ROOT / "samples") - packed_files("kwhatif.samples", ROOT / "samples") == set()
