"""Does a test fail when the code is wrong? ``make mutation`` breaks a sample of places, one at a time, and looks.

What decides (the rooms of ``ROOMS``) is changed in a copy of the tree, an operator or a number at a time, and the
tests of the room are run until one fails. The sample follows from the seed and the sources alone. Mutants that
survive are either a missing test or no difference to anybody, which only a reader can tell.

Of the tools there are, mutmut leaves out decorated functions and wants all tests to be run in one process first, and
cosmic-ray has one list of tests for all files; neither takes a sample.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
ROOMS = ("framework", "scheduling", "cluster", "devices", "plugins")
ALL_DECIDE = (
    "conformance",
    "framework",
    "cluster",
    "devices",
    "policy",
    "plugins",
    "scheduling",
    "simulation",
    "commands",
)
"""Folders of tests that notice a wrong decision, quick ones first."""

OTHERWISE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
"""Operator -> what stands in its place."""


@dataclass(frozen=True)
class Mutant:
    """The text between two offsets (bytes) of a file, and what it becomes."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    was: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.was.split())} -> {self.text}"


# --- what can be broken


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """Every way to break a file, in the order of its text."""
    data = (root / path).read_bytes()
    starts = [0]
    for row in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    for node in _running(ast.parse(data)):
        text = _broken(node)
        if text is None or not isinstance(node, ast.expr | ast.stmt):
            continue
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(path, node.lineno, start, end, text, data[start:end].decode())


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes below that do something when the program runs: no annotations, docstrings or imports."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Import | ast.ImportFrom | ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            yield child
            yield from _running(child)


def _broken(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OTHERWISE:
            return f"({ast.unparse(ast.Compare(left, [_other(op)], [right]))})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OTHERWISE:
            return f"({ast.unparse(ast.BinOp(left, _other(op), right))})"
        case ast.BoolOp(op=op, values=values):
            return f"({ast.unparse(ast.BoolOp(_other(op), values))})"
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            return f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Constant(value=bool() as value):
            return str(not value)
        case ast.Constant(value=int() as value):
            return str(value + 1)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            return "pass"
    return None


def _other(op: ast.AST) -> Any:
    return OTHERWISE[type(op)]()


def sample(root: Path, seed: int, each: int) -> list[Mutant]:
    """So many mutants of each room."""
    found = []
    for room in ROOMS:
        paths = sorted(path.relative_to(root) for path in (root / "kwhatif" / room).rglob("*.py"))
        every = [mutant for path in paths for mutant in mutants_of(root, path)]
        found += Random(f"{seed} {room}").sample(every, min(each, len(every)))
    return found


# --- whether anybody notices


def tests_for(root: Path, mutant: Mutant) -> list[str]:
    """The tests that bear the file's name, then those of its room, then all that notice a wrong decision."""
    own = [path for path in (root / "tests").rglob(f"test_{mutant.path.stem}.py") if path.parent.name in ALL_DECIDE]
    folders = sorted(ALL_DECIDE, key=lambda folder: folder != mutant.path.parts[1])
    rest = [path for folder in folders for path in sorted((root / "tests" / folder).glob("test_*.py"))]
    return [str(path.relative_to(root)) for path in dict.fromkeys([*own, *rest])]


def failing(tree: Path, tests: list[str], limit: float) -> bool:
    """Whether a test fails. Raises TimeoutExpired."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "HYPOTHESIS_PROFILE": "quick"}
    ran = subprocess.run(words, cwd=tree, env=environment, capture_output=True, timeout=limit, check=False)
    return ran.returncode != 0


def judged(tree: Path, mutant: Mutant, limit: float) -> str:
    """``killed``, ``survived`` or, as good as killed, ``timed out``."""
    path = tree / mutant.path
    sound = path.read_bytes()
    path.write_bytes(sound[: mutant.start] + mutant.text.encode() + sound[mutant.end :])
    try:
        return "killed" if failing(tree, tests_for(tree, mutant), limit) else "survived"
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        path.write_bytes(sound)


def main() -> int:
    parser = argparse.ArgumentParser(description="break a sample of places in the code and see which tests fail")
    parser.add_argument("--each", type=int, default=40, help="so many of each room (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600, help="seconds for a mutant (default 600)")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree (default: this one)")
    given = parser.parse_args()
    mutants = sample(given.root, given.seed, given.each)
    counts: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(given.jobs):
            tree = Path(folder) / str(job)
            skipped = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__")
            shutil.copytree(given.root, tree, ignore=skipped)
            trees.put(tree)
        if failing(tree, [f"tests/{folder}" for folder in ALL_DECIDE], 10 * given.limit):
            print("tests fail before anything is broken", file=sys.stderr)
            return 1

        def judge(mutant: Mutant) -> str:
            tree = trees.get()
            try:
                return judged(tree, mutant, given.limit)
            finally:
                trees.put(tree)

        for mutant, verdict in zip(mutants, pool.map(judge, mutants), strict=True):
            counts[mutant.path.parts[1], verdict] += 1
            if verdict == "survived":
                print(f"survived: {mutant}", flush=True)
    for room in (*ROOMS, ""):
        of_room: Counter[str] = Counter()
        for (where, verdict), number in counts.items():
            of_room[verdict] += number if room in ("", where) else 0
        total, survived = of_room.total(), of_room["survived"]
        told = ", ".join(f"{n} {verdict}" for verdict, n in sorted(of_room.items()) if n)
        print(f"{room or 'all rooms'}: {100 * (total - survived) / max(total, 1):.0f}% noticed ({told})")
    print(f"seed {given.seed}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
