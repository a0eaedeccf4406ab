"""Which packages are built; all else stands in pyproject.toml.

Those of ``kwhatif`` are found by being there. Samples and schemas lie at the top of the repository, where people look for
them, and no discovery of setuptools finds packages under other names than those of their directories.
"""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["kwhatif", "kwhatif.*"]), "kwhatif.samples", "kwhatif.schemas"])
