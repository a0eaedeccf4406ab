"""Admission policies: which of them are asked about a request, and what their expressions make of it."""
