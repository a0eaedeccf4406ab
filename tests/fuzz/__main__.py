"""``python -m tests.fuzz``: many inputs that are wrong in one place, a third of them in a second file as well, and what
every command makes of them.

    make fuzz ARGS='--inputs 100000 --seed 1'

Prints each failure once with an input that shows it, and figures by command. Exits with 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.cases import cases, good_cases
from tests.fuzz.trial import Outcome, Trial, bound_memory

AT_ONCE = 500
"""So many inputs share one process; its memory is not that of the next."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__, allow_abbrev=False)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a command: only inputs for it")
    given = parser.parse_args()
    began = time.monotonic()
    _warm(given.seed)
    outcomes: list[Outcome] = []
    stop = given.start + given.inputs
    for start in range(given.start, stop, AT_ONCE):
        outcomes += _piece(given.seed, start, min(start + AT_ONCE, stop), given.only)
        if sys.stderr.isatty():
            print(f"\r{len(outcomes)} inputs", end="", file=sys.stderr)
    return _report(outcomes, time.monotonic() - began)


def _warm(seed: int) -> None:
    """Have all that is needed for any input at hand, so that no process needs time for it."""
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(Path(directory))
        for case in good_cases():
            trial.of(case)
    next(cases(seed, 0, 1))


def _piece(seed: int, start: int, stop: int, only: str) -> Iterator[Outcome]:
    """Some inputs, in a process of their own; one that dies is a failure of the input it died of."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        written = Path(directory) / "outcomes"
        child = os.fork()
        if child == 0:
            _in_child(seed, start, stop, only, Path(directory), written)
        _, status = os.waitpid(child, 0)
        lines = written.read_text("utf-8").splitlines() if written.exists() else []
        for line in lines:
            yield Outcome(**json.loads(line))
        if status:
            yield Outcome(f"after input {start + len(lines)}", "?", 0, 0, f"the process ended with status {status}")


def _in_child(seed: int, start: int, stop: int, only: str, directory: Path, written: Path) -> None:
    code = 1
    try:
        trial = Trial(directory)
        bound_memory()
        with written.open("w", encoding="utf-8") as file:
            for case in cases(seed, start, stop):
                if case.command.startswith(only):
                    file.write(json.dumps(asdict(trial.of(case))) + "\n")
                    file.flush()
        code = 0
    finally:
        os._exit(code)


def _report(outcomes: list[Outcome], seconds: float) -> int:
    failures: defaultdict[str, list[Outcome]] = defaultdict(list)
    by_command: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_command[outcome.command].append(outcome)
        if outcome.failure:
            failures[outcome.failure].append(outcome)
    for failure, found in sorted(failures.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):6}  {failure}\n        {found[0].case}")
    print(f"{'COMMAND':20} {'INPUTS':>8} {'FAILED':>8} {'LONGEST':>9} {'MEMORY':>9}")
    for command, those in sorted(by_command.items()):
        failed = sum(bool(one.failure) for one in those)
        longest, most = max(one.seconds for one in those), max(one.memory for one in those)
        print(f"{command:20} {len(those):8} {failed:8} {longest:7.2f} s {most >> 20:6} MB")
    kinds = Counter(failure.split(":")[0] for failure in failures for _ in failures[failure])
    failed = sum(map(len, failures.values()))
    two = sum(one.files == 2 for one in outcomes)
    print(f"{len(outcomes)} inputs, {two} with two wrong files: {failed} failures in {len(failures)} places")
    print(f"{seconds:.0f} s, {sum(one.seconds for one in outcomes):.0f} s of the processor for inputs")
    for kind, number in kinds.most_common():
        print(f"{number:8} {kind}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
