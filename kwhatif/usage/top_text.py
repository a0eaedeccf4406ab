"""The table of ``kubectl top pods``, with and without ``--containers`` and ``-A``: one sample of each, no time."""

from __future__ import annotations

import re

import numpy as np

from kwhatif.api.decode import describe_value
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.errors import InputError
from kwhatif.usage.book import UsageBook

_HEAD = re.compile(r"\s*(NAMESPACE\s+)?(?:POD\s+)?NAME\s+CPU\(cores\)\s+MEMORY\(bytes\)\s*")


def is_top(text: bytes) -> bool:
    """Whether a text begins as ``kubectl top pods`` does."""
    return _HEAD.fullmatch(text.split(b"\n", 1)[0].decode("utf-8", "replace")) is not None


def read_top(text: str, book: UsageBook, source: str, namespace: str) -> None:
    """Add the rows; without a column for it they are of one ``namespace``. Raises InputError with the line."""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if _HEAD.fullmatch(line):
            columns = words
            continue
        if not words:
            continue
        if len(words) != len(columns):
            problem = f"expected {' '.join(columns)}, found {describe_value(line.strip())}"
            raise InputError(problem, source=source, place=f"line {number}")
        row = dict(zip(columns, words, strict=True))
        pod = row.get("POD") or row["NAME"]
        container = row["NAME"] if "POD" in row else ""
        home = row.get("NAMESPACE", namespace)
        for column, resource in (("CPU(cores)", "cpu"), ("MEMORY(bytes)", "memory")):
            try:
                amount = Quantity.parse(row[column])
            except QuantityError:
                problem = f"expected a quantity in {column}, found {describe_value(row[column])}"
                raise InputError(problem, source=source, place=f"line {number}") from None
            value = amount.milli_value() if resource == "cpu" else amount.value()
            book.add(home, pod, container, resource, None, np.array([value], np.float64))
