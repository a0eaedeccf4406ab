"""A study whose worlds say who asks about them, and then wait for a long time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from kwhatif.fleet.study import Study


class Wait(msgspec.Struct, frozen=True):
    number: int


class Done(msgspec.Struct, frozen=True):
    number: int


def wait(marks: str, world: Wait) -> Done:
    (Path(marks) / str(os.getpid())).touch()
    time.sleep(25)
    return Done(world.number)


def waiting(marks: str) -> Study[str, Wait, Done]:
    return Study("Waiting", marks, [Wait(number) for number in range(4)], wait, Done, "waiting")
