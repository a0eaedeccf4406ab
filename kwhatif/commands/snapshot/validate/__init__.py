"""What is wrong with a snapshot?"""
