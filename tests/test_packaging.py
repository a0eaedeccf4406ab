"""What is built is what is in the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def setuptools_of_project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_package_of_the_tree_is_listed_for_the_build() -> None:
    directories = {path.parent.relative_to(ROOT) for path in (ROOT / "kwhatif").rglob("*.py")}
    in_tree = {".".join(directory.parts) for directory in directories} | {"kwhatif.samples", "kwhatif.schemas"}
    assert sorted(setuptools_of_project()["packages"]) == sorted(in_tree)


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
    files = {path for path in (ROOT / "samples").rglob("*") if path.is_file() and path.parent.name != "__pycache__"}
    packed = {
        path for pattern in project["package-data"]["kwhatif.samples"] for path in (ROOT / "samples").glob(pattern)
    }
    assert files - packed == set()
