"""Which of the known layouts a directory has."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kwhatif.snapshot.foreign.cluster_info import cluster_info_dump
from kwhatif.snapshot.foreign.insights import insights_archive
from kwhatif.snapshot.foreign.must_gather import must_gather
from kwhatif.snapshot.foreign.sonobuoy import sonobuoy_results
from kwhatif.snapshot.foreign.support_bundle import support_bundle
from kwhatif.snapshot.foreign.tree import Tree
from kwhatif.snapshot.read.files import Text, found_in, os_error, read_paths

# Archives of Insights have a part that looks like a must-gather.
RECOGNISERS = (insights_archive, must_gather, sonobuoy_results, support_bundle, cluster_info_dump)


def tree_of(path: str) -> Tree | None:
    """The files of a dump; None of a file, standard input or a directory of manifests. Raises InputError."""
    if not os.path.isdir(path):
        return None
    try:
        found = next((tree for recognise in RECOGNISERS if (tree := recognise(path)) is not None), None)
    except OSError as error:
        raise os_error(error, error.filename or path) from None
    for file in found.files if found else ():
        found_in(path, file)
    return found


def texts_of(path: str, tree: Tree | None) -> Iterator[tuple[Text, tuple[str, str]]]:
    """What is to be read of a path, with apiVersion and kind where the tree knows them alone. Raises InputError."""
    for file in tree.files if tree else [path]:
        for text in read_paths([file]):
            yield text, tree.heads.get(file, ("", "")) if tree else ("", "")
