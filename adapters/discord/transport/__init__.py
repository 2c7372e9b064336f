"""Discord's gateway and REST API: calls, refusals, and messages that arrive once."""
