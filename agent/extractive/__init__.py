"""The answerer without a model: the closest passages, as a reader's index."""
