from __future__ import annotations

import pytest

from kwhatif.results.amounts import format_amount, format_column


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        pytest.param("cpu", 0, "0", id="no cpu"),
        pytest.param("cpu", 2000, "2", id="whole cores"),
        pytest.param("cpu", 1500, "1500m", id="millicores when it is not whole"),
        pytest.param("cpu", -500, "-500m", id="less than none"),
        pytest.param("cpu", 3_140_240, "3,140", id="of many cores no millicores"),
        pytest.param("memory", 0, "0", id="no bytes"),
        pytest.param("memory", 1023, "1023", id="bytes without a suffix"),
        pytest.param("memory", 1024, "1Ki", id="the largest suffix that leaves at least one"),
        pytest.param("memory", 4 * 1024**3, "4Gi", id="no fraction where there is none"),
        pytest.param("memory", 1288490188, "1.2Gi", id="one digit otherwise"),
        pytest.param("memory", -(3 * 1024**2), "-3Mi", id="bytes below zero"),
        pytest.param("memory", 5 * 1024**6, "5Ei", id="the last suffix"),
        pytest.param("memory", 2**63 - 1, "8Ei", id="the most there can be"),
        pytest.param("ephemeral-storage", 10 * 1024**3, "10Gi", id="disk is in bytes"),
        pytest.param("hugepages-2Mi", 4 * 1024**2, "4Mi", id="so are huge pages"),
        pytest.param("example.com/gpu", 2048, "2048", id="all else is a number"),
        pytest.param("example.com/gpu", -1, "-1", id="even below zero"),
    ],
)
def test_amounts_are_spelt_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("resource", "amounts", "texts"),
    [
        pytest.param(
            "memory", [2 * 1024**4, 92 * 1024**3], ["2,048Gi", "92Gi"], id="little beside much in the smaller unit"
        ),
        pytest.param("memory", [2 * 1024**4, 512 * 1024**3], ["2Ti", "0.5Ti"], id="half of it in the same"),
        pytest.param("cpu", [3_140_240, 412_900], ["3,140", "412.9"], id="thousands of cores without a fraction"),
    ],
)
def test_amounts_beside_each_other_are_read_at_a_glance(resource: str, amounts: list[int], texts: list[str]) -> None:
    assert format_column(resource, amounts) == texts
