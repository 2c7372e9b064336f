"""The embedder's weights, read once a process: every application that a test opens would read the same files anew, for
a second each. The commands that run as processes of their own read them as users do."""

from functools import cache

from retrieval.embeddings import local


def read_once() -> None:
    """From now on what is opened from a folder stays open, also for the next embedder."""
    setattr(local, "_open", cache(local._open))  # noqa: B010
