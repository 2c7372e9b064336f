"""Models that the settings name by an id: chat models, the embedder, the reranker. Each library is loaded when its
model is chosen."""

from contextlib import AsyncExitStack
from pathlib import Path

from agent.models.base import ChatModel
from bot.config.settings import NEEDED_BY, Settings
from bot.errors import SettingsError
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.i18n import Text, filled
from retrieval.reranking import FastembedReranker, RerankingError
from retrieval.types import MIN_RELEVANCE

_CACHE = Path(".cache") / "kotae"  # in the user's home: weights are shared by all homes of the bot

_NO_MODEL = Text(
    en="There is no model “{name}”. Use extractive, gemini:<model> or openai:<model>.",
    ja="「{name}」というモデルはありません。extractive、gemini:<モデル名>、openai:<モデル名> "
    "のいずれかにしてください。",
)
_NO_EMBEDDER = Text(
    en="KOTAE_EMBEDDER={name} is not in this version. Use local, fastembed:<model>, gemini:<model> or openai:<model>.",
    ja="KOTAE_EMBEDDER={name} はこのバージョンでは使えません。local、fastembed:<モデル名>、gemini:<モデル名>、"
    "openai:<モデル名> のいずれかにしてください。",
)
_NO_KEY = Text(
    en="The model {name} needs {key}, which is not set.",
    ja="モデル {name} には {key} が必要ですが、設定されていません。",
)


class Models:
    """The chat models by their id; each is made once, when it is first chosen. `retrying`: with second tries and a
    breaker that all turns share."""

    def __init__(
        self, settings: Settings, extractive: ChatModel, stack: AsyncExitStack, *, retrying: bool = True
    ) -> None:
        self._settings = settings
        self._made: dict[str, ChatModel] = {"extractive": extractive}
        self._stack = stack
        self._retrying = retrying

    def __call__(self, name: str) -> ChatModel:
        """Raises SettingsError for a model that this version or these settings do not offer."""
        if name not in self._made:
            made = self._make(name)
            if self._retrying:
                from agent.models.retry import RetryingModel  # loads its library when a model is chosen

                made = RetryingModel(made)
            self._made[name] = made
        return self._made[name]

    def _make(self, name: str) -> ChatModel:
        match name.split(":", 1):
            case "gemini", model:
                from agent.models.gemini import GeminiModel

                if self._settings.gemini_key is None:
                    raise SettingsError(filled(_NO_KEY, name=name, key=NEEDED_BY["gemini:"]))
                made = GeminiModel(
                    model,
                    key=self._settings.gemini_key.get_secret_value(),
                    base_url=self._settings.gemini_base_url,
                    api_version=self._settings.gemini_api_version,
                    effort=self._settings.effort,
                )
                self._stack.push_async_callback(made.close)
                return made
            case "openai", model:
                from agent.models.openai import OpenAIModel

                if self._settings.openai_key is None and self._settings.openai_base_url is None:
                    raise SettingsError(filled(_NO_KEY, name=name, key=NEEDED_BY["openai:"]))
                compatible = OpenAIModel(
                    model,
                    key=self._settings.openai_key,
                    base_url=self._settings.openai_base_url,
                    effort=self._settings.effort,
                )
                self._stack.push_async_callback(compatible.close)
                return compatible
            case _:
                raise SettingsError(filled(_NO_MODEL, name=name))


def min_relevance(settings: Settings) -> float:
    """Relevance 0..1 under which a hit is not shown: KOTAE_MIN_RELEVANCE, or what was fitted."""
    return MIN_RELEVANCE if settings.min_relevance is None else settings.min_relevance


def weights(settings: Settings) -> Path:
    """The folder that models which run here are kept in; for all homes of this user."""
    try:
        return Path.home() / _CACHE
    except RuntimeError:  # a user without a home
        return settings.home / "cache"


def make_reranker(settings: Settings) -> FastembedReranker | None:
    """None: none is set. Loads nothing yet. Raises SettingsError for what is no model."""
    if settings.reranker is None:
        return None
    try:
        return FastembedReranker(weights(settings), settings.reranker.partition(":")[2])
    except RerankingError as error:
        raise SettingsError(error.said) from error


async def make_embedder(settings: Settings, stack: AsyncExitStack) -> EmbeddingClient:
    """Loads nothing yet; a server is asked only for the size of a model that we do not know. What has to be closed is
    put on `stack`. Raises SettingsError, EmbeddingError.
    """
    cache = weights(settings)
    match settings.embedder.split(":", 1):
        case ["local"]:
            return LocalEmbedder(cache)
        case ["fastembed", name]:
            return LocalEmbedder(cache, model=name)
        case ["gemini", name]:
            from retrieval.embeddings.gemini import GeminiEmbedder

            if settings.gemini_key is None:
                raise SettingsError(filled(_NO_KEY, name=settings.embedder, key=NEEDED_BY["gemini:"]))
            gemini = await GeminiEmbedder.open(
                name,
                key=settings.gemini_key,
                dimensions=settings.embedding_dim,
                base_url=settings.gemini_base_url,
                api_version=settings.gemini_api_version,
            )
            stack.push_async_callback(gemini.close)
            return gemini
        case ["openai", name]:
            from retrieval.embeddings.openai import OpenAIEmbedder

            compatible = await OpenAIEmbedder.open(
                name, key=settings.openai_key, base_url=settings.openai_base_url, dimensions=settings.embedding_dim
            )
            stack.push_async_callback(compatible.close)
            return compatible
        case _:
            raise SettingsError(filled(_NO_EMBEDDER, name=settings.embedder))
