"""Kinds of operators that make pods, each as its controller does."""
