"""Admission policies: which of them match a request, and what their expressions evaluate to."""
