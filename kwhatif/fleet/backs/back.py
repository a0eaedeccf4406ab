"""What a study is told of its workers, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kwhatif.fleet.study import Study
from kwhatif.fleet.worker import Answers

LOST = "its worker was killed, or ran out of memory"


class LostError(Exception):
    """Workers died, and nobody knows because of which of the batches that were under way."""


class FatalError(Exception):
    """This very batch cost workers their lives again and again."""


class Pool(Protocol):
    """Workers that have the base of a study."""

    @property
    def width(self) -> int:
        """So many batches are worth having under way."""

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[Answers]:
        """Have somebody ask of these worlds; if there is a choice, another worker than the one to ``avoid``."""

    def verdict(self, error: BaseException) -> Exception:
        """What a future's error means: LostError, FatalError, or else what ends the study."""

    def renew(self) -> None:
        """Have workers again, after some were lost."""


class Back(Protocol):
    """Somewhere to work."""

    def workers(self, study: Study[Any, Any, Any], left: int) -> AbstractContextManager[Pool]:
        """Workers for so many worlds, who are gone when this is over. Raises KwhatifError."""


def unable(error: BaseException) -> str:
    """Why workers elsewhere cannot do what they should."""
    return f"the workers cannot be asked: {type(error).__name__}: {error} (they need the same kwhatif)"
