"""What the strategies share of a turn: its limits, its model and the fall-back, its calls, and how a draft becomes the
answer (reflection, the check in code, the outcome)."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agent import outcomes
from agent.calling import Hands, speak
from agent.citing import without_marks
from agent.conversation import (
    LANGUAGES,
    Ask,
    asked,
    bounded,
    echoes_instructions,
    neutral,
    opening,
)
from agent.disclosure import disclosed
from agent.events import (
    Answered,
    Citation,
    Cost,
    Drafted,
    Event,
    Events,
    Outcome,
    Reflected,
    Thought,
    ToolCalled,
    ToolReturned,
)
from agent.grounding import Checked, check
from agent.links import scrubbed
from agent.models.base import (
    ChatModel,
    Message,
    ModelBlocked,
    ModelError,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    SystemMessage,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.prompts import prompt
from agent.reflection import SCHEMA, reflect
from agent.routing import route
from agent.sentinels import DECLINED, NO_ANSWER, NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE, RAG_TOOL_ERROR
from agent.speech import spoken
from agent.tools import (
    CONTEXT_HITS,
    LIST,
    ContextFunction,
    Notes,
    SearchFunction,
    list_rag_collections,
    search_rag_knowledge_base,
)
from retrieval.types import Hit, Passage

log = logging.getLogger(__name__)

StillReadable = Callable[[Sequence[Hit]], Awaitable[Collection[str]]]
"""Of the hits' documents the ids of those that are still there and readable."""

Work = Callable[[float | None, float | None], AsyncGenerator[Event, None]]
"""A strategy's own part: from the question to `Turn.draft`, given the loop times until which it may search and write.
Raises `ModelError`."""

FINAL_SECONDS = 10.0  # kept free before the deadline, to write an answer from what is known
LAST_SECONDS = 3.0  # of those, kept free for the fall-back
RULES = "extractive"  # plans by rules: what it does not search needs no search, and it reads no reminder

_SENTINELS = (NO_ANSWER, DECLINED, NO_RAG_RESULT_LOW_SCORE, NO_RAG_RESULT, RAG_TOOL_ERROR)


@dataclass(frozen=True, slots=True)
class Means:
    """What turns are made with; the same for any number of them.

    `search` is bound to what the asker's readers may read. `confident` is the relevance under which a match counts as
    weak. `reviews`: how often a draft is reviewed at most. `general`: answer from general knowledge, labelled, when the
    documents do not answer. `neighbours`: how many passages of a search are shown with those around them.
    """

    model: ChatModel
    search: SearchFunction
    fallback: ChatModel | None = None
    general: bool = False
    confident: float = 0.0
    reviews: int = 2
    context: ContextFunction | None = None
    still_readable: StillReadable | None = None
    neighbours: int = CONTEXT_HITS


