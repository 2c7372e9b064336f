"""Embedding on this machine: multilingual-e5-small by default, by fastembed any model that it knows by name.

Everything heavy (imports, weights, 0.1 GB of memory) waits for the first use, and threads of its own do all the work,
each a text at a time, a waiting query before the next document. One thread a text: two threads that share one are no
faster for a query and 1.3 to 1.8 times slower for many texts, and texts of one batch have to be as long as the longest.
"""

import asyncio
import functools
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

from retrieval.embeddings import bundled_e5
from retrieval.embeddings.base import prefixes
from retrieval.embeddings.onnx import MeanOfStates
from retrieval.embeddings.unigram_tokenizer import Unigram
from retrieval.i18n import Text
from retrieval.memory import give_back, let_go
from retrieval.types import EmbeddingError, Vector, Vectors

if TYPE_CHECKING:
    from fastembed.common.model_description import DenseModelDescription
    from fastembed.common.types import NumpyArray
    from fastembed.text.onnx_text_model import OnnxTextModel
    from tokenizers import Encoding, Tokenizer

log = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")

Compute = Callable[[str], npt.ArrayLike]
"""A text → its vector."""

E5_SMALL = "multilingual-e5-small"

_HUB_NAME = "intfloat/multilingual-e5-small"
_DIMENSIONS = 384
_MAX_TOKENS = 512
_COUNTED_AT_ONCE = 64
_REMEMBERED = 256  # queries
_BETWEEN = 16  # documents, after which memory is given back: they have read many rows of the embedding table
_REGISTERING = threading.Lock()

_UNKNOWN = Text(
    en="KOTAE_EMBEDDER names a model that fastembed does not know: {name}. This prints the names it knows: python -c "
    "\"from fastembed import TextEmbedding as T; print(*(m['model'] for m in T.list_supported_models()), sep='\\n')\"",
    ja="KOTAE_EMBEDDER のモデル {name} は fastembed にありません。使える名前は次のコマンドで表示できます: python -c "
    "\"from fastembed import TextEmbedding as T; print(*(m['model'] for m in T.list_supported_models()), sep='\\n')\"",
)
_UNREACHABLE = Text(
    en="The search model {name} is not on this machine yet and could not be downloaded from the Hugging Face hub. "
    "Check the connection to huggingface.co (or set HF_ENDPOINT to a mirror) and try again, or choose another "
    "KOTAE_EMBEDDER.",
    ja="検索用モデル {name} がまだこのマシンになく、Hugging Face Hub からダウンロードできませんでした。huggingface.co "
    "への接続（またはミラーを指す HF_ENDPOINT）を確認してもう一度お試しいただくか、KOTAE_EMBEDDER "
    "で別のモデルを選んでください。",
)
_FAILED = Text(
    en="The search model {name} failed; the log has the reason. If it happens again, delete the folder {folder}, from "
    "which it is loaded, and start anew.",
    ja="検索用モデル {name} の処理に失敗しました。理由はログに記録されています。繰り返す場合は、"
    "読み込み元のフォルダー {folder} を削除してから起動し直してください。",
)


