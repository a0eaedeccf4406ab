from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.golang.parsing import misread_base64


@given(st.binary(max_size=40), st.booleans())
def test_what_is_encoded_is_base64_with_or_without_line_ends(data: bytes, lines: bool) -> None:
    text = (base64.encodebytes(data) if lines else base64.b64encode(data)).decode()
    assert misread_base64(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("abc$", 3),
        ("$", 0),
        ("QUJD$", 4),
        ("QUI", 0),
        ("QUJDQ", 4),
        ("=", 0),
        ("Q===", 1),
        ("QQ=", 3),
        ("QQ=Q", 2),
        ("QUI=Q", 4),
        ("QUJD QUJD", 4),
        ("QU\nI*", 4),
    ],
)
def test_what_is_not_base64_is_refused_with_its_place(text: str, at: int) -> None:
    assert misread_base64(text) == f"illegal base64 data at input byte {at}"
