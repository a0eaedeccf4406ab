"""The gate: may this change go into the cluster? One file a rule (``rules/``); ``run.py`` puts the answer together."""
