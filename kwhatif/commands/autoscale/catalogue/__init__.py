"""Print a catalogue of what a cloud offers to Karpenter, from files."""

POSITION = 2
