"""``kwhatif snapshot dump`` as its users meet it, against a server on loopback, through the real client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import Ran, run
from tests.snapshot.server import ApiServer


def dump(server: ApiServer, directory: Path, *words: str, name: str = "cluster.json", **kubeconfig: Any) -> Ran:
    config = server.kubeconfig(directory, **kubeconfig)
    out = name if name == "-" else str(directory / name)
    return run("snapshot", "dump", "--kubeconfig", config, "-o", out, "--chunk-size", "50", *words)


def dumped(server: ApiServer, directory: Path, *words: str, **kubeconfig: Any) -> Snapshot:
    ran = dump(server, directory, *words, **kubeconfig)
    assert (ran.code, ran.out) == (0, ""), ran.err
    return load_snapshot([str(directory / "cluster.json")])
