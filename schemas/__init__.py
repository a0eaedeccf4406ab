"""The JSON Schemas of every file format that is read or written, installed as ``kwhatif.schemas``."""
