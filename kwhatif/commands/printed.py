"""Shows a document as it is."""

from __future__ import annotations

from kwhatif.commands.view import View

VIEW = View(lambda result, look: [], formats={"table": lambda result, look: result.text})
