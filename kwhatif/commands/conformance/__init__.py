"""Does the engine decide as a recorded scheduler did?"""
