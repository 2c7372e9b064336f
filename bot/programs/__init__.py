"""Programs that ask: their tokens, and the tools they have."""
