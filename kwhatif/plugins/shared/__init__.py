"""Code that several plugins share, and parts of large plugins."""
