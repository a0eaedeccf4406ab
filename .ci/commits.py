"""Whether the subjects of commits are as CONTRIBUTING.md wants them: python .ci/commits.py

It reads those since the commit that brought this file. Where there is no git, or not all of the history, it says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 72

# What only looks like another form of a verb.
_IMPERATIVES = {"alias", "bias", "embed", "focus", "shed"}
_OTHER_FORMS = (
    (re.compile(r".*[^e]ed"), "past"),
    (re.compile(r".*[aeiouy].*ing"), "participle"),
    (re.compile(r".*[^isu]s"), "third person"),
)


def problems_of(subject: str) -> Iterator[str]:
    """What is wrong with a subject. Whether its first word is an imperative is clear of some forms only."""
    if len(subject) > LONGEST:
        yield f"it has {len(subject)} characters, more than {LONGEST}"
    if subject.endswith("."):
        yield "it ends with a dot"
    match = re.match(r"[a-z][a-z0-9_./-]*(?: [a-z0-9_./-]+)*: (\S+)", subject)
    if match is None:
        yield "no room stands in front, as in 'scheduling: count a nominated pod once'"
        return
    word = match[1].lower()
    for pattern, form in _OTHER_FORMS:
        if pattern.fullmatch(word) and word not in _IMPERATIVES:
            yield f"'{match[1]}' is no imperative but a {form}"


def list_subjects(file: Path) -> list[str] | str:
    """The subjects since the commit that added the file, the newest first, or why they cannot be read."""
    git = shutil.which("git")
    if git is None:
        return "there is no git"

    def ask(*words: str) -> list[str] | None:
        ran = subprocess.run([git, *words], cwd=file.parent, check=False, capture_output=True, text=True)
        return ran.stdout.splitlines() if ran.returncode == 0 else None

    shallow = ask("rev-parse", "--is-shallow-repository")
    if shallow is None:
        return "this is no clone"
    if shallow == ["true"]:
        return "the clone is shallow: git fetch --unshallow gets the rest"
    added = ask("log", "--diff-filter=A", "--format=%H", "--", file.name)
    if not added:
        return f"{file.name} is in no commit"
    return ask("log", "--no-merges", "--format=%s", f"{added[-1]}..HEAD") or []


def main(file: Path) -> int:
    """Print what is wrong. Returns the exit code."""
    subjects = list_subjects(file)
    if isinstance(subjects, str):
        print(f"the subjects of commits were not looked at: {subjects}")
        return 0
    bad = [f"{subject}\n  {problem}" for subject in subjects for problem in problems_of(subject)]
    print(*bad, sep="\n", end="\n" * bool(bad), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve()))
