"""The answerer of a question: by the model, the strategy and the collections that were chosen for it, else for its
place, else by the settings; and what may be looked at for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from agent.model_call import PROTOCOL_RETRIES
from agent.models.base import ChatModel
from agent.run import AFTERWARDS
from agent.strategies.react import Agent
from agent.strategies.synthesis import CONCURRENCY, PASSAGES, Synthesis
from bot.access import thread_scope
from bot.config.settings import Settings
from bot.knowledge.documents import KnowledgeBase
from bot.store.channel_settings import ChannelSettings
from bot.turns.budget import Budget
from bot.turns.turns import Answerer
from bot.types import Attachment, Claimed, Incoming, Upload, Verdict
from bot.unanswered.expert_answers import ANSWERS
from retrieval.i18n import Language
from retrieval.search import WrittenBy
from retrieval.types import CONFIDENT, CollectionInfo, Found, Hit, Passage, Readers

ATTACHMENTS = "attachments"  # files that came with a question: found in its thread only
_JUDGE_CALLS = 1 + PROTOCOL_RETRIES  # of a turn, where KOTAE_JUDGE_MODEL names a model of its own


@dataclass(frozen=True, slots=True)
class Answerers:
    """`models` finds a chat model by its id; `extractive` stands in for one that fails."""

    settings: Settings
    knowledge: KnowledgeBase
    places: ChannelSettings
    budget: Budget
    models: Callable[[str], ChatModel]
    extractive: ChatModel

    def make(self, claimed: Claimed, allowed: Readers, infos: tuple[CollectionInfo, ...]) -> Answerer:
        """The agent for a question in these collections, which sees what its readers may see. Raises SettingsError for
        a model that there is not."""
        message, settings = claimed.message, self.settings
        model = self.models(message.model or settings.model_id)
        without_model = model is self.extractive
        within = None if self._chosen_for(message) is None else tuple(info.name for info in infos)

        async def search(queries: Sequence[str], chosen: tuple[str, ...] | None) -> Found:
            written_by: WrittenBy = "asker" if without_model else "model"
            return await self.knowledge.search(
                *(queries, allowed, chosen or within), written_by=written_by, min_relevance=0.0, turn=claimed.id
            )

        async def read(document_id: str, start: int) -> tuple[list[Passage], int | None]:
            return await self.knowledge.chunks(document_id, allowed, start=start)

        async def still_readable(hits: Sequence[Hit]) -> frozenset[str]:
            return await self.knowledge.readable(hits, allowed)

        strategy: Callable[..., Agent | Synthesis] = partial(Agent, max_turns=settings.max_turns)
        calls = settings.max_turns + AFTERWARDS + 1
        if (message.strategy or settings.strategy) == "synthesis":
            strategy = partial(Synthesis, concurrency=min(CONCURRENCY, settings.concurrency))
            calls = 2 * (PASSAGES + 2) + AFTERWARDS  # two rounds of plans and drafts
        judge = None
        if settings.judge_model is not None and not without_model:
            judge = self.budget.model(self.models(settings.judge_model), calls=_JUDGE_CALLS, kept=0)
        return strategy(
            model if without_model else self.budget.model(model, calls=calls, kept=AFTERWARDS),
            search,
            fallback=None if without_model else self.extractive,
            judge=judge,
            general=settings.fallback == "general",
            chosen=within is not None,
            confident=CONFIDENT if settings.confident is None else settings.confident,
            read=read,
            still_readable=still_readable,
            today=lambda: datetime.now(settings.timezone).date(),
        )

    def _chosen_for(self, message: Incoming) -> tuple[str, ...] | None:
        return message.collections or self.settings.collections

    async def collections(self, message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
        """Those that a question is looked up in, with the files that came with it and what experts have answered."""
        infos, chosen = await self.knowledge.collections(allowed), self._chosen_for(message)
        return infos if chosen is None else tuple(i for i in infos if i.name in (*chosen, ATTACHMENTS, ANSWERS))

    async def prefer(self, message: Incoming) -> Incoming:
        """The question with what was chosen for its place, where nothing was chosen for it. Raises StoreError."""
        chosen = await self.places.get(message.place)
        return replace(
            message,
            model=message.model or chosen.model,
            strategy=message.strategy or chosen.strategy or self.settings.strategy,
            collections=message.collections if message.collections is not None else chosen.collections,
        )

    async def attach(self, message: Incoming, file: Attachment, language: Language) -> Verdict:
        """Reads a file that came with a question, for its thread only."""
        scope = thread_scope(message.place, message.thread)
        upload = Upload(file.name, file.data, ATTACHMENTS, scope, message.author, file.url)
        return await self.knowledge.add(upload, language)
