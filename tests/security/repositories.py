"""Repositories that a stranger has made: directories with files, links and pipes, and git trees that git would not
write.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"
SECRET = "apiVersion: v1\nkind: Pod\nmetadata: {name: stolen}\nspec: {containers: [{name: a, image: a}]}\n"


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths; one that begins with ``->`` is a link, and ``|`` a pipe."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text.removeprefix("->"))
        elif text == "|":
            os.mkfifo(path)
        else:
            path.write_text(text)


def run_git(folder: Path, *words: str, stdin: bytes = b"") -> str:
    """What git prints in a directory."""
    names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    ran = subprocess.run(["git", *words], cwd=folder, input=stdin, check=True, capture_output=True, env=environment)
    return ran.stdout.decode().strip()


def write_object(folder: Path, sort: str, content: bytes) -> str:
    """The name of an object that is written as it is."""
    return run_git(folder, "hash-object", "-t", sort, "-w", "--literally", "--stdin", stdin=content)


def write_tree(folder: Path, entries: Sequence[tuple[str, bytes, str]]) -> str:
    """The name of a tree with such entries, each a mode, a name and an object."""
    return write_object(
        folder, "tree", b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(to) for mode, name, to in entries)
    )


def commit_tree(folder: Path, tree: str, branch: str = "bad") -> None:
    """A commit of a tree, and a branch of it."""
    run_git(folder, "branch", branch, run_git(folder, "commit-tree", tree, "-m", "a"))
