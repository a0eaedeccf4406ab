"""Which of the known layouts a directory has."""

from __future__ import annotations

import os

from kwhatif.snapshot.foreign.cluster_info import cluster_info_dump
from kwhatif.snapshot.foreign.must_gather import must_gather
from kwhatif.snapshot.foreign.sonobuoy import sonobuoy_results
from kwhatif.snapshot.foreign.tree import Tree
from kwhatif.snapshot.read.files import checked_link, os_error

RECOGNISERS = (must_gather, sonobuoy_results, cluster_info_dump)


def tree_of(path: str) -> Tree | None:
    """The files of a dump; None of a file, standard input or a directory of manifests. Raises InputError."""
    if not os.path.isdir(path):
        return None
    try:
        found = next((tree for recognise in RECOGNISERS if (tree := recognise(path)) is not None), None)
    except OSError as error:
        raise os_error(error, error.filename or path) from None
    for file in found.files if found else ():
        checked_link(file, path)
    return found
