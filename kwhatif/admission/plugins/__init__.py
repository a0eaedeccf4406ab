"""Admission plugins, one file each, named as the API server names them; ``admission/pipeline.py`` has their order."""
