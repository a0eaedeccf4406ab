"""Reading bytes: which files are taken, how they are unpacked, and where reading stops."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kwhatif import bounds
from kwhatif.commands.conformance.scenario_files import scenario_files
from kwhatif.errors import InputError
from kwhatif.snapshot.foreign.layouts import tree_of
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read import files
from kwhatif.snapshot.read.compression import decompress_all
from kwhatif.snapshot.read.files import Text, read_paths
from kwhatif.snapshot.read.objects import read_documents


def read(*paths: Path | str, max_bytes: int = bounds.SNAPSHOT_BYTES) -> list[Text]:
    return list(read_paths([str(path) for path in paths], max_bytes=max_bytes))


def fill(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(name.encode())


def test_a_directory_gives_its_manifests_by_name_and_nothing_else(tmp_path: Path) -> None:
    fill(
        tmp_path,
        "b.yml",
        "a.json",
        "c.yaml",
        ".d.yaml",
        "B.yaml",
        "readme.md",
        "e.yaml.bak",
        "f.gz",
        "json",
        "in/g.yaml",
    )
    (tmp_path / "h.yaml").mkdir()
    names = [os.path.relpath(text.name, tmp_path) for text in read(tmp_path)]
    assert names == [".d.yaml", "B.yaml", "a.json", "b.yml", "c.yaml"]


def test_a_directory_gives_packed_manifests_too(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"a"))
    (tmp_path / "b.yaml.zst").write_bytes(zstandard.compress(b"b"))
    fill(tmp_path, "c.txt.gz")
    assert [text.data for text in read(tmp_path)] == [b"a", b"b"]


def test_a_file_named_by_itself_may_be_called_anything(tmp_path: Path) -> None:
    fill(tmp_path, "cluster")
    assert read(tmp_path / "cluster") == [Text(str(tmp_path / "cluster"), b"cluster")]


def test_paths_are_read_in_the_order_given_and_as_often_as_given(tmp_path: Path) -> None:
    fill(tmp_path, "b", "a")
    assert [text.data for text in read(tmp_path / "b", tmp_path / "a", tmp_path / "b")] == [b"b", b"a", b"b"]


def test_whether_a_file_is_packed_is_told_by_its_first_bytes_not_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "b.json.gz").write_bytes(b"plain")
    assert [text.data for text in read(tmp_path)] == [b"packed", b"plain"]


def test_a_byte_order_mark_is_taken_off(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes("\ufeff{}".encode())
    assert [text.data for text in read(tmp_path)] == [b"{}"]


def test_files_packed_in_several_parts_are_read_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    (tmp_path / "b.json.zst").write_bytes(zstandard.compress(b"one ") + zstandard.compress(b"two"))
    assert [text.data for text in read(tmp_path)] == [b"one two", b"one two"]


@given(st.text(max_size=3000), st.sampled_from([gzip.compress, zstandard.compress, bytes]))
def test_every_text_comes_back_as_it_was_packed(tmp_path_factory: Any, text: str, pack: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "text.yaml"
    path.write_bytes(pack(b"\n" + text.encode()))
    assert [found.data for found in read(path)] == [b"\n" + text.encode()]


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]))
def test_any_bytes_are_a_text_or_an_input_error(tmp_path_factory: Any, data: bytes, magic: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(magic + data)
    try:
        texts = read(path)
    except InputError as error:
        assert error.source == str(path)  # noqa: PT017 - either outcome is fine
        return
    assert [text.data.decode() for text in texts] == [(magic + data).decode("utf-8-sig")]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_no_cut_of_a_packed_file_passes_for_the_whole(tmp_path: Path, pack: Any) -> None:
    packed = pack(b"a manifest of some length " * 20)
    for length in range(4, len(packed)):
        (tmp_path / "cut.yaml").write_bytes(packed[:length])
        with pytest.raises(InputError, match="too early"):
            read(tmp_path)


# --- standard input


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fill(tmp_path, "a")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"from a pipe"))))
    assert read(tmp_path / "a", "-") == [
        Text(str(tmp_path / "a"), b"a"),
        Text("standard input", b"from a pipe"),
    ]


def test_standard_input_can_be_read_only_once() -> None:
    with pytest.raises(InputError, match=r"^standard input: can be read only once$"):
        read("-", "-")


@pytest.mark.posix
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"kind: Pod")
    os.close(writer)
    try:
        assert [text.data for text in read(f"/dev/fd/{reader}")] == [b"kind: Pod"]
    finally:
        os.close(reader)


# --- limits and failures


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_file_at_the_limit_is_read_and_one_beyond_is_not(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "a.yaml").write_bytes(pack(bytes(range(32, 127)) * 10))
    assert len(read(tmp_path, max_bytes=950)[0].data) == 950
    with pytest.raises(InputError, match="larger than the limit of 949 bytes"):
        read(tmp_path, max_bytes=949)


@pytest.mark.posix
def test_a_stream_without_end_stops_at_the_limit() -> None:
    with pytest.raises(InputError, match="larger than the limit of 1,000,000 bytes"):
        read("/dev/zero", max_bytes=1_000_000)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_small_file_that_unpacks_to_a_huge_one_is_refused_on_the_way(
    tmp_path: Path, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "RATIO", 100)
    (tmp_path / "a.yaml").write_bytes(pack(bytes(8 * 1024**2)))
    with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
        read(tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_bomb_of_many_documents_is_refused_before_it_goes_off(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "a.json.gz").write_bytes(pack(b"{}\n" * 2_000_000))
    with pytest.raises(
        InputError, match=r"unpacks to more than 1,000 times its size|holds more than 200,000 documents"
    ):
        [read_documents(text) for text in read(tmp_path)]


@pytest.mark.parametrize(("name", "text"), [("a.json", b"{}\n"), ("a.yaml", b"--- a\n")])
def test_no_file_has_more_documents_than_objects_are_in_a_cluster(
    tmp_path: Path, name: str, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "DOCUMENTS", 3)
    (tmp_path / name).write_bytes(text * 3)
    assert len(read_documents(read(tmp_path)[0])) == 3
    (tmp_path / name).write_bytes(text * 4)
    with pytest.raises(InputError, match=rf"{name}: holds more than 3 documents"):
        read_documents(read(tmp_path)[0])


@pytest.mark.parametrize("text", [b'{"items": [' + b"{}," * 30 + b"1]}", b"[" + b"[]," * 30 + b"1]"])
def test_text_that_is_little_but_brackets_is_refused(
    tmp_path: Path, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_bytes(text)
    (tmp_path / "b.json").write_bytes(b'["' + text.replace(b'"', b"") + b'"]')
    assert len(read_documents(read(tmp_path / "a.json")[0])) == 1
    monkeypatch.setattr(bounds, "MANY", 20)
    with pytest.raises(InputError, match=r"a\.json: holds 3\d lists and mappings and hardly any text"):
        read_documents(read(tmp_path / "a.json")[0])
    assert len(read_documents(read(tmp_path / "b.json")[0])) == 1


def test_what_comes_in_small_pieces_is_unpacked_as_a_whole() -> None:
    text = os.urandom(3_000_000)
    for packed in (text, gzip.compress(text) + b"\0\0" + gzip.compress(b"more"), zstandard.compress(text)):
        pieces = [packed[:1], packed[1:3], b"", packed[3:100_000], packed[100_000:]]
        assert decompress_all(pieces, 10_000_000).removesuffix(b"more") == text


# --- links


@pytest.mark.posix
def test_a_link_that_leads_out_of_a_directory_is_refused_and_nothing_told_of_what_it_leads_to(tmp_path: Path) -> None:
    fill(tmp_path, "secret", "in/a.yaml", "in/deep/b.yaml")
    (tmp_path / "secret").write_text("hunter2\n")
    (tmp_path / "in" / "c.yaml").symlink_to(tmp_path / "secret")
    problem = f"{tmp_path}/in/c.yaml: a link that leads out of {tmp_path}/in, which is not followed"
    with pytest.raises(InputError) as caught:
        read(tmp_path / "in")
    assert str(caught.value) == problem
    with pytest.raises(InputError, match="expected an object, found text"):
        load_manifests([str(tmp_path / "in" / "c.yaml")])


@pytest.mark.posix
def test_links_within_a_directory_and_links_that_are_named_are_followed(tmp_path: Path) -> None:
    fill(tmp_path, "in/..data/a.yaml", "out/b.yaml")
    (tmp_path / "in" / "a.yaml").symlink_to("..data/a.yaml")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "out" / "b.yaml")
    for path in (tmp_path / "in", tmp_path / "link"):
        assert [text.data for text in read(path)] == [b"in/..data/a.yaml"]
    assert [text.data for text in read(tmp_path / "link.yaml")] == [b"out/b.yaml"]


@pytest.mark.posix
def test_links_out_of_somebody_elses_dump_are_refused(tmp_path: Path) -> None:
    lists = tmp_path / "dump" / "resources" / "cluster"
    lists.mkdir(parents=True)
    (tmp_path / "elsewhere.json").write_text("hunter2")
    (lists / "core_v1_nodes.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match="a link that leads out of"):
        tree_of(str(tmp_path / "dump"))


def test_missing_permission_and_other_trouble_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "a.yaml")

    def refuse(error: OSError) -> Any:
        def opened(*_: Any) -> Any:
            raise error

        return opened

    for error, problem in (
        (PermissionError(13, "Permission denied"), "no permission to read it"),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error"),
    ):
        monkeypatch.setattr(files, "open", refuse(error), raising=False)
        with pytest.raises(InputError, match=problem):
            read(tmp_path / "a.yaml")
        monkeypatch.setattr(os, "listdir", refuse(error))
        with pytest.raises(InputError, match=problem):
            read(tmp_path)


def test_a_name_that_cannot_be_printed_is_escaped(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(f"{tmp_path}/two\nlines")
    assert len(str(caught.value).splitlines()) == 1
    assert "two\\nlines" in str(caught.value)


# --- what would have readers wait, or work


@pytest.mark.posix
def test_a_pipe_that_lies_in_a_directory_is_refused_and_nobody_waits_for_it(tmp_path: Path) -> None:
    fill(tmp_path, "dump/resources/cluster/core_v1_nodes.json")
    pipes = ("in/a.yaml", "dump/serverversion.json", "dump/resources/ns/shop/core_v1_pods.json", "recorded/a.jsonl")
    for pipe in pipes:
        (tmp_path / pipe).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / pipe)
    ways = (
        lambda: read(tmp_path / "in"),
        lambda: tree_of(str(tmp_path / "dump")),
        lambda: scenario_files([str(tmp_path / "recorded")]),
    )
    for way in ways:
        with pytest.raises(InputError, match="a pipe or a device, which is read only if it is named by itself"):
            bounds.in_time(60, way)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_what_is_packed_in_too_many_pieces_is_refused(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(bounds, "WHOLES", 100)
    assert decompress_all([pack(b"") * 100], 1000) == b""
    with pytest.raises(InputError, match="is packed in more than 100 pieces"):
        decompress_all([pack(b"") * 101], 1000)


def test_what_follows_a_member_of_gzip_is_not_copied_once_for_each_member(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    make = zlib.decompressobj

    class Watched:
        def __init__(self, wbits: int) -> None:
            self._inner = make(wbits)

        def decompress(self, data: bytes, most: int) -> bytes:
            fed.append(len(data))
            return self._inner.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    assert decompress_all([gzip.compress(b"x") * 20_000], 20_000) == b"x" * 20_000
    assert max(fed) <= 16 * 1024
