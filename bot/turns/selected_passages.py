"""An answer from exactly the passages that somebody chose among those a search has found. Nothing of it is stored.

Source: product.md §3 (who may read what) and §6; seeds/0_agent_rag.md (Qdrant検索).
"""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace

from agent.conversation import Ask
from agent.events import Answered, Events
from agent.models.base import ChatModel
from agent.strategies.selected_passages import MOST as MOST
from agent.strategies.selected_passages import GivenPassages
from bot.knowledge.documents import KnowledgeBase
from bot.turns.budget import Budget
from bot.turns.turns import DEADLINE_SECONDS
from bot.types import PRIVATE, Actor, Incoming, Place
from retrieval.i18n import Language, Text
from retrieval.types import Hit, RAGToolError, Readers

_NONE = Text(en="Choose at least one passage to answer from.", ja="回答に使う箇所を 1 つ以上選択してください。")
_MANY = Text(
    en="Choose at most {most} passages to answer from; {count} are chosen.",
    ja="回答に使えるのは {most} か所までです（{count} か所を選択中）。",
)
_CHANGED = Text(
    en="{count} of the chosen passages are no longer there or have changed. Search again.",
    ja="選択した箇所のうち {count} か所が削除または変更されています。もう一度検索してください。",
)
_UNKNOWN = Text(en="These passages do not answer the question.", ja="選択した箇所には、この質問の答えがありません。")


@dataclass
class AnswerFrom:
    """`model` is what answers, `extractive` what takes over when it fails. `models` raises SettingsError."""

    knowledge: KnowledgeBase
    budget: Budget
    _: KW_ONLY
    models: Callable[[str], ChatModel]
    model: str
    extractive: ChatModel

    async def __call__(
        self, question: str, chosen: Sequence[Hit], readers: Readers, actor: Actor, language: Language
    ) -> Events:
        """The steps, then one `Answered`, whose citations are of `chosen`.

        Raises RAGToolError when nothing or too much is chosen, or when a passage is not what it was, StoreError.
        """
        if not chosen:
            raise RAGToolError(_NONE)
        if len(chosen) > MOST:
            raise RAGToolError(_MANY, most=MOST, count=len(chosen))
        same = [await self._is_there(hit, readers) for hit in chosen]
        if not all(same):
            raise RAGToolError(_CHANGED, count=same.count(False))

        async def still_readable(hits: Sequence[Hit]) -> frozenset[str]:
            return await self.knowledge.readable(hits, readers)

        model = self.models(self.model)
        extractive = model is self.extractive
        answering = GivenPassages(
            model if extractive else self.budget.model(model, calls=4),
            chosen,
            fallback=None if extractive else self.extractive,
            still_readable=still_readable,
        )
        one = uuid.uuid4().hex
        place = Place(actor.platform, actor.workspace, "-")
        asked = Incoming(place, one, one, actor.id, question, PRIVATE, language=language)
        ask = Ask(question, language, deadline=asyncio.get_running_loop().time() + DEADLINE_SECONDS)
        if (refusal := await self.budget.refusal(asked, language)) is not None:
            yield Answered(refusal, outcome="declined")
            return
        with self.budget.spending():
            async with aclosing(answering.run(ask)) as events:
                async for event in events:
                    yield _said(event, language) if isinstance(event, Answered) else event

    async def _is_there(self, hit: Hit, readers: Readers) -> bool:
        now = await self.knowledge.context(hit, readers, around=0)
        return [one.text for one in now] == [hit.passage.text]


def _said(answered: Answered, language: Language) -> Answered:
    """Nobody is told of a question that these passages do not answer, so the answer does not promise it."""
    empty = answered.outcome == "unknown" or (answered.outcome == "answered" and not answered.citations)
    return (
        replace(answered, text=_UNKNOWN.to(language), outcome="unknown", unsure=False, citations=())
        if empty
        else answered
    )
