"""A cache of live snapshots, so that a series of questions takes one dump.

It is below the user's cache directory, in files that only the user can read, named by user, cluster and content. Two
runs at once take two dumps, and the later one replaces the other's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from kwhatif import bounds
from kwhatif.api.kinds import READ_KINDS
from kwhatif.clock import read_clock
from kwhatif.errors import InputError
from kwhatif.snapshot.format.atomic_files import check_private_directory
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.live.dump import DumpOptions, dump
from kwhatif.snapshot.live.listing import Progress
from kwhatif.snapshot.live.live_cluster import IN_CLUSTER, SERVICE_ACCOUNT, Connection
from kwhatif.snapshot.load import load_snapshot
from kwhatif.snapshot.read.files import read_paths

CACHE_LIFETIME_SECONDS = 600.0
"""The age in seconds at which snapshots are removed when a newer one is kept."""


def cached_snapshot(
    connection: Connection,
    max_age: float,
    *,
    progress: Progress = lambda kind, count, total: None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[Snapshot, list[str]]:
    """A snapshot of a live cluster that is at most ``max_age`` seconds old, and notes about a new one.

    Raises ClusterError and InputError as ``dump`` does; a failure to keep it is only noted.
    """
    wanted = DumpOptions()
    folder = directory()
    file = None if folder is None else folder / f"live-{_key(connection, wanted)}.json"
    snapshot = None if file is None else _read_cached(file, max_age)
    if snapshot is not None:
        return snapshot, []
    dumped = dump(connection, wanted, progress=progress, tell=tell)
    if not max_age:
        return dumped.snapshot, dumped.notes
    try:
        if file is None:
            raise InputError("there is no home directory, and XDG_CACHE_HOME names no directory")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private_directory(str(file.parent))
        _forget(file.parent, max(max_age, CACHE_LIFETIME_SECONDS))
        write_snapshot(dumped.snapshot, str(file), private_directory=True)
    except (OSError, InputError) as error:
        return dumped.snapshot, [*dumped.notes, f"the snapshot is not kept for the next question: {error}"]
    return dumped.snapshot, dumped.notes


def directory() -> Path | None:
    """The cache directory; None where it is unknown, as for a user without a home."""
    for base in (os.environ.get("XDG_CACHE_HOME"), os.environ.get("LOCALAPPDATA"), os.path.join("~", ".cache")):
        # As the XDG Base Directory Specification has it, a path that is not absolute is as good as none.
        if base and os.path.isabs(whole := os.path.expanduser(base)):
            return Path(whole) / "kwhatif"
    return None


def _key(connection: Connection, options: DumpOptions) -> str:
    """The cache key: user, server and content. The kubeconfig defines server and user, and may change."""
    files = connection.files()
    pod = [] if files else [os.environ.get(IN_CLUSTER, ""), *_texts([SERVICE_ACCOUNT])]
    kinds = [(kind.name, kind.versions) for kind in READ_KINDS]
    who = [connection.context, connection.user, list(connection.groups), connection.insecure]
    identity = msgspec.json.encode([_texts(files), pod, who, kinds, options])
    return hashlib.sha256(identity).hexdigest()


def _texts(files: list[str]) -> list[str]:
    """What is in the files that can be read; those who ask for others get the error."""
    texts = []
    for file in files:
        with contextlib.suppress(InputError):
            texts += [text.data.decode() for text in read_paths([file], max_bytes=bounds.SETTINGS_BYTES)]
    return texts


def _read_cached(file: Path, max_age: float) -> Snapshot | None:
    """The snapshot of a file, if it is young enough, the user's own and not damaged."""
    try:
        check_private_directory(str(file.parent))
        about = file.lstat()
        mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if not stat.S_ISREG(about.st_mode) or not mine or not 0 <= read_clock().timestamp() - about.st_mtime < max_age:
            return None
        return load_snapshot([str(file)])
    except (OSError, ValueError, InputError):
        return None


def _forget(directory: Path, age: float) -> None:
    """Remove expired files, and what a killed run left behind."""
    for pattern in ("live-*.json", ".kwhatif-*.tmp"):
        for file in directory.glob(pattern):
            with contextlib.suppress(OSError):
                if read_clock().timestamp() - file.lstat().st_mtime > age:
                    file.unlink()
