"""What a release consists of, made and tried here, in dist/:

    python .ci/release.py distributions    # wheel and sdist, built twice and compared
    python .ci/release.py program          # the program without Python, of the wheel in dist/, packed for krew
    python .ci/release.py all              # both, tried; krew's manifest; sizes and starts (make release)

What it builds with is installed in build/release, by the hashes of .ci/lock.txt. What it tries is the wheel in an empty
environment, and the program: `kwhatif demo` and every example of --help, outside the clone, with the same answers.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NAME = "kubectl-whatif"

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "kwhatif", "samples", "schemas")
LARGEST_WHEEL = 3_000_000

# Examples that need a cluster, of which there is none here: they have to say so.
LIVE = ("snapshot dump", "snapshot record")


class FailedCheckError(Exception):
    """Something is not as a release has to be."""


# --- environments


def make_environment(folder: Path, name: str) -> Path:
    """Install what .ci/lock.txt has for an environment. Returns its Python."""
    _run(sys.executable, "-m", "venv", "--clear", folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run(python, "-I", ROOT / ".ci" / "lock.py", "install", name)
    return python


def tools() -> Path:
    """The Python of the environment that builds; it is made when the lock has changed."""
    folder, lock = ROOT / "build" / "release", (ROOT / ".ci" / "lock.txt").read_text(encoding="utf-8")
    made_of = folder / "lock.txt"
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != lock:
        make_environment(folder, "release")
        made_of.write_text(lock, encoding="utf-8")
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install_wheel(python: Path) -> None:
    """Install the wheel in dist/, and make sure that nothing is missing beside it."""
    _run(python, "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", wheel())
    _run(python, "-I", "-m", "pip", "check")


# --- wheel and sdist


def make_distributions() -> list[Path]:
    """Build wheel and sdist twice, in directories of different names."""
    moment, python = _source_date(), tools()
    builds = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "another one"):
            tree, out = Path(folder, name, "tree"), Path(folder, name, "dist")
            _copy_sources(tree)
            build = (python, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree))
            ran = subprocess.run(
                build,
                check=False,
                capture_output=True,
                text=True,
                umask=0o022,
                env={**os.environ, "SOURCE_DATE_EPOCH": str(moment)},
            )
            if ran.returncode:
                raise FailedCheckError(f"the build failed:\n{ran.stdout}{ran.stderr}")
            _normalize(next(out.glob("*.tar.gz")), moment)
            builds.append({file.name: file.read_bytes() for file in sorted(out.iterdir())})
    if builds[0] != builds[1]:
        differ = [name for name in builds[0] if builds[0][name] != builds[1].get(name)]
        raise FailedCheckError(f"built twice, these are not the same: {', '.join(differ)}")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, content in builds[0].items():
        (DIST / name).write_bytes(content)
    print("wheel and sdist: the same bytes when built twice")
    _check_wheel(wheel())
    return [DIST / name for name in builds[0]]


def wheel() -> Path:
    """The one in dist/."""
    return next(DIST.glob("*.whl"))


def _source_date() -> int:
    """The seconds that files are dated with: as told, those of the commit, or the first that a zip file can hold."""
    if told := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(told)
    git = shutil.which("git")
    words = (git, "log", "-1", "--format=%ct") if git else ("false",)
    ran = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    return int(ran.stdout) if ran.returncode == 0 else 315_532_800


def _copy_sources(tree: Path) -> None:
    """Copy what is built, readable by all: a wheel keeps the rights of its files."""
    tree.mkdir(parents=True)
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree)
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _normalize(archive: Path, moment: int) -> None:
    """Pack an sdist anew: its files in order, of nobody, of one date, readable by all."""
    with tarfile.open(archive) as old:
        members = [(member, old.extractfile(member)) for member in sorted(old.getmembers(), key=lambda each: each.name)]
        with (
            archive.with_suffix(".new").open("wb") as raw,
            gzip.GzipFile("", "wb", mtime=moment, fileobj=raw) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
        ):
            for member, content in members:
                info = tarfile.TarInfo(member.name)
                info.type, info.size, info.mtime = member.type, member.size, moment
                info.mode = 0o755 if member.isdir() else 0o644
                new.addfile(info, content)
    archive.with_suffix(".new").replace(archive)


def _check_wheel(file: Path) -> None:
    with zipfile.ZipFile(file) as packed:
        infos = packed.infolist()
    if strangers := sorted({info.filename.partition("/")[0] for info in infos} - {"kwhatif", _dist_info()}):
        raise FailedCheckError(f"the wheel has {', '.join(strangers)} beside the package")
    size = file.stat().st_size
    if size > LARGEST_WHEEL:
        raise FailedCheckError(f"the wheel has {size:,} bytes, more than {LARGEST_WHEEL:,}")
    for part in ("kwhatif/schemas/", "kwhatif/samples/", "kwhatif/render/html/app/vendor/"):
        share = sum(info.compress_size for info in infos if info.filename.startswith(part))
        print(f"  of the wheel's {size:,} bytes {share:,} are {part} ({100 * share / size:.0f}%)")


def _dist_info() -> str:
    return f"kwhatif-{version()}.dist-info"


def version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


# --- the program


def make_program() -> Path:
    """Build the program from the wheel in dist/ and pack it. Returns the archive."""
    python = tools()
    install_wheel(python)
    words = ("--noconfirm", "--log-level=ERROR", "--distpath", DIST, "--workpath", ROOT / "build" / NAME)
    _run(python, "-I", "-m", "PyInstaller", *words, ROOT / ".ci" / f"{NAME}.spec")
    shutil.copy(ROOT / "LICENSE", DIST / NAME)
    return _pack(DIST / NAME)


def _pack(folder: Path) -> Path:
    """An archive as krew unpacks it: of directories and files; it knows no links."""
    system, machine = platform.system().lower(), platform.machine().lower()
    name = f"{NAME}-{system}-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"
    if system == "windows":
        return Path(shutil.make_archive(str(DIST / name), "zip", DIST, folder.name))
    archive = DIST / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz", dereference=True) as packed:
        packed.add(folder, folder.name)
    return archive


# --- trying it out


def list_examples(python: Path) -> list[tuple[str, str]]:
    """Every example of --help, as the command and the words behind it."""
    program = (
        "import json; from kwhatif.commands.registry import all_entries; "
        "print(json.dumps([(spec.name, words) for spec in all_entries() for words in spec.examples]))"
    )
    ran = subprocess.run([python, "-I", "-c", program], check=True, capture_output=True, text=True)
    return [(command, words) for command, words in json.loads(ran.stdout)]


def try_out(program: Path, examples: Sequence[tuple[str, str]], folder: Path) -> dict[str, str]:
    """Run `demo` and every example in an empty directory. Returns what each printed."""
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "data" / "recorded-day.jsonl.gz", folder / "day.jsonl.gz")
    (folder / "answer.txt").write_text("nothing of interest")
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMPDIR") if name in os.environ}
    env = {**kept, "HOME": str(folder), "KUBECONFIG": str(folder / "nowhere"), "KWHATIF_NOW": "2026-06-01T12:00:00Z"}
    printed = {}
    for command, words in [("demo", ""), *(each for each in examples if each != ("demo", ""))]:
        asked = [str(program), *command.split(), *shlex.split(words)]
        ran = subprocess.run(asked, cwd=folder, env=env, check=False, capture_output=True, encoding="utf-8")
        good = (2,) if command in LIVE else (0, 1)
        line = f"{command} {words}".strip()
        if ran.returncode not in good or "Traceback" in ran.stderr:
            raise FailedCheckError(f"{program.name} {line}: exit code {ran.returncode}\n{ran.stderr}")
        printed[line] = ran.stdout
    return printed


def measure_start(words: Sequence[str | Path], folder: Path) -> float:
    """The processor time of a start, in seconds: the median of ten, after one that fills the caches."""
    import resource  # Windows has none

    times = []
    for _ in range(11):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=folder, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times[1:])


def make_everything() -> None:
    distributions = make_distributions()
    archive = make_program()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = make_environment(folder / "users", "users")
        install_wheel(python)
        kwhatif = python.with_name("kwhatif")
        examples = list_examples(python)
        of_wheel = try_out(kwhatif, examples, folder / "wheel")
        # Under the name of kubectl's plugin it would ask about kubectl's cluster where an example names none.
        program = folder / "kwhatif"
        program.symlink_to(DIST / NAME / NAME)
        of_program = try_out(program, examples, folder / "program")
        if differ := [line for line in of_wheel if of_wheel[line] != of_program[line]]:
            raise FailedCheckError(f"the program answers otherwise than the wheel: {'; '.join(differ)}")
        print(f"demo and {len(of_wheel) - 1} examples run from wheel and program, with the same answers")
        manifest = _make_manifest(archive)
        for file in (*distributions, archive):
            print(f"{file.stat().st_size:12,} bytes  {file.name}")
        unpacked = sum(path.stat().st_size for path in (DIST / NAME).rglob("*") if path.is_file())
        print(f"{unpacked:12,} bytes  {NAME}, unpacked\n{manifest.name}: krew takes it")
        clone = (sys.executable, "-m", "kwhatif")
        place = ("place", "samples/manifests/web.yaml", "--snapshot", "samples/cluster")
        print("processor time of a start, median of ten:")
        for what, start in (("wheel", (kwhatif,)), ("clone", clone), ("program", (program,))):
            where = ROOT if what == "clone" else folder / "wheel"
            seconds = [measure_start([*start, *words], where) for words in (("--help",), place)]
            print(f"  {what:8} --help {seconds[0]:.2f} s   place {seconds[1]:.2f} s")


def _make_manifest(archive: Path) -> Path:
    """The manifest for krew with this one archive. Raises FailedCheckError if krew would not take it."""
    repository = os.environ.get("GITHUB_REPOSITORY", "example/kwhatif")
    words = (tools(), ROOT / ".ci" / "krew.py", repository, f"v{version()}", archive)
    ran = subprocess.run(words, check=False, capture_output=True, text=True)
    if ran.returncode:
        raise FailedCheckError(f"krew would not take it:\n{ran.stderr}")
    manifest = DIST / "whatif.yaml"
    manifest.write_text(ran.stdout)
    return manifest


def _run(*words: str | Path) -> None:
    subprocess.run(words, cwd=ROOT, check=True)


if __name__ == "__main__":
    parts = {"distributions": make_distributions, "program": make_program, "all": make_everything}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(f"usage: release.py {{{','.join(parts)}}}")
    try:
        parts[sys.argv[1]]()
    except FailedCheckError as error:
        sys.exit(f"no release: {error}")
