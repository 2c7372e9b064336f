"""How near sentences are to a question in meaning. The sentences of what people ask about come again and again, and
embedding those of one reply's passages costs ten times what its search does, so their vectors are remembered."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from retrieval.embeddings.base import EmbeddingClient

Floats = npt.NDArray[np.float32]

_NUMBERS = 1_500_000  # of all remembered vectors together: 4,000 of the bundled model's, 6 MB


class SentenceSimilarity:
    """The cosine of a question and each of some sentences. Raises EmbeddingError. For one event loop."""

    def __init__(self, embedder: EmbeddingClient) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Floats] = OrderedDict()  # the latest last
        self._embedding = asyncio.Lock()

    async def __call__(self, question: str, sentences: Sequence[str]) -> list[float]:
        asked = np.asarray(await self._embedder.embed_query(question), np.float32)
        known = self._of(sentences)
        if known.keys() != {*sentences}:
            async with self._embedding:  # who waits finds here what those before it had embedded
                known |= self._of(sentences)
                if new := [text for text in dict.fromkeys(sentences) if text not in known]:
                    vectors = np.asarray(await self._embedder.embed_documents(new), np.float32)
                    known |= zip(new, vectors, strict=True)
        self._remember(known)
        return [float(known[text] @ asked) for text in sentences]

    def _of(self, sentences: Sequence[str]) -> dict[str, Floats]:
        return {text: self._known[text] for text in sentences if text in self._known}

    def _remember(self, known: Mapping[str, Floats]) -> None:
        for text, vector in known.items():
            self._known[text] = vector.copy()  # of its own, not a row that keeps the others
            self._known.move_to_end(text)
        while len(self._known) * self._embedder.dimensions > _NUMBERS:
            self._known.popitem(last=False)
