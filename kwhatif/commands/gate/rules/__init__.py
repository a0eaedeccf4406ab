"""The rules that come with the gate, one file each. ``commands/gate/rule.py`` finds them by walking through here."""
