"""Redaction: a snapshot without the names of its cluster, and the translation of an answer on it back to the names.

The law: placing any pod, redacted with the same translation, on the redacted snapshot gives the redacted answer. What
stays, what goes and what can still be seen is in ``docs/how-to/redact-a-snapshot.md``.
"""

from __future__ import annotations

from kwhatif.redaction.redact import CONFIGURATION_KIND, has_rule, redact, redact_documents
from kwhatif.redaction.reveal import reveal, reveal_value
from kwhatif.redaction.translation import Translation, read_translation, readable_by_others, write_translation

__all__ = [
    "CONFIGURATION_KIND",
    "Translation",
    "has_rule",
    "read_translation",
    "readable_by_others",
    "redact",
    "redact_documents",
    "reveal",
    "reveal_value",
    "write_translation",
]