class Turn:
    """The state of one run. A strategy reads and extends `messages` and leaves its `draft`."""

    def __init__(self, means: Means, ask: Ask) -> None:
        self._means = means
        self.ask = ask
        self.notes = Notes()
        self.tools = (
            search_rag_knowledge_base(
                means.search,
                self.notes,
                language=ask.language,
                collections=ask.collections,
                confident=means.confident,
                context=means.context,
                neighbours=means.neighbours,
            ),
            list_rag_collections(ask.collections, language=ask.language),
        )
        self.model: ChatModel = means.model
        self.messages: list[Message] = opening(ask)
        self.draft: ModelMessage | None = None
        self.compared: frozenset[int] = frozenset()  # passages that are asked whether they contradict the answer
        self._cost = Cost()
        self._failure: ModelError | None = None
        self._listed = False
        self._called = False  # a search was asked for, well or badly: what follows must rest on results
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        total = None if ask.deadline is None else max(0.0, ask.deadline - self._started)
        reserve = min(FINAL_SECONDS, (total or 0.0) / 3)
        last = min(LAST_SECONDS, reserve / 3) if means.fallback else 0.0
        self._work_ends = None if ask.deadline is None else ask.deadline - reserve
        self._model_ends = None if ask.deadline is None else ask.deadline - last

    async def events(self, work: Work) -> Events:
        """The steps of `work` and of what follows, then exactly one `Answered`, also when the model or search fails."""
        try:
            async with aclosing(self._worked(work)) as steps:
                async for step in steps:
                    yield step
        except ModelBlocked:
            yield self._answered(outcomes.DECLINED.to(self.ask.language), "declined")
            return
        except ModelError as error:
            log.warning("the turn ends without a model: %s", type(error).__name__)
            yield self._answered(outcomes.failed(self._failure or error, self.ask.language), "failed")
            return
        async with aclosing(self._conclude()) as conclusion:
            async for event in conclusion:
                yield event

    async def _worked(self, work: Work) -> AsyncGenerator[Event, None]:
        """Work until there is a draft; with the fall-back when the model fails."""
        try:
            async with aclosing(work(self._work_ends, self._model_ends)) as steps:
                async for step in steps:
                    yield step
            return
        except ModelBlocked:
            raise
        except ModelError as error:
            if self._means.fallback is None:
                raise
            log.warning("the model failed (%s: %s); the fall-back takes over", type(error).__name__, error)
            self._failure = error
        self.model = self._means.fallback
        self.messages = neutral(self.ask, self.messages)
        async with aclosing(work(self.ask.deadline, self.ask.deadline)) as steps:
            async for step in steps:
                yield step

    # -- what a strategy does -------------------------------------------------------------------------------------------

    async def say(
        self,
        messages: Sequence[Message],
        until: float | None,
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Thought | ModelMessage, None]:
        """One reply: see `speak`. Its cost is the turn's."""
        said = speak(self.model, bounded(messages), tools, schema=schema, until=until)
        async with aclosing(said) as parts:
            async for part in parts:
                if isinstance(part, ModelMessage):
                    self._cost += part.cost
                elif echoes_instructions(part.text):
                    continue
                yield part

    async def reply(
        self,
        messages: Sequence[Message],
        until: float | None,
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> ModelMessage:
        """The message of one reply alone, where nobody is shown the thoughts."""
        async with aclosing(self.say(messages, until, tools=tools, schema=schema)) as parts:
            async for part in parts:
                if isinstance(part, ModelMessage):
                    return part
        raise ModelProtocolError("a reply without a message")

    async def write(self, messages: Sequence[Message], end: float | None) -> AsyncGenerator[Thought, None]:
        """The draft, as the reply to `messages` without tools. Raises ModelUnavailable when it is not there by `end`."""
        try:
            async with aclosing(self.say(messages, end)) as said:
                async for part in said:
                    if isinstance(part, ModelMessage):
                        self.draft = part
                    else:
                        yield part
        except TimeoutError as error:
            raise ModelUnavailable("no answer before the deadline", "timeout") from error

    def finishing(self) -> list[Message]:
        """The conversation with the request to answer now, from what is known."""
        return [*self.messages, UserMessage(prompt("final", language=LANGUAGES[self.ask.language]))]

    async def act(self, message: ModelMessage, hands: Hands, until: float | None) -> AsyncGenerator[Event, None]:
        """Make the calls of `message`; it and their results are part of the conversation then."""
        self._listed = self._listed or any(call.name == LIST for call in message.calls)
        self._called = self._called or any(call.name != LIST for call in message.calls)
        for call in message.calls:
            yield ToolCalled(call.id, call.name, _shortened(call))
        async with asyncio.timeout_at(until):
            results = await hands.run(message.calls)
        for call, result in zip(message.calls, results, strict=True):
            yield ToolReturned(call.id, call.name, result.summary, result.hits, result.failed)
        self.messages += [message, ToolMessage(tuple(zip(message.calls, results, strict=True)))]

    @property
    def searched(self) -> bool:
        return self._called or self.notes.tried > 0

    @property
    def should_search(self) -> bool:
        """Whether a model that wants to answer without a search has to be reminded of it."""
        if self.searched or self._listed or self.model.name == RULES:
            return False
        return route(self.ask.question, self.ask.collections).search

    # -- concluding -----------------------------------------------------------------------------------------------------

    async def _conclude(self) -> AsyncGenerator[Event, None]:
        """Draft → reflection → check → answer."""
        language = self.ask.language
        draft = spoken(self.draft.text) if self.draft else ""
        if self.notes.failures and not self.notes.searches:  # an outage, not a question without an answer
            reason = self.notes.failures[-1].text(language)
            yield self._answered(outcomes.SEARCH_FAILED.to(language, reason=reason), "failed")
            return
        if draft.startswith(DECLINED) or echoes_instructions(draft):
            reply = "" if echoes_instructions(draft) else cleaned(draft)
            yield self._answered(scrubbed(without_marks(reply), ()) or outcomes.DECLINED.to(language), "declined")
            return
        if draft.startswith(NO_ANSWER) or not cleaned(draft):
            yield await self._unknown()
            return
        draft = cleaned(draft)
        yield Drafted(draft)
        if not self.searched:
            text = scrubbed(without_marks(draft), ())
            yield self._answered(text or outcomes.DECLINED.to(language), "answered" if text else "declined")
            return
        judged = False
        async with aclosing(reflect(self._review, self._reviewed(), self.ask, self._means.reviews)) as reviews:
            async for review in reviews:
                yield Reflected(review.verdict, "" if echoes_instructions(review.critique) else review.critique)
                judged = True
                if review.verdict == "reject" or spoken(review.answer).startswith(NO_ANSWER):
                    yield await self._unknown()
                    return
                draft = cleaned(spoken(review.answer)) or draft
        if echoes_instructions(draft):
            yield self._answered(outcomes.DECLINED.to(language), "declined")
            return
        result = await self._checked(draft, judged)
        yield self._grounded(result) if result.text else await self._unknown()

    def _reviewed(self) -> list[Message]:
        return [*self.messages, *([self.draft] if self.draft else [])]

    async def _review(self, messages: Sequence[Message]) -> ModelMessage:
        """One call for a review: the tools stay declared, as the conversation is about them, but none is called."""
        return await self.reply(messages, self._model_ends, tools=self.tools, schema=SCHEMA)

    async def _checked(self, draft: str, judged: bool) -> Checked:
        """The check in code, against what is still there and readable at this moment."""
        hits, context = self.notes.hits, self.notes.context
        if self._means.still_readable is not None and hits:
            there = await self._means.still_readable(tuple(hits.values()))
            hits = {n: hit for n, hit in hits.items() if hit.passage.document_id in there}
        around = {n: passages for n, passages in context.items() if n in hits}
        return await asyncio.to_thread(self._held, draft, hits, around, judged)

    def _held(
        self, draft: str, hits: Mapping[int, Hit], around: Mapping[int, Sequence[Passage]], judged: bool
    ) -> Checked:
        language = self.ask.language
        result = check(draft, hits, language, question=self.ask.question, context=around, judged=judged)
        compared = {n: hits[n] for n in sorted({*self.compared, *result.cited}) if n in hits}
        return disclosed(result, compared, language) if self.compared and result.text else result

    def _grounded(self, result: Checked) -> Answered:
        text = result.text
        if self.draft is not None and self.draft.cut:
            text += "\n\n" + outcomes.CUT_OFF.to(self.ask.language)
        best = max((self.notes.hits[n].relevance for n in result.cited), default=self.notes.best)
        return self._answered(text, "answered", result.citations, confidence=best, marked=bool(result.marked))

    async def _unknown(self) -> Answered:
        """Not found, and where it was looked for; with an answer from general knowledge if that is wanted."""
        text = outcomes.unknown(self.ask.language, tuple(self.notes.searched))
        if self._means.general and self._failure is None:
            general = await self._from_general_knowledge()
            if general:
                text += f"\n\n{outcomes.GENERAL.to(self.ask.language)}\n\n{general}"
        return self._answered(text, "unknown", confidence=self.notes.best if self.searched else None)

    async def _from_general_knowledge(self) -> str:
        """Empty when the model has none, or fails: the turn has its outcome already."""
        instructions = prompt("general", language=LANGUAGES[self.ask.language])
        system = SystemMessage(instructions, self.ask.language)
        question = asked(self.ask)
        try:
            said = spoken((await self.reply([system, question], self._model_ends)).text)
        except (ModelError, TimeoutError) as error:
            log.info("no answer from general knowledge: %s", type(error).__name__)
            return ""
        if said.startswith((NO_ANSWER, DECLINED)) or echoes_instructions(said):
            return ""
        return scrubbed(without_marks(cleaned(said)), ())

    def _answered(
        self,
        text: str,
        outcome: Outcome,
        citations: tuple[Citation, ...] = (),
        *,
        confidence: float | None = None,
        marked: bool = False,
    ) -> Answered:
        if self._failure is not None and outcome != "failed":
            text += "\n\n" + outcomes.notice(self._failure, self.ask.language)
        return Answered(
            text,
            citations,
            outcome,
            model=self.model.name,
            seconds=self._clock() - self._started,
            cost=self._cost,
            searched=tuple(self.notes.searched),
            confidence=confidence,
            marked=marked,
        )


def cleaned(text: str) -> str:
    """A draft without the marks that are only for us."""
    for mark in _SENTINELS:
        text = text.replace(mark, "")
    return text.strip()


def _shortened(call: ToolCall) -> dict[str, object]:
    """The arguments as they are shown and stored: an overlong one is cut."""
    return {
        str(key)[:100]: value if not isinstance(value, str) or len(value) <= 500 else value[:499] + "…"
        for key, value in list(call.arguments.items())[:10]
    }
