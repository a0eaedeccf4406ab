"""Fidelity: which rules and which snapshot an answer is based on, and what was missing or not modelled."""
