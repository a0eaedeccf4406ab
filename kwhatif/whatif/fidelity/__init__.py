"""What does an answer stand on, and what does it lack?"""
