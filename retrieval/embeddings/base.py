"""What an embedder promises. One file a provider; the application chooses one by name."""

from collections.abc import Sequence
from typing import Protocol

from retrieval.types import Vector, Vectors


class EmbeddingClient(Protocol):
    """Texts → unit vectors of `dimensions` floats. Raises `EmbeddingError`, nothing else of a provider's.

    `name` identifies the vector space: vectors of two names never meet in one store.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int:
        """What the model reads of one text; the rest would be cut off in silence."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as `embed_documents` would send it, prefix and special tokens included."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Several questions at once, in their order."""
        ...
