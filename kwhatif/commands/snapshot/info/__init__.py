"""What is in a snapshot?"""
