"""The rules that come with the gate, one file each. ``whatif/gate/registry.py`` finds them by walking through here."""
