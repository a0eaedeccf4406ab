"""Who may ask: nobody beyond loopback without TLS and a token or a certificate, and no page of another site."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import UsageError
from kwhatif.serve.access import Access, TlsFiles, Tokens, headers_of, is_loopback

TOKEN = "correct-horse-battery"


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\n")
    return Tokens(str(file))


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com")))


def test_beyond_loopback_it_takes_tls_and_to_know_who_asks(tokens: Tokens) -> None:
    tls, signed = TlsFiles("tls.crt", "tls.key"), TlsFiles("tls.crt", "tls.key", "ca.crt")
    for good in (
        Access("127.0.0.1", 1),
        Access("127.0.0.1", 1, tls),
        Access("0.0.0.0", 1, tls, tokens),
        Access("0.0.0.0", 1, signed),
    ):
        good.check()
    for bad in (Access("0.0.0.0", 1), Access("0.0.0.0", 1, None, tokens), Access("example.com", 1, tls)):
        with pytest.raises(UsageError, match="--token-file"):
            bad.check()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8790"}, 0),
        ({"host": "[::1]:8790"}, 0),
        ({"host": "WHATIF.example.com"}, 0),
        ({"host": "127.0.0.1:8790", "origin": "http://127.0.0.1:8790"}, 0),
        ({"host": "127.0.0.1:8790", "origin": "null"}, 403),
        ({"host": "127.0.0.1:8790", "origin": "http://127.0.0.1:1"}, 403),
        ({"host": "127.0.0.1:8790", "origin": "https://127.0.0.1:8790"}, 403),
        ({"host": "127.0.0.1:8790", "sec-fetch-site": "cross-site"}, 403),
        ({"host": "attacker.example"}, 421),
        ({"host": "127.0.0.1.attacker.example"}, 421),
        ({}, 421),
    ],
)
def test_names_and_origins_of_others_are_refused(headers: dict[str, str], status: int) -> None:
    assert Access("127.0.0.1", 8790, names=("whatif.example.com",)).refuse(headers)[0] == status


def test_two_headers_of_one_name_are_none() -> None:
    host = (b"Host", b"127.0.0.1")
    assert headers_of({"headers": [host]})["host"] == "127.0.0.1"
    assert headers_of({"headers": [host, host]})["host"] == ""


def test_a_token_is_one_of_the_file_as_it_is_now(tokens: Tokens, tmp_path: Path) -> None:
    access = Access("127.0.0.1", 1, None, tokens)
    asked = {"host": "localhost"}
    assert access.refuse({**asked, "authorization": f"Bearer {TOKEN}"})[0] == 0
    for wrong in ("", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \udcff"):
        assert access.refuse({**asked, "authorization": wrong})[0] == 401
    (tmp_path / "tokens").write_text("another-token-of-some-length\nand-one-more-of-that-sort\n")
    assert access.refuse({**asked, "authorization": f"Bearer {TOKEN}"})[0] == 401
    assert access.refuse({**asked, "authorization": "Bearer and-one-more-of-that-sort"})[0] == 0
    (tmp_path / "tokens").unlink()
    assert access.refuse({**asked, "authorization": "Bearer and-one-more-of-that-sort"})[0] == 0


@pytest.mark.parametrize("text", ["", "short\n"])
def test_a_file_without_a_token_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(UsageError, match="16 characters"):
        Tokens(str(tmp_path / "tokens"))
