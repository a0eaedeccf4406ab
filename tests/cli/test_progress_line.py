"""How far a command has come, on a terminal and by a clock of our own."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

import pytest

from kwhatif import progress
from kwhatif.bounds import in_time
from kwhatif.cli.output import tell, write
from kwhatif.cli.progress_line import Progress
from kwhatif.cli.progress_line import progress as line_of_command
from tests.cli.running import CLUSTER, run


class Clock:
    """Time passes when somebody looks at the clock, and when it is told to."""

    def __init__(self, each_look: float = 0.0) -> None:
        self.now, self._each_look = 0.0, each_look

    def __call__(self) -> float:
        self.now += self._each_look
        return self.now


class Terminal(io.StringIO):
    """What is on the screen: a line that is written over and over, and those above."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """All that could be read at some moment, line by line."""
        return [line.rstrip() for line in self.getvalue().replace("\r", "\n").split("\n") if line.strip()]

    @property
    def left(self) -> str:
        """What is there in the end: whatever stands behind a carriage return is written over what was there."""
        screen = []
        for line in self.getvalue().split("\n"):
            shown = ""
            for part in line.split("\r"):
                shown = part + shown[len(part) :]
            screen.append(shown.rstrip())
        return "\n".join(screen)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 80 columns that shows lines which change."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("CI", raising=False)
    return Terminal()


def go(items: list[int], clock: Clock, seconds: float) -> None:
    """Go through items of which each takes its time."""
    for _ in progress.track(items, "Placing", "pods"):
        clock.now += seconds


def test_a_note_breaks_no_word_at_the_end_of_a_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)
    tell("note: " + "words and more " * 20)
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(map(str.strip, lines)) == "note: " + ("words and more " * 20).strip()


def test_nothing_is_shown_in_the_first_second(terminal: Terminal) -> None:
    clock = Clock()
    with progress.use_listener(Progress(terminal, clock)):
        progress.report_start("Loading prod.json")
        go(list(range(99)), clock, 0.01)
    assert terminal.getvalue() == ""


def test_a_loop_tells_how_far_it_is_five_times_a_second(terminal: Terminal) -> None:
    clock = Clock()
    with progress.use_listener(Progress(terminal, clock)):
        go(list(range(20_000)), clock, 1 / 1024)
    assert terminal.lines[:2] == ["Placing 1,024 of 20,000 pods", "Placing 1,229 of 20,000 pods"]
    assert len(terminal.lines) == pytest.approx(5 * (20_000 / 1024 - 1), abs=2)
    assert terminal.left == ""


def test_what_has_no_end_in_sight_tells_how_much_is_done(terminal: Terminal) -> None:
    clock = Clock(0.6)
    with progress.use_listener(Progress(terminal, clock)):
        list(progress.track(iter("abc"), "Loading prod.json", "objects"))
        progress.report_progress("Trimming", "steps", 1200)
    assert "Trimming: 1,200 steps" in terminal.lines


def test_what_begins_is_told_without_a_pause(terminal: Terminal) -> None:
    clock = Clock()
    with progress.use_listener(Progress(terminal, clock)):
        clock.now = 2
        progress.report_start("Loading prod.json")
        progress.report_start("Writing the answer")
        assert terminal.left == "Writing the answer"


@pytest.mark.parametrize("print_", [lambda: tell("note: 3 days old"), lambda: write("the answer\n")])
def test_the_line_is_gone_before_anything_else_is_printed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, print_: Callable[[], None]
) -> None:
    # Both go to one screen.
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    clock = Clock()
    with progress.use_listener(Progress(terminal, clock)):
        clock.now = 2
        progress.report_start("Loading a file with a name that is longer than all that follows")
        print_()
        assert terminal.left in ("note: 3 days old\n", "the answer\n")


def test_a_line_never_wraps_and_a_name_is_but_text(terminal: Terminal) -> None:
    clock = Clock()
    with progress.use_listener(Progress(terminal, clock)):
        clock.now = 2
        progress.report_start("Loading \x1b[2J" + "x" * 100)
        assert terminal.left == ("Loading \\x1b[2J" + "x" * 100)[:79]


def test_a_terminal_that_is_gone_stops_no_command() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError("Input/output error")

    clock = Clock(1)
    with progress.use_listener(Progress(Gone(), clock)):
        go([1, 2, 3], clock, 1)


def test_threads_have_nobody_who_looks_on(terminal: Terminal) -> None:
    clock = Clock(2)
    with progress.use_listener(Progress(terminal, clock)):
        thread = threading.Thread(target=go, args=([1, 2, 3], clock, 1))
        thread.start()
        thread.join()
        in_time(60, lambda: progress.report_start("Calling"))
    assert terminal.getvalue() == ""


def test_without_an_onlooker_a_loop_is_left_as_it_is() -> None:
    items = [1, 2, 3]
    assert progress.track(items, "Placing", "pods") is items


@pytest.mark.parametrize(
    "env", [{"CI": "true"}, {"TERM": "dumb"}, {"_KWHATIF_COMPLETE": "complete_bash"}], ids=lambda env: next(iter(env))
)
def test_nobody_looks_on(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)
    assert line_of_command() is not None
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert line_of_command() is None


def test_nobody_looks_at_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert line_of_command() is None
    monkeypatch.setattr(sys, "stderr", None)
    assert line_of_command() is None


ON = ("--snapshot", CLUSTER)
SCENARIOS = "data/scenarios.jsonl"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("place", "data/pods.yaml", *ON), ["Loading data/pods.yaml", f"Loading {CLUSTER}", "Placing 0 of 4 pods"]),
        (("place", "data/pods.yaml", "--timeline", *ON), ["Setting up 0 of 9 pods", "Simulating: 1 cycles"]),
        (("gate", "data/small.yaml", *ON), ["Expanding 0 of 1 objects", "Placing 0 of 1 pods"]),
        (("diff", "data/pods.yaml", *ON, "--policy", "default", "--policy", "default@1.34"), ["Placing 0 of 4 pods"]),
        (("capacity", "data/small.yaml", *ON), ["Counting: 1 copies fit"]),
        (("drain", "ant-1", *ON), ["Draining 0 of 1 nodes"]),
        (("conformance", SCENARIOS), [f"Replaying {SCENARIOS}: 0 scenarios"]),
        (("snapshot", "info", CLUSTER), [f"Loading {CLUSTER}: 1 objects", "Writing the answer"]),
        (("snapshot", "validate", CLUSTER), ["Looking for contradictions"]),
        (("snapshot", "diff", CLUSTER, "data/cluster-later.json"), ["Comparing 0 of 28 kinds"]),
        (("snapshot", "convert", CLUSTER, "-o", "/dev/null"), ["Writing /dev/null"]),
        (("explain", "data/pods.yaml", *ON), ["Explaining 0 of 4 workloads"]),
        (("expand", "data/workloads.yaml"), ["Making 0 of 2 pods"]),
        (("gate", "data/small.yaml", *ON), ["Judging by 0 of 9 rules"]),
        (
            (
                *("autoscale", "../samples/autoscaled/web.yaml", "--snapshot", "../samples/autoscaled/cluster.yaml"),
                *("--groups", "../samples/autoscaled/groups.yaml", "--until-quiet"),
            ),
            ["Trying 0 of 3 groups", "Trying 0 of 6 other orders"],
        ),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_every_command_that_may_take_long_tells_how_far_it_is_and_answers_the_same(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: list[str]
) -> None:
    plain, terminal = run(*words), Terminal()
    monkeypatch.setattr("kwhatif.cli.main.progress", lambda: Progress(terminal, Clock(2)))
    watched = run(*words)
    assert (watched.code, watched.out, watched.notes) == (plain.code, plain.out, plain.notes)
    assert [line for line in told if line not in terminal.lines] == []
    assert terminal.left == ""
