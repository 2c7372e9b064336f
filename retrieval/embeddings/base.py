"""The promise of an embedder, and the prefixes that the authors of embedding models want before a document and before
a query. One file a provider; the application chooses one by name.

Sources: the models' cards; for gemini-embedding-2 ai.google.dev/gemini-api/docs/embeddings (it ignores the task type
that gemini-embedding-001 takes: measured in github.com/embeddings-benchmark/mteb/pull/4851).
"""

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
        """The tokens the model reads of one text; the rest would be cut off in silence."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as `embed_documents` would send it, prefix and special tokens included."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Several questions at once, in their order."""
        ...


_QUESTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_PREFIXES = (  # part of the model's name, before a document, before a query; the first that fits
    ("gemini-embedding-001", "", ""),
    ("gemini-embedding", "title: none | text: ", "task: search result | query: "),
    ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
    ("e5-large-instruct", "", _QUESTION + " "),
    ("e5-mistral", "", _QUESTION + " "),
    ("e5-", "passage: ", "query: "),
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("qwen3-embedding", "", _QUESTION),
    ("bge-m3", "", ""),
    ("bge-small-zh", "", "为这个句子生成表示以用于检索相关文章："),
    ("bge-", "", _BGE_QUERY),
    ("mxbai-embed", "", _BGE_QUERY),
    ("snowflake-arctic-embed2", "", "query: "),
    ("snowflake-arctic-embed-l-v2", "", "query: "),
    ("snowflake-arctic-embed-m-v2", "", "query: "),
    ("snowflake-arctic-embed", "", _BGE_QUERY),
)


def prefixes(model: str) -> tuple[str, str]:
    """The prefixes of a document and of a query for `model`; empty for a model we know nothing of."""
    name = model.lower()
    return next(((document, query) for part, document, query in _PREFIXES if part in name), ("", ""))
