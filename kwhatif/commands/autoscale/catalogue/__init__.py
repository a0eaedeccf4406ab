"""What does a cloud offer to Karpenter? Prints a catalogue from files."""

POSITION = 2
