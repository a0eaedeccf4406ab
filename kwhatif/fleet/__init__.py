"""Studies: one question asked of many worlds, on one machine or on many. Nothing here depends on schedulers."""
