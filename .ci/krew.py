"""The manifest by which krew installs kubectl-whatif: python .ci/krew.py OWNER/REPOSITORY TAG ARCHIVE... > whatif.yaml

Each archive is that of one system, named as .ci/release.py names it: kubectl-whatif-OS-ARCH.tar.gz, or .zip for
Windows. What krew would refuse, a manifest or an archive, ends this with what is wrong.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

_NAME = re.compile(r"kubectl-whatif-(linux|darwin|windows)-(amd64|arm64)\.(tar\.gz|zip)")

DESCRIPTION = """\
Asks what kube-scheduler would do with pods, without doing it: where they
would go and why, what would be evicted for them, what draining a node or
another scheduler policy would change. It reads the cluster that kubectl
talks to, or a snapshot of it, and changes nothing.
"""


def manifest(repository: str, tag: str, archives: list[Path]) -> dict[str, Any]:
    """Raises ValueError for an archive that is called otherwise."""
    home = f"https://github.com/{repository}"
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "whatif"},
        "spec": {
            "version": tag,
            "homepage": home,
            "shortDescription": "What would kube-scheduler do?",
            "description": DESCRIPTION,
            "platforms": [_platform(f"{home}/releases/download/{tag}", archive) for archive in archives],
        },
    }


def _platform(folder: str, archive: Path) -> dict[str, Any]:
    match = _NAME.fullmatch(archive.name)
    if match is None:
        raise ValueError(f"{archive.name}: expected kubectl-whatif-OS-ARCH.tar.gz or .zip")
    system, machine, _ = match.groups()
    return {
        "selector": {"matchLabels": {"os": system, "arch": machine}},
        "uri": f"{folder}/{archive.name}",
        "sha256": sha256(archive.read_bytes()).hexdigest(),
        "bin": f"kubectl-whatif/kubectl-whatif{'.exe' * (system == 'windows')}",
    }


def problems_of(made: dict[str, Any], archives: list[Path]) -> Iterator[str]:
    """What krew would refuse when it installs by this manifest, in the order of its platforms.

    Source: krew/internal/index/validation/validate.go, krew/internal/download/downloader.go.
    """
    spec = made["spec"]
    if not re.fullmatch(r"v\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?", spec["version"]):
        yield f"{spec['version']}: expected a version such as v1.2.3"
    if not spec["platforms"]:
        yield "there is no archive, so no platform"
    for platform, archive in zip(spec["platforms"], archives, strict=True):
        entries = dict(_entries_of(archive))
        for name, is_plain in entries.items():
            if not is_plain:
                yield f"{archive.name}: {name} is neither a file nor a directory"
            if ".." in name or name.startswith(("/", "\\")):
                yield f"{archive.name}: {name} may lead elsewhere"
        for name in (platform["bin"], "kubectl-whatif/LICENSE"):
            if name not in entries:
                yield f"{archive.name}: there is no {name}"


def _entries_of(archive: Path) -> Iterator[tuple[str, bool]]:
    """The names in an archive, and whether each is a file or a directory."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            yield from ((name, True) for name in packed.namelist())
    else:
        with tarfile.open(archive) as unpacked:
            yield from ((member.name, member.isreg() or member.isdir()) for member in unpacked)


def main(repository: str, tag: str, *names: str) -> None:
    archives = [Path(name) for name in names]
    made = manifest(repository, tag, archives)
    if problems := list(problems_of(made, archives)):
        sys.exit("\n".join(problems))
    print(yaml.safe_dump(made, sort_keys=False), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
