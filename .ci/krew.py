"""The manifest by which krew installs kubectl-whatif: python .ci/krew.py OWNER/REPOSITORY TAG ARCHIVE... > whatif.yaml

Each archive is that of one system, named as the release workflow names it: kubectl-whatif-OS-ARCH.tar.gz, or .zip for
Windows. What krew checks is their sum.
"""

from __future__ import annotations

import re
import sys
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


if __name__ == "__main__":
    print(yaml.safe_dump(manifest(sys.argv[1], sys.argv[2], [*map(Path, sys.argv[3:])]), sort_keys=False), end="")
