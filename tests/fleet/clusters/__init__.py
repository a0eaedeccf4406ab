"""Studies on real clusters of Dask and Ray, on this machine."""
