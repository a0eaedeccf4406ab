"""Admission plugins, one file each, named as the API server names them; ``pipeline.py`` has their order."""
