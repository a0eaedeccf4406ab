"""The releases of all environments, in .ci/lock.txt, by their hashes.

    python .ci/lock.py install ENVIRONMENT     # with the pip of this Python, which makes sure of the hashes
    python .ci/lock.py renew [OPTION...]       # with uv, which is handed the options: --upgrade

The lock is a requirements file with all that any environment has, so that they never differ in a release. A line above
each entry names the environments it is for; pip gets to see the entries of one of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK = Path(__file__).with_name("lock.txt")
PROJECT = LOCK.parents[1] / "pyproject.toml"

# The extras and groups of pyproject.toml that an environment has besides the project's dependencies.
ENVIRONMENTS = {
    "users": ("--group=build",),
    "image": ("--group=build", "--extra=serve"),
    "dev": ("--group=build", "--extra=dev", "--extra=serve"),
    "browser": ("--group=browser",),
    "docs": ("--group=docs",),
    "fleet": ("--group=build", "--extra=dask", "--extra=parquet", "--extra=ray", "--extra=sweep"),
    "release": ("--group=release",),
}

_HEAD = "# Made by `make lock`, see .ci/lock.py.\n"
_ENTRY = re.compile(r"^# for: (.*)\n((?:[^#\n].*\n)+)", re.MULTILINE)


def entries_of(environment: str, lock: str) -> str:
    """The entries for an environment, as a requirements file."""
    return "".join(entry for names, entry in _ENTRY.findall(lock) if environment in names.split())


def install(environment: str) -> int:
    """Install what the environment has beside kwhatif itself. Returns pip's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{environment}.txt"
        file.write_text(entries_of(environment, LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        pip = (sys.executable, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        # The entries are constraints, too: pip before 23.3 looks for `coverage[toml]`, which pytest-cov needs, without
        # regard to the entry of coverage, and finds a newer release that has no hash here.
        words = ("--require-hashes", f"--constraint={file}", f"--requirement={file}")
        return subprocess.run([*pip, *words], check=False).returncode


def renew(options: list[str]) -> None:
    """Resolve all environments together, keeping what is locked if it still may be. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        together, alone = Path(folder) / "together.txt", Path(folder) / "alone.txt"
        if LOCK.exists():
            together.write_text(LOCK.read_text(encoding="utf-8"), encoding="utf-8")
        everything = dict.fromkeys(word for words in ENVIRONMENTS.values() for word in words)
        _compile(together, "--generate-hashes", *everything, *options)
        members = {}
        for name, words in ENVIRONMENTS.items():
            _compile(alone, f"--constraints={together}", *words)
            members[name] = set(_names(alone.read_text(encoding="utf-8")))
            alone.unlink()
        text = _HEAD
        for entry in re.split(r"(?m)^(?=\w)", together.read_text(encoding="utf-8"))[1:]:
            here = [each for each, names in members.items() if names.issuperset(_names(entry))]
            text += f"# for: {' '.join(here)}\n{entry}"
        LOCK.write_text(text, encoding="utf-8")


def _names(requirements: str) -> list[str]:
    return re.findall(r"(?m)^([\w.-]+)==", requirements)


def _compile(output: Path, *words: str) -> None:
    uv = (sys.executable, "-m", "uv", "pip", "compile", str(PROJECT), "--quiet", "--universal", "--python-version=3.11")
    subprocess.run([*uv, "--no-annotate", "--no-header", "-o", str(output), *words], cwd=PROJECT.parent, check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["install", environment] if environment in ENVIRONMENTS:
            sys.exit(install(environment))
        case ["renew", *options]:
            renew(options)
        case _:
            sys.exit(f"usage: lock.py install {{{','.join(ENVIRONMENTS)}}} | renew [OPTION...]")
