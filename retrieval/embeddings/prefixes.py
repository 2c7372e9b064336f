"""What the authors of embedding models want written before a document and before a query.

Sources: the models' cards; for gemini-embedding-2 ai.google.dev/gemini-api/docs/embeddings (it ignores the task type
that gemini-embedding-001 takes: measured in github.com/embeddings-benchmark/mteb/pull/4851).
"""

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
    """What goes before a document and before a query of `model`; empty for a model we know nothing of."""
    name = model.lower()
    return next(((document, query) for part, document, query in _PREFIXES if part in name), ("", ""))
