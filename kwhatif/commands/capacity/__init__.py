"""How many more of a pod or a release fit?"""
