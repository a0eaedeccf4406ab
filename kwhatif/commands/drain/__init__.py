"""What would draining these nodes do?"""
