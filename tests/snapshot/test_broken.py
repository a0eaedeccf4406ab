"""Every broken input leads to one error of one line that names the file and the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.snapshot.repository.reading_report import ReadingReport
from tests.snapshot.broken_inputs import BROKEN, Broken

by_name = pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)


def error_of(broken: Broken, message: str, directory: Path) -> str:
    """The message without the directory, which differs from run to run."""
    assert message.startswith(str(directory)) or str(directory)[:9] in message
    return message.replace(f"{directory}/", "")


@by_name
def test_loading_a_broken_input_raises_one_error_that_names_file_and_place(broken: Broken, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_snapshot([broken.write(tmp_path)])
    message = error_of(broken, str(caught.value), tmp_path)
    assert message.isprintable()
    assert broken.file in message.split(": ")[0]
    assert broken.place in message
    assert broken.problem in message
    assert caught.value.exit_code == 2


NO_MANIFESTS = [b for b in BROKEN if not b.mistyped and b.name != "a key twice"]
"""Of a key that appears twice in a manifest the last one counts, with a warning."""


@pytest.mark.parametrize("broken", NO_MANIFESTS, ids=lambda broken: broken.name)
def test_a_broken_input_is_no_better_as_manifest(broken: Broken, tmp_path: Path) -> None:
    if broken.name == "one good and one broken file":
        # Of a directory the others are read.
        report = ReadingReport()
        assert load_manifests([broken.write(tmp_path)], report=report)
        assert len(report.unreadable) == 1
        return
    with pytest.raises(InputError) as caught:
        load_manifests([broken.write(tmp_path)])
    assert len(str(caught.value).splitlines()) == 1
    assert broken.file in error_of(broken, str(caught.value), tmp_path)


def test_the_names_of_broken_inputs_are_unique() -> None:
    names = [broken.name for broken in BROKEN]
    assert len(set(names)) == len(names) > 100
