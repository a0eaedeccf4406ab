"""Every file that is written is made anew beside its name: found by walking the code, and the options that name one."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.parameters import parameters_of
from kwhatif.commands.registry import all_commands
from tests.cli.running import CLUSTER, run

PACKAGE = Path(kwhatif.__file__).parent

pytestmark = pytest.mark.posix

ATOMIC = "snapshot.format.atomic_files"
"""The one module that makes, names and replaces files."""

MADE_ELSEWHERE = {
    ("scheduling.extenders.http_caller", "write_bytes"): "in a temporary directory of its own",
    ("scheduling.extenders.http_caller", "TemporaryDirectory"): "a certificate, which a library takes from files only",
    ("commands.snapshot.trim.trim", "TemporaryDirectory"): "what is about to be written, read back once",
    ("snapshot.repository.scratch_directories", "TemporaryDirectory"): "an empty home for kustomize and helm",
    ("snapshot.repository.scratch_directories", "makedirs"): "in that directory",
    ("snapshot.repository.scratch_directories", "mkdir"): "in that directory, by a handle of it",
    ("snapshot.read.program_launcher", "os.open"): "the kernel's own files of a program that has no network",
    ("snapshot.repository.scratch_directories", "open"): "in that directory",
    ("snapshot.live_cache", "mkdir"): "the directory of the cache, checked before it is used",
    ("snapshot.live_cache", "unlink"): "snapshots that are too old, in that directory",
    ("scheduling.binding_cycle", "touch"): "no file, a volume",
    ("fleet.rows_file", "unlink"): "the journal of rows that are complete",
}
CHANGES = {
    *("fdopen", "mkdir", "makedirs", "mkdtemp", "mkstemp", "NamedTemporaryFile", "TemporaryDirectory", "mkfifo"),
    *("write_text", "write_bytes", "touch", "rename", "symlink", "symlink_to", "hardlink_to", "link", "unlink"),
    *("rmdir", "removedirs", "rmtree", "copy", "copyfile", "copytree", "move", "chmod", "chown", "truncate", "mknod"),
}
"""What changes something in a file system, by the last part of its name."""

OF_FILES = {"copy": "shutil", "link": "os", "move": "shutil"}
"""Names that other things have as well, and whose they are if they are about files."""


def file_calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Module, name and call of whatever may be about files."""
    word = re.compile(rf"\b({'|'.join(sorted({*CHANGES, 'open'}))})\(")
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if word.search(text):
            module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
                if isinstance(call.func, ast.Attribute | ast.Name):
                    yield module, ast.unparse(call.func), call


def changes() -> set[tuple[str, str]]:
    """Module and call of whatever changes files: by such a name, or by opening one so that it can be written."""
    found = set()
    for module, name, call in file_calls():
        owner, _, last = name.rpartition(".")
        if last in CHANGES and OF_FILES.get(last, owner) == owner:
            found.add((module, last))
        if name == "os.open":
            flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
            if flags & {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND"} and "devnull" not in flags:
                found.add((module, "os.open"))
        modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        is_mode = any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)
        if last == "open" and owner != "os" and is_mode:
            found.add((module, "open"))
    return found


@pytest.mark.long
def test_nobody_but_one_module_changes_files() -> None:
    assert {change for change in changes() if change[0] != ATOMIC} == set(MADE_ELSEWHERE)


@pytest.mark.long
def test_files_are_opened_for_writing_by_no_name_that_could_be_a_link() -> None:
    opened = [call for module, name, call in file_calls() if module == ATOMIC and name == "os.open"]
    writing = [ast.unparse(call) for call in opened if "O_RDONLY" not in ast.unparse(call)]
    safe = ("O_EXCL", "_NOFOLLOW", "_NAMELESS", "flags", "_open_special")
    # A pipe or a device is opened by its name, once its owner has been looked at.
    assert [text for text in writing if not any(word in text for word in safe)] == [
        "os.open(path, os.O_WRONLY | _BINARY)"
    ]


# --- the options that name a file to be written

PODS = "data/pods.yaml"
STUDY = f"--snapshot {CLUSTER} --workers 1"
WRITTEN = {
    "snapshot convert --output": f"snapshot convert {CLUSTER} -o {{}}.json",
    "snapshot redact --output": f"snapshot redact {CLUSTER} -o {{}}.json --translation {{}}-names",
    "snapshot redact --translation": f"snapshot redact {CLUSTER} -o {{}}-other.json --translation {{}}",
    "snapshot trim --output": f"snapshot trim data/claim.yaml --snapshot {CLUSTER} --steps 1 -o {{}}.json",
    "place --write-snapshot": f"place {PODS} --snapshot {CLUSTER} --write-snapshot {{}}.json",
    "place --report": f"place {PODS} --snapshot {CLUSTER} --report json={{}}",
    "outage --out": f"outage {STUDY} --each nodes --out {{}}.jsonl",
    "outage --report": f"outage {STUDY} --each nodes --report html={{}}",
    "conformance --answers": "conformance data/one-scenario.json --answers {}.jsonl",
    "rightsize --write": (
        "rightsize --snapshot ../samples/usage/pods-bind/cluster.json --usage ../samples/usage/pods-bind/usage.txt "
        "--write {}"
    ),
}
THE_SAME = {
    "snapshot dump --output": "snapshot convert --output",
    "snapshot dump --translation": "snapshot redact --translation",
    "snapshot record --translation": "snapshot redact --translation",
    "chances --out": "outage --out",
    "sweep --out": "outage --out",
    "sweep --write": "place --report",
    "autoscale plan --write-snapshot": "place --write-snapshot",
    "drain --write-snapshot": "place --write-snapshot",
    **{f"{spec.name} --report": "place --report" for spec in all_commands().values()},
}
"""Written by the same function as another one."""

NEVER = {"snapshot record --output": "has to be a new file: test_a_recording_and_rows_are_written_through_no_link"}


def outputs() -> set[str]:
    """The options by which a file to be written is named, by the words of their help."""
    found = set()
    for entry in all_commands().values():
        found |= {f"{entry.name} {each.flag.name}" for each in parameters_of(entry.command) if each.flag.file == "out"}
        found |= {f"{entry.name} --report"} if entry.command.prints.reports else set()
    return found


@pytest.mark.long
def test_every_option_that_names_a_file_to_be_written_is_tried() -> None:
    assert outputs() - set(THE_SAME) - set(NEVER) == {name for name in WRITTEN if name not in THE_SAME}
    assert set(THE_SAME.values()) <= set(WRITTEN)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_link_at_the_name_leads_to_stays_as_it_is(name: str, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    words = WRITTEN[name].replace("{}", str(out)).split()
    if name == "rightsize --write":
        out.mkdir()
        (out / "patches").symlink_to(mine)
    else:
        (mine / "diary").write_text("mine")
        at = next(word.partition("=")[2] or word for word in words if str(out) in word and named(name, words, word))
        os.symlink(mine / "diary", at)
    before = {path: path.read_bytes() for path in mine.iterdir()}
    ran = run(*words)
    assert {path: path.read_bytes() for path in mine.iterdir()} == before
    assert ran.code == 2 or "was a link: it is a file of its own now" in ran.err or "a link" in ran.err
    assert "internal error" not in ran.err


def named(name: str, words: list[str], word: str) -> bool:
    """Whether a word is that behind the option."""
    option = name.rpartition(" ")[2]
    return words[words.index(word) - 1] in (option, "-o") if option != "--translation" else words[-1] == word
