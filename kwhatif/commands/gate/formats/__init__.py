"""The formats in which the gate reports, a file each."""
