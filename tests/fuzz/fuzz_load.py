"""Coverage-guided fuzzing of what reads files, with atheris. No part of the test suite: it runs as long as you like.

    pip install atheris
    python tests/fuzz/fuzz_load.py CORPUS -max_total_time=600 -max_len=1000000 -timeout=10 -rss_limit_mb=2048 \\
        -dict=tests/fuzz/tokens.dict

CORPUS is a directory for what it finds worth keeping; an empty one is filled with the samples of other tools' dumps.
The first byte of an input says what is made of the rest: a file of some name, or a file somewhere in a dump. Whatever
it is, loading it as a snapshot and as manifests gives objects or one InputError; and a snapshot that loads can be
converted, and loads again.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["kwhatif"]):
    from kwhatif.errors import InputError
    from kwhatif.snapshot.format.model import write_list, write_snapshot
    from kwhatif.snapshot.load import load_manifests, load_snapshot
    from kwhatif.snapshot.validation import read_for_validation

SAMPLES = Path(__file__).parents[1] / "data" / "foreign"
MEMORY = Path("/dev/shm")
SCRATCH = Path(tempfile.mkdtemp(prefix="fuzz-load-", dir=MEMORY if MEMORY.is_dir() else None))

FILES = ("a.json", "a.yaml", "a", "a.json.gz", "a.yaml.zst")
TREES = {
    "cluster-info": ("nodes.json", "shop/pods.json", "shop/services.json"),
    "cluster-info-two-namespaces": ("nodes.yaml", "kube-system/pods.yaml"),
    "must-gather": ("image/namespaces/shop/core/pods.yaml", "image/cluster-scoped-resources/core/nodes/bob.yaml"),
    "sonobuoy": ("resources/cluster/core_v1_nodes.json", "serverversion.json"),
}
TARGETS = (
    *((SCRATCH, name) for name in FILES),
    *((SCRATCH / tree, file) for tree, files in TREES.items() for file in files),
)


def prepared() -> None:
    """Room for single files, and a small copy of each dump in which one file is going to be replaced."""
    for tree in TREES:
        shutil.copytree(SAMPLES / tree, SCRATCH / tree)
    (image,) = (path for path in (SCRATCH / "must-gather").iterdir() if path.is_dir())
    image.rename(image.with_name("image"))


def seeds(corpus: Path) -> None:
    """The samples, once for each target that they could be."""
    corpus.mkdir(parents=True, exist_ok=True)
    if any(corpus.iterdir()):
        return
    number = 0
    for sample in sorted(path for path in SAMPLES.rglob("*") if path.is_file()):
        for target, (_, name) in enumerate(TARGETS):
            if os.path.splitext(name)[1] in ("", sample.suffix) or name == "a.yaml":
                (corpus / f"{number:04}").write_bytes(bytes([target]) + sample.read_bytes())
                number += 1


def one_input(data: bytes) -> None:
    """Load one input in every way there is. Raises whatever is not meant to be raised."""
    if not data:
        return
    top, name = TARGETS[data[0] % len(TARGETS)]
    file = top / name
    before = None if top is SCRATCH else file.read_bytes()
    file.write_bytes(data[1:])
    try:
        tried(str(file if top is SCRATCH else top))
    finally:
        if before is not None:
            file.write_bytes(before)


def tried(path: str) -> None:
    """As a snapshot, converted if it is one; as manifests; and looked through for all that is wrong with it."""
    for read in (load_manifests, read_for_validation):
        try:
            read([path])
        except InputError as error:
            check(error)
    try:
        snapshot = load_snapshot([path])
    except InputError as error:
        check(error)
        return
    again = str(SCRATCH / "again.json")
    for write in (write_snapshot, write_list):
        write(snapshot, again)
        loaded = load_snapshot([again])
        assert len(loaded.objects) == len(snapshot.objects), "objects got lost"


def check(error: InputError) -> None:
    """An error is one line that names its file."""
    assert error.source, str(error)


def main() -> None:
    corpus = [word for word in sys.argv[1:] if not word.startswith("-")]
    if len(corpus) == 1 and not os.path.isfile(corpus[0]):
        seeds(Path(corpus[0]))
    prepared()
    try:
        atheris.Setup(sys.argv, one_input)
        atheris.Fuzz()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()
