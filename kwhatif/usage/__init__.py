"""Measured usage of containers: samples of CPU and memory from monitoring, read as streams and kept as
distributions.
"""
