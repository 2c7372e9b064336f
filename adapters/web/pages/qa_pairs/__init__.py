"""The page on which Q/A pairs are written and reviewed."""
