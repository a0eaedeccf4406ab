"""What kustomize makes of kustomizations, as a function of their fields and of files: no program runs, nothing is
fetched.
"""
