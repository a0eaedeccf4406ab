"""What several plugins share, or what would make a plugin's own file too long."""
