"""Paths under the address that is served."""

ROOT = "/app"  # all that is for browsers is under it; the rest of the address is the HTTP API's