class LocalEmbedder:
    """An `EmbeddingClient` that needs no network (with the default model) and no server.

    `model` is multilingual-e5-small or a name of fastembed's registry. `cache` is a folder for weights, shared by all
    homes of this user; `threads` texts are embedded at once. For one event loop. An unknown name raises EmbeddingError
    at once; what the disk or the hub refuses raises it at first use.
    """

    def __init__(self, cache: Path, threads: int = 2, model: str = E5_SMALL) -> None:
        self.name = model
        self.dimensions = _DIMENSIONS if model == E5_SMALL else int(_describe(model).dim or 0)
        self._cache = cache
        self._before = prefixes(model)
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._settled = False
        self.trouble: EmbeddingError | None = None  # of the last use: why no text can be embedded now
        self._embedded = count(1)
        self._workers = _Workers(threads)
        self._remembered: OrderedDict[str, Vector] = OrderedDict()

    async def warm(self) -> None:
        """Load now what would wait for the first text (1 s), which a service may prefer to have behind it before it
        connects; again: try what had failed. Raises EmbeddingError.
        """
        if not self._settled or self.trouble is not None:
            await self._workers.run(self._embed_query, [self._before[1]], urgent=True)

    async def prepare(self) -> None:
        """Have in its place what the first text loads, which takes little memory. Raises EmbeddingError."""
        await self._workers.run(lambda _: self._load(), [None], urgent=True)

    @property
    def max_tokens(self) -> int:
        if self.name == E5_SMALL:
            return _MAX_TOKENS
        return self._load().max_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a document, uncut. Loads the tokenizer alone (0.5 s, once); from any thread."""
        return self._load().counts([self._before[0] + text])[0]

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._before[0] + text for text in texts]
        some = [prefixed[start : start + _COUNTED_AT_ONCE] for start in range(0, len(prefixed), _COUNTED_AT_ONCE)]
        counts = await self._workers.run(self._counts, some)
        self._warn_of_cuts([*chain.from_iterable(counts)])
        return await self._workers.run(self._embed_document, prefixed)

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_queries([text]))[0]

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        known = {text: self._remembered[text] for text in texts if text in self._remembered}
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            prefixed = [self._before[1] + text for text in new]
            known |= zip(new, await self._workers.run(self._embed_query, prefixed, urgent=True), strict=True)
        for text, vector in known.items():
            self._remembered[text] = vector
            self._remembered.move_to_end(text)  # the latest last
        while len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return [list(known[text]) for text in texts]

    def _warn_of_cuts(self, counts: Sequence[int]) -> None:
        cut = sum(count > self.max_tokens for count in counts)
        if cut:
            log.warning(
                "%d of %d texts are longer than the %d tokens that %s reads; what follows is left out of search by "
                "meaning",
                cut,
                len(counts),
                self.max_tokens,
                self.name,
            )

    # -- in the workers' threads ------------------------------------------------------------------------------------

    def _counts(self, texts: Sequence[str]) -> list[int]:
        return self._load().counts(texts)

    def _embed_document(self, text: str) -> Vector:
        vector = self._unit(self._load().document, text)
        if next(self._embedded) % _BETWEEN == 0:
            self._rest()
        return vector

    def _embed_query(self, text: str) -> Vector:
        return self._unit(self._load().query, text)

    def _unit(self, compute: Compute, text: str) -> Vector:
        try:
            with nullcontext() if self._settled else self._loading:  # the first text loads the weights
                vector = np.asarray(compute(text), dtype=np.float32)
        except Exception as problem:
            self.trouble = EmbeddingError(_FAILED, name=self.name, folder=str(self._cache))
            raise self.trouble from problem
        self.trouble = None
        if not self._settled:  # they are in place now, and packed anew
            self._settled = True
            self._rest()
        return cast(Vector, (vector / max(float(np.linalg.norm(vector)), 1e-12)).tolist())

    def _rest(self) -> None:
        give_back()
        let_go(bundled_e5.folder_in(self._cache), unwritten=True)

    def _load(self) -> "_Loaded":
        with self._loading:
            if self._loaded is None:
                try:
                    self._loaded = _open(self.name, self._cache)
                except EmbeddingError as problem:
                    self.trouble = problem
                    raise
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model, whose weights wait for its first text, and what its tokenizer says."""

    document: Compute
    query: Compute
    counts: Callable[[Sequence[str]], list[int]]  # tokens of each text, uncut
    max_tokens: int


def _count(encoding: "Encoding") -> int:
    """Tokens before truncation and padding."""
    parts = [encoding, *encoding.overflowing]
    special = sum(encoding.special_tokens_mask) - encoding.attention_mask.count(0)
    return special + sum(part.special_tokens_mask.count(0) for part in parts)


