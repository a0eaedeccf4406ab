"""What paths of files may look like in volumes and mounts.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems


def no_backsteps(path: str) -> list[str]:
    return ["must not contain '..'"] if ".." in path.split("/") else []


def relative_path(path: str) -> list[str]:
    return [*(["must be a relative path"] if path.startswith("/") else []), *no_backsteps(path)]


def check_own_path(problems: Problems, path: str, where: str) -> None:
    """A file inside a volume, whose name is not one that the kubelet keeps for itself."""
    problems.invalid(where, path, *relative_path(path))
    if path.startswith("..") and not path.startswith("../") and path != "..":
        problems.invalid(where, path, "must not start with '..'")


def check_mode(problems: Problems, owner: Object, key: str, path: str) -> None:
    mode: Any = owner.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        problems.invalid(f"{path}.{key}", mode, "must be a number between 0 and 0777 (octal), both inclusive")
