"""The HTTP API for programs, and what the commands ask of the process that owns the home."""