class _Workers:
    """Threads that do urgent work before patient one."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "embedder")
        self._urgent: deque[Callable[[], None]] = deque()
        self._patient: deque[Callable[[], None]] = deque()
        self._taking = threading.Lock()

    async def run(self, work: Callable[[S], T], subjects: Sequence[S], urgent: bool = False) -> list[T]:
        """The work on each subject, in their order. The event loop is woken once: each time costs as much as a tenth of
        a short text."""
        results: dict[int, T] = {}
        all_done: Future[None] = Future()

        def one(place: int) -> None:
            if all_done.done():  # cancelled, or one has failed
                return
            with suppress(InvalidStateError):  # cancelled meanwhile
                try:
                    results[place] = work(subjects[place])
                except BaseException as problem:
                    all_done.set_exception(problem)
                if len(results) == len(subjects):
                    all_done.set_result(None)

        for place in range(len(subjects)):
            (self._urgent if urgent else self._patient).append(partial(one, place))
            self._threads.submit(self._next)  # as many turns as jobs; each turn takes the most urgent
        if subjects:
            await asyncio.wrap_future(all_done)
        return [results[place] for place in range(len(subjects))]

    def _next(self) -> None:
        with self._taking:  # between a look and a job another thread could take it
            job = (self._urgent or self._patient).popleft()
        job()


# -- the models -----------------------------------------------------------------------------------------------------


@functools.cache
def _open(name: str, cache: Path) -> _Loaded:
    """Once a process: what an embedder has loaded is there for the next one."""
    if name == E5_SMALL and bundled_e5.available():
        folder, opened = bundled_e5.prepare(cache), _bundled
    else:
        folder, opened = _downloaded(name, cache), partial(_of_fastembed, name, cache)
    try:
        return opened(folder)
    except Exception as problem:
        raise EmbeddingError(_FAILED, name=name, folder=str(folder)) from problem


def _bundled(folder: Path) -> _Loaded:
    model, tokens = MeanOfStates(folder / "model.onnx"), Unigram(folder, _MAX_TOKENS)

    def compute(text: str) -> npt.ArrayLike:
        return model.vector(tokens.encode(text))

    return _Loaded(compute, compute, tokens.counts, _MAX_TOKENS)


def _of_fastembed(name: str, cache: Path, folder: Path) -> _Loaded:
    from fastembed import TextEmbedding

    registered = _HUB_NAME if name == E5_SMALL else name
    model = TextEmbedding(registered, str(cache), threads=1, lazy_load=True, specific_model_path=str(folder))
    model.token_count("")  # loads the tokenizer, not the weights
    tokenizer = cast("Tokenizer", cast("OnnxTextModel[NumpyArray]", model.model).tokenizer)
    most = int(tokenizer.truncation["max_length"]) if tokenizer.truncation else _MAX_TOKENS
    return _Loaded(
        lambda text: next(iter(model.passage_embed([text]))),
        lambda text: next(iter(model.query_embed(text))),
        lambda texts: [_count(tokenizer.encode(text)) for text in texts],
        most,
    )


def _downloaded(name: str, cache: Path) -> Path:
    from loguru import logger

    logger.disable("fastembed")  # it would print to standard error; what goes wrong is raised
    if name != E5_SMALL:
        return _download(name, cache / "fastembed")
    _register()
    return _download(_HUB_NAME, cache / "fastembed")


def _register() -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    with _REGISTERING:
        if _HUB_NAME not in (known["model"] for known in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=_HUB_NAME,
                pooling=PoolingType.MEAN,
                normalization=True,
                sources=ModelSource(hf=_HUB_NAME),
                dim=_DIMENSIONS,
                model_file="onnx/model.onnx",
            )


def _describe(name: str) -> "DenseModelDescription":
    from fastembed import TextEmbedding
    from fastembed.common.model_description import DenseModelDescription, ModelSource

    for known in TextEmbedding.list_supported_models():
        if known["model"].lower() == name.lower():
            return DenseModelDescription(**{**known, "sources": ModelSource(**known["sources"])})
    raise EmbeddingError(_UNKNOWN, name=name)


def _download(name: str, cache: Path) -> Path:
    """The model's folder, from the cache when it is there, else from the hub, tried once."""
    from fastembed import TextEmbedding

    try:
        cache.mkdir(parents=True, exist_ok=True)
        return TextEmbedding.download_model(_describe(name), str(cache), retries=1)
    except EmbeddingError:
        raise
    except Exception as problem:
        raise EmbeddingError(_UNREACHABLE, name=name) from problem
