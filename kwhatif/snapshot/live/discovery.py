"""Which versions of which groups a server serves. There may be more later: definitions come with their users."""

from __future__ import annotations

import threading
import time

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError
from kwhatif.snapshot.live.asker import Asker, Refused

LOOK_AGAIN = 30.0
"""So many seconds later is looked again for what is not served, or when a definition has changed."""


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct):
    name: str = ""
    versions: list[_Version] | None = None


class _Groups(msgspec.Struct):
    groups: list[_Group] | None = None


class Discovery:
    """Whether a version of a group is worth asking for; if the server does not tell, every one is."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.begun = threading.Event()
        """Set once all is read that is served at first: nobody looks again before."""
        self._news = threading.Condition()
        self._changes = 0
        self._asked = 0.0
        self._there: set[tuple[str, str]] | None = None
        self._ask()

    def __call__(self, group: str, version: str) -> bool:
        return self._there is None or not group or (group, version) in self._there

    def changed(self) -> None:
        """A definition has changed: whoever waits looks again."""
        with self._news:
            self._changes += 1
            self._news.notify_all()

    def wait(self, known: int) -> int:
        """Until more definitions have changed than is ``known``, or some time has passed; how many have by then.

        The server has been asked since.
        """
        self.begun.wait()
        began = time.monotonic()
        with self._news:
            self._news.wait_for(lambda: self._changes > known, LOOK_AGAIN)
            if self._asked <= began:
                self._ask()
            return self._changes

    def _ask(self) -> None:
        self._asked = time.monotonic()
        try:
            groups = decode_json(self._asker.get("/apis", what="API groups"), _Groups).groups or []
        except (InputError, Refused):
            return
        self._there = {(group.name, one.version) for group in groups for one in group.versions or ()}
