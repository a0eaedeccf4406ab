"""The gate: may this change go into the cluster? One file a rule (``rules/``); ``judgement.py`` rolls the change out
and judges it.
"""
