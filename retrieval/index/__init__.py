"""Qdrant: where passages and their vectors live, in this process or on a server. The only room that knows an engine.

The server's client takes half a second to load, so `retrieval.index.server` is imported where it is chosen.
"""

from retrieval.index.base import USING, Index
from retrieval.index.edge import EdgeIndex

__all__ = ["USING", "EdgeIndex", "Index"]
