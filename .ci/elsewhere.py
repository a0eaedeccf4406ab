"""Runs the tests where their authors are not: python .ci/elsewhere.py [--strict] [--pytest OPTIONS] [NAME...]

Each environment of the table below is a clone of what is committed, alone in a directory, with Python and dependencies
of its own, which uv installs. Each Python is found on the PATH, as python3.13. A user without rights and a machine
without network need Linux and root. What this machine lacks is said and left out, and an error with --strict.

The clock is ahead for time.time of every process of that Python, also where it is isolated (-I); files get the time
that the kernel has. libfaketime would move these too, but makes Python's time.sleep fail or never end.
"""

from __future__ import annotations

import argparse
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
USER = "nobody"
PROGRAMS = {"git", "helm", "kubectl", "kustomize"}
"""What tests use if it is there, and skip where it is not."""


@dataclass(frozen=True)
class Environment:
    """Where the tests run. ``days`` is how far the clock is ahead, ``bare`` is to have no HOME, no programs, no network
    and no rights.
    """

    name: str
    python: str
    resolution: str
    directory: str
    days: int = 0
    variables: Mapping[str, str] | None = None
    bare: bool = False


ENVIRONMENTS = (
    Environment("bare", "3.13", "highest", "my clone ü", 243, {"TZ": "Asia/Kolkata", "LC_ALL": "C"}, bare=True),
    Environment("oldest", "3.11", "lowest-direct", "clone", 3 * 365, {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}),
    Environment("newest", "3.12", "highest", "clone"),
)


class Missing(Exception):
    """This machine lacks something that an environment needs."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="what cannot be tried here is an error")
    parser.add_argument("names", nargs="*", help=", ".join(each.name for each in ENVIRONMENTS))
    parser.add_argument("--pytest", default="", metavar="OPTIONS", help="options of pytest, as in '-n 2 -k taints'")
    given = parser.parse_args()
    if unknown := set(given.names) - {each.name for each in ENVIRONMENTS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    summary, failed = [], False
    for environment in ENVIRONMENTS:
        if given.names and environment.name not in given.names:
            continue
        lacking: list[str] = []
        began = time.monotonic()
        try:
            code = run_tests(environment, shlex.split(given.pytest), lacking)
            outcome = "passed" if code == 0 else f"failed (pytest ends with {code})"
        except Missing as reason:
            code, outcome = 0, f"left out: {reason}"
            lacking.append(str(reason))
        failed |= code != 0 or (given.strict and bool(lacking))
        without = f"; without {', '.join(lacking)}" if lacking and "left out" not in outcome else ""
        summary.append(f"{environment.name:8} {time.monotonic() - began:6.0f} s  {outcome}{without}")
    print("", *summary, sep="\n")
    return int(failed)


def run_tests(environment: Environment, options: Sequence[str], lacking: list[str]) -> int:
    """The exit code of pytest. What could not be set up is added to ``lacking``. Raises Missing."""
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as top:
        os.chmod(top, 0o755)
        place = Path(top) / "alone" / environment.directory
        place.parent.mkdir()
        execute("git", "clone", "--quiet", "--no-local", "--depth", "1", ROOT.as_uri(), str(place))
        python = install(environment, place)
        if environment.days:
            set_clock_ahead(python, environment.days)
        prefix: list[str] = []
        variables = {**os.environ, **(environment.variables or {})}
        variables["PATH"] = f"{python.parent}{os.pathsep}{variables['PATH']}"
        if environment.bare:
            del variables["HOME"]
            variables["PATH"] = f"{python.parent}{os.pathsep}{link_programs(Path(top) / 'bin')}"
            prefix += no_network(lacking) + no_rights(python, place.parent, lacking)
        command = [*prefix, str(python), "-m", "pytest", "-p", "no:cacheprovider", *(options or ["-n", "auto"])]
        print(f"\n{environment.name}: Python {environment.python} in {place}", flush=True)
        return subprocess.run(command, cwd=place, env=variables, check=False).returncode


def install(environment: Environment, place: Path) -> Path:
    """The Python of a new virtual environment in the clone. Raises Missing."""
    name = f"python{environment.python}"
    base = shutil.which(name)
    if base is None:
        raise Missing(f"{name} is not on the PATH")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        raise Missing("uv is not installed")
    python = place / ".venv" / "bin" / "python"
    execute(uv, "venv", "--quiet", "--seed", "--python", base, str(place / ".venv"))
    resolution = ["--resolution", environment.resolution, "--group", "build"]
    execute(uv, "pip", "install", "--quiet", "--python", str(python), *resolution, "-e", ".[dev]", cwd=place)
    return python


def link_programs(folder: Path) -> Path:
    """A directory of the system's programs without those that some tests use."""
    folder.mkdir()
    for programs in map(Path, ("/usr/bin", "/bin", "/usr/sbin", "/sbin")):
        for program in programs.iterdir() if programs.is_dir() else ():
            if program.name not in PROGRAMS and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


def no_network(lacking: list[str]) -> list[str]:
    """What a command begins with to have no network but the loopback."""
    if os.getuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        lacking.append("a machine without network (needs root, unshare and ip)")
        return []
    return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def no_rights(python: Path, clone: Path, lacking: list[str]) -> list[str]:
    """What a command begins with to be run by a user without rights, who owns the clone."""
    if os.getuid() != 0:
        return []
    if not shutil.which("setpriv"):
        lacking.append("a user without rights (needs setpriv)")
        return []
    owner = pwd.getpwnam(USER)
    execute("chown", "-R", f"{owner.pw_uid}:{owner.pw_gid}", str(clone))
    command = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    if subprocess.run([*command, str(python), "-c", ""], capture_output=True, check=False).returncode:
        lacking.append(f"a user without rights (no other than root may run {python.resolve()})")
        return []
    return command


def set_clock_ahead(python: Path, days: int) -> None:
    """Each process of this Python runs a line in its site-packages as it starts, which moves ``time.time``."""
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, capture_output=True, encoding="utf-8").stdout.strip())
    (packages / "clock_ahead.py").write_text(
        f"import time\n\nread, AHEAD = time.time, {days * 86400}.0\ntime.time = lambda: read() + AHEAD\n"
    )
    (packages / "clock_ahead.pth").write_text("import clock_ahead\n")


def execute(*command: str, cwd: Path = ROOT) -> None:
    """Raises CalledProcessError."""
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main())
