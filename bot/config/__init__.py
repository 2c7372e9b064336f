"""The settings, and the places they are read from."""
