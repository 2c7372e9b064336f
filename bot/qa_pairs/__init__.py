"""Q/A pairs that a model writes from documents and people review."""
