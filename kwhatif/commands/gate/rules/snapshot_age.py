"""The snapshot is not too old to judge by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.api.times import parse_time
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.errors import InputError
from kwhatif.golang.parsing import Duration
from kwhatif.results.gate import Finding


class SnapshotAgeParameters(Parameters, frozen=True, kw_only=True):
    level: Level = "warn"
    max_age: Annotated[str, Meta(description='How old it may be, such as "24h" or "90m".')] = "24h"

    def verify(self) -> None:
        super().verify()
        try:
            length = Duration.parse(self.max_age)
        except ValueError as error:
            raise InputError(f'expected a duration such as "24h": {error}', place="$.maxAge") from None
        if length <= 0:
            raise InputError(f"expected more than 0s, found {length}", place="$.maxAge")


class SnapshotAge(Rule[SnapshotAgeParameters]):
    name = "snapshot-age"
    purpose = "The snapshot is not too old to judge by."
    details = "A snapshot that does not say when it was taken is a finding. Uses the clock, or `--now TIME`."
    parameters = SnapshotAgeParameters

    def threshold(self) -> str:
        return f"no older than {self.given.max_age}"

    def check(self, context: Context) -> Iterator[Finding]:
        self.checked = 1
        taken = context.snapshot.taken_at
        if not taken:
            self.summary = "the time it was taken is unknown"
            yield self.finding(
                None,
                "the age of the snapshot is unknown",
                "The snapshot does not say when it was taken (metadata.takenAt).",
                about="unknown",
                numbers={"maxAge": self.given.max_age},
                hint="kwhatif snapshot dump records it",
            )
            return
        limit = Duration.parse(self.given.max_age)
        age = int((context.judged_at - parse_time(taken)).total_seconds())
        old = Duration.of_seconds(max(age, 0))
        self.summary = f"it is {old} old" if age >= 0 else f"it is of {taken}, in the future"
        if old > limit:
            yield self.finding(
                None,
                f"the snapshot is {old} old",
                f"It was taken at {taken}; the cluster may have changed since.",
                about="age",
                numbers={"ageSeconds": age, "maxAge": self.given.max_age, "takenAt": taken},
                hint="take a new one: kwhatif snapshot dump",
            )
