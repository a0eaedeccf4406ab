"""How small can a snapshot be that still shows a decision?"""
