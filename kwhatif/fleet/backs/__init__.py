"""Where the workers of a study are: in this process, in processes of this machine, on a cluster of machines."""
